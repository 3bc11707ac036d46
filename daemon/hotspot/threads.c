/* SPDX-License-Identifier: Apache-2.0 */
/* The VM's list of Java threads: linked in JDK 8..11, an immutable array (ThreadsList) since 12. */
#include "hotspot/vm.h"

#define THREAD_NAME_BYTES_MAX 8192

struct threads_walk {
    struct hotspot_vm *vm;
    hotspot_thread_fn fn;
    void *cookie;
    struct buf name;
    int count;
};

/* A thread that cannot be read is left out: it is ending, or starting. */
static int threads_see(struct threads_walk *w, uint64_t thread)
{
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
    return 0;
}

static int threads_walk_list(struct threads_walk *w)
{
    const struct hotspot_layout *l = &w->vm->layout;
    struct hotspot_memory *m = &w->vm->memory;
    uint64_t thread;
    int r = memory_u64(m, l->thread_list_at, &thread);

    for (unsigned i = 0; r == 0 && thread != 0 && i < HOTSPOT_THREADS_MAX; i++) {
        r = threads_see(w, thread);
        if (r == 0)
            r = memory_u64(m, thread + (uint64_t)l->thread_next.offset, &thread);
    }
    return r;
}

static int threads_walk_array(struct threads_walk *w)
{
    const struct hotspot_layout *l = &w->vm->layout;
    struct hotspot_memory *m = &w->vm->memory;
    uint64_t list = 0, threads = 0, thread = 0;
    uint32_t length = 0;
    int r = memory_u64(m, l->thread_smr_list_at, &list);

    if (r < 0 || list == 0)
        return r;
    r = memory_u32(m, list + (uint64_t)l->threads_list_length.offset, &length);
    if (r == 0)
        r = memory_u64(m, list + (uint64_t)l->threads_list_threads.offset, &threads);
    for (uint32_t i = 0; r == 0 && i < MIN(length, HOTSPOT_THREADS_MAX); i++) {
        r = memory_u64(m, threads + (uint64_t)i * 8, &thread);
        if (r == 0)
            r = threads_see(w, thread);
    }
    return r;
}

int hotspot_vm_threads(struct hotspot_vm *vm, hotspot_thread_fn fn, void *cookie)
{
    struct threads_walk w = { .vm = vm, .fn = fn, .cookie = cookie };
    int r;

    if (vm_is_left(vm))
        return -ETIMEDOUT;
    buf_init(&w.name, THREAD_NAME_BYTES_MAX);
    memory_begin(&vm->memory);
    r = memory_resize(&vm->memory, MEMORY_LINES_BULK);
    if (r == 0)
        r = vm->layout.thread_smr_list_at ? threads_walk_array(&w) : threads_walk_list(&w);
    memory_resize(&vm->memory, MEMORY_LINES);
    buf_deinit(&w.name);
    if (r == -EFAULT) /* the list was replaced while it was read */
        r = 0;
    return r < 0 ? r : w.count;
}

int hotspot_thread_name(struct hotspot_vm *vm, uint64_t java_thread, struct buf *ret)
{
    size_t before = ret->n;
    int r;

    if (vm_is_left(vm))
        return -ENOENT;
    memory_begin(&vm->memory);
    r = thread_name_read(vm, java_thread, ret);
    if (r < 0 && ret->n > before)
        ret->n = before;
    return r == -ESRCH ? (int)HOTSPOT_GONE : r < 0 ? -ENOENT : 0;
}
