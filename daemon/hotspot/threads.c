/* SPDX-License-Identifier: Apache-2.0 */
/* The VM's list of Java threads: linked in JDK 8..11, an immutable array (ThreadsList) since 12. */
#include "hotspot/vm.h"

#define THREAD_NAME_BYTES_MAX 8192

struct names_walk {
    struct hotspot_vm *vm;
    hotspot_thread_fn fn;
    hotspot_owner_fn owner_fn;
    void *cookie;
    struct buf name;
    int count;
};

/* What locks know a thread by. */
static int threads_own(struct names_walk *w, uint64_t thread)
{
    const struct hotspot_layout *l = &w->vm->layout;
    struct hotspot_memory *m = &w->vm->memory;
    struct hotspot_owner o = { .java_thread = thread, .name = buf_span(&w->name) };
    uint64_t base = 0, bytes = 0;
    int r = memory_u64(m, thread + (uint64_t)l->thread_stack_base.offset, &base);

    if (r == 0)
        r = memory_u64(m, thread + (uint64_t)l->thread_stack_size.offset, &bytes);
    if (r == 0 && bytes < base) {
        o.stack_low = base - bytes;
        o.stack_high = base;
    }
    if (r == 0 && layout_has(l->thread_owner_id))
        r = memory_u64(m, thread + (uint64_t)l->thread_owner_id.offset, &o.id);
    if (r == 0)
        w->owner_fn(w->cookie, &o);
    return r == -EFAULT ? 0 : r;
}

/* A thread that cannot be read is left out: it is ending, or starting. */
static int threads_see(void *cookie, uint64_t thread)
{
    struct names_walk *w = cookie;
    const struct hotspot_layout *l = &w->vm->layout;
    struct hotspot_memory *m = &w->vm->memory;
    uint64_t osthread = 0;
    uint32_t tid = 0;
    int r = memory_u64(m, thread + (uint64_t)l->thread_osthread.offset, &osthread);

    if (r == 0)
        r = memory_u32(m, osthread + (uint64_t)l->osthread_id.offset, &tid);
    if (r == -EFAULT || (r == 0 && (tid == 0 || tid > INT32_MAX)))
        return 0;
    if (r < 0)
        return r;
    buf_clear(&w->name);
    r = thread_name_read(w->vm, thread, &w->name);
    if (r == -ESRCH)
        return r;
    if (r < 0)
        buf_clear(&w->name);
    w->count++;
    if (w->fn)
        w->fn(w->cookie, (int32_t)tid, thread, buf_span(&w->name));
    return w->owner_fn ? threads_own(w, thread) : 0;
}

static int visit_list(struct hotspot_vm *vm, threads_visit_fn fn, void *cookie)
{
    const struct hotspot_layout *l = &vm->layout;
    struct hotspot_memory *m = &vm->memory;
    uint64_t thread;
    int r = memory_u64(m, l->thread_list_at, &thread);

    for (unsigned i = 0; r == 0 && thread != 0 && i < HOTSPOT_THREADS_MAX; i++) {
        r = fn(cookie, thread);
        if (r == 0)
            r = memory_u64(m, thread + (uint64_t)l->thread_next.offset, &thread);
    }
    return r;
}

static int visit_array(struct hotspot_vm *vm, threads_visit_fn fn, void *cookie)
{
    const struct hotspot_layout *l = &vm->layout;
    struct hotspot_memory *m = &vm->memory;
    uint64_t list = 0, threads = 0, thread = 0;
    uint32_t length = 0;
    int r = memory_u64(m, l->thread_smr_list_at, &list);

    if (r < 0 || list == 0)
        return r;
    r = memory_u32(m, list + (uint64_t)l->threads_list_length.offset, &length);
    if (r == 0)
        r = memory_u64(m, list + (uint64_t)l->threads_list_threads.offset, &threads);
    for (uint32_t i = 0; r == 0 && i < MIN(length, (uint32_t)HOTSPOT_THREADS_MAX); i++) {
        r = memory_u64(m, threads + (uint64_t)i * 8, &thread);
        if (r == 0)
            r = fn(cookie, thread);
    }
    return r;
}

int threads_visit(struct hotspot_vm *vm, threads_visit_fn fn, void *cookie)
{
    int r = memory_resize(&vm->memory, MEMORY_LINES_BULK);

    if (r == 0)
        r = vm->layout.thread_smr_list_at ? visit_array(vm, fn, cookie)
                                          : visit_list(vm, fn, cookie);
    memory_resize(&vm->memory, MEMORY_LINES);
    return r == -EFAULT ? 0 : r; /* the list was replaced while it was read */
}

static int names_walk(struct names_walk *w)
{
    struct hotspot_vm *vm = w->vm;
    int r;

    if (vm_is_left(vm))
        return -ETIMEDOUT;
    buf_init(&w->name, THREAD_NAME_BYTES_MAX);
    memory_begin(&vm->memory);
    r = threads_visit(vm, threads_see, w);
    buf_deinit(&w->name);
    return r < 0 ? r : w->count;
}

int hotspot_vm_threads(struct hotspot_vm *vm, hotspot_thread_fn fn, void *cookie)
{
    struct names_walk w = { .vm = vm, .fn = fn, .cookie = cookie };

    return names_walk(&w);
}

int hotspot_vm_owners(struct hotspot_vm *vm, hotspot_owner_fn fn, void *cookie)
{
    struct names_walk w = { .vm = vm, .owner_fn = fn, .cookie = cookie };

    return names_walk(&w);
}

/* ---- what a thread knows of safepoints ---- */

#define SAFEPOINT_STATE_SINCE 13 /* the JDK from which on it has the number */
#define SAFEPOINT_STATE_THREAD 8 /* bytes to where it names its thread */

struct safepoint_state {
    struct hotspot_vm *vm;
    uint32_t offset; /* where it should be */
    int right, wrong;
};

/* No table has the field: it lies before one that is there. It is right if it names its thread. */
static int check_safepoint_state(void *cookie, uint64_t thread)
{
    struct safepoint_state *s = cookie;
    struct hotspot_memory *m = &s->vm->memory;
    uint64_t state = 0, named = 0;
    int r = memory_u64(m, thread + s->offset, &state);

    if (r == 0)
        r = memory_u64(m, state + SAFEPOINT_STATE_THREAD, &named);
    if (r == -ESRCH)
        return r;
    if (r == 0 && named == thread)
        s->right++;
    else
        s->wrong++;
    return 0;
}

static int call_safepoint_state(struct hotspot_vm *vm, void *arg)
{
    struct safepoint_state *s = arg;

    s->vm = vm;
    memory_begin(&vm->memory);
    return threads_visit(vm, check_safepoint_state, s);
}

uint32_t hotspot_vm_safepoint_state(struct hotspot_vm *vm)
{
    const struct hotspot_layout *l = &vm->layout;
    struct safepoint_state s = { .vm = vm };

    if (l->jdk < SAFEPOINT_STATE_SINCE || !layout_has(l->thread_saved_pc) ||
        l->thread_saved_pc.offset < (int64_t)sizeof(uint64_t) || vm_is_left(vm))
        return 0;
    s.offset = (uint32_t)l->thread_saved_pc.offset - (uint32_t)sizeof(uint64_t);
    if (vm_call(vm, call_safepoint_state, &s, sizeof(s)) < 0)
        return 0;
    return s.right > s.wrong ? s.offset : 0; /* some may begin or end */
}
