/* SPDX-License-Identifier: Apache-2.0 */
/* The VM's list of Java threads: linked in JDK 8 to 12, an immutable array (ThreadsList) since 13.
 */
#include "hotspot/vm.h"

/* ---- the list ---- */

static int visit_list(struct hotspot_vm *vm, threads_visit_fn fn, void *cookie)
{
    const struct hotspot_layout *l = &vm->layout;
    struct hotspot_memory *m = &vm->memory;
    uint64_t thread;
    int r = memory_u64(m, l->thread_list_at, &thread);

    for (unsigned i = 0; r == 0 && thread != 0 && i < HOTSPOT_THREADS_MAX; i++) {
        r = fn(cookie, thread) ?: field_u64(vm, thread, l->thread_next, &thread);
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
    r = field_u32(vm, list, l->threads_list_length, &length)
            ?: field_u64(vm, list, l->threads_list_threads, &threads);
    for (uint32_t i = 0; r == 0 && i < MIN(length, (uint32_t)HOTSPOT_THREADS_MAX); i++) {
        r = memory_u64(m, threads + (uint64_t)i * 8, &thread) ?: fn(cookie, thread);
    }
    return r;
}

int threads_visit(struct hotspot_vm *vm, threads_visit_fn fn, void *cookie)
{
    int r =
        vm->layout.thread_smr_list_at ? visit_array(vm, fn, cookie) : visit_list(vm, fn, cookie);

    return r == -EFAULT ? 0 : r; /* the list was replaced during the read */
}

int thread_tid(struct hotspot_vm *vm, uint64_t thread, int32_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t osthread = 0;
    uint32_t tid = 0;
    int r = field_u64(vm, thread, l->thread_osthread, &osthread)
                ?: field_u32(vm, osthread, l->osthread_id, &tid);

    if (r == 0 && (tid == 0 || tid > INT32_MAX))
        r = -EFAULT;
    if (r == 0)
        *ret = (int32_t)tid;
    return r;
}

/* ---- threads and their names ---- */

struct listing {
    struct hotspot_vm *vm;
    unsigned what;
    uint64_t one; /* JavaThread of the only thread to list; 0: list all */
};

static void listed_threads_deinit(struct listed_threads *l)
{
    free(l->all);
    buf_deinit(&l->names);
    *l = (struct listed_threads){ .count = 0 };
}

/* Appends the name of @t to the list's names. An unreadable name, or one without room, becomes
 * "". */
static int list_name(struct hotspot_vm *vm, struct listed_thread *t)
{
    struct buf *names = &vm->listed.names;
    int r;

    t->name_at = names->n;
    r = thread_name_read(vm, t->thread.java_thread, names);
    if (r < 0 || names->error)
        names->n = t->name_at;
    t->thread.name.n = names->n - t->name_at;
    return r == -ESRCH ? r : 0;
}

static int read_owner(struct hotspot_vm *vm, struct hotspot_thread *t)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t base = 0, bytes = 0;
    int r = field_u64(vm, t->java_thread, l->thread_stack_base, &base)
                ?: field_u64(vm, t->java_thread, l->thread_stack_size, &bytes);

    if (r == 0 && bytes < base) {
        t->stack_low = base - bytes;
        t->stack_high = base;
    }
    if (r == 0 && layout_has(l->thread_owner_id))
        r = field_u64(vm, t->java_thread, l->thread_owner_id, &t->owner_id);
    return r;
}

/* Adds a thread to the list. Skips an unreadable thread: it is ending, or starting. */
static int list_thread(void *cookie, uint64_t thread)
{
    const struct listing *q = cookie;
    struct listed_threads *l = &q->vm->listed;
    struct listed_thread t = { .thread.java_thread = thread };
    int r = thread_tid(q->vm, thread, &t.thread.ns_tid);

    if (r == 0 && q->what & HOTSPOT_THREAD_OWNER)
        r = read_owner(q->vm, &t.thread);
    if (r == 0 && q->what & HOTSPOT_THREAD_NAME)
        r = list_name(q->vm, &t);
    if (r < 0)
        return r == -EFAULT ? 0 : r;
    if (!array_grow(&l->all, &l->room, l->count + 1, 64))
        return -ENOMEM;
    l->all[l->count++] = t;
    return 0;
}

/* Returns whether a thread that runs Java has its JavaThread at @at. */
static bool is_java_thread(struct hotspot_vm *vm, uint64_t at)
{
    uint32_t vtable = 0;

    return vm->locks.thread_vtable && memory_u32(&vm->memory, at, &vtable) == 0 &&
           vtable == vm->locks.thread_vtable;
}

/* Returns whether the java.lang.Thread of the JavaThread at @at refers back to it. When the thread
 * ends or detaches, the VM clears that reference before it frees the JavaThread. */
static bool is_attached(struct hotspot_vm *vm, uint64_t at)
{
    uint64_t object = 0, back = 0;

    return thread_layout_ready(vm) == 0 && thread_java_object(vm, at, &object) == 0 &&
           memory_u64(&vm->memory, object + vm->thread_layout.eetop, &back) == 0 && back == at;
}

static int list_threads(struct hotspot_vm *vm, void *arg)
{
    struct listing *q = arg;

    q->vm = vm;
    listed_threads_deinit(&vm->listed); /* threads of an abandoned call that has returned since */
    buf_init(&vm->listed.names, HOTSPOT_THREAD_NAMES_MAX);
    memory_begin(&vm->memory);
    if (q->one)
        return (q->what & HOTSPOT_THREAD_LISTED ? is_attached : is_java_thread)(vm, q->one)
                   ? list_thread(q, q->one)
                   : 0;
    return threads_visit(vm, list_thread, q);
}

static int hand_out(struct hotspot_vm *vm, struct listing *q, hotspot_thread_fn fn, void *cookie)
{
    int r = vm_call(vm, list_threads, q, sizeof(*q));

    if (vm_is_left(vm)) /* the abandoned call still owns the list */
        return -ETIMEDOUT;
    for (size_t i = 0; r == 0 && i < vm->listed.count; i++) {
        struct listed_thread *t = &vm->listed.all[i];

        t->thread.name.p = t->thread.name.n ? vm->listed.names.p + t->name_at : NULL;
        fn(cookie, &t->thread);
    }
    if (r == 0)
        r = (int)vm->listed.count;
    listed_threads_deinit(&vm->listed);
    return r;
}

int hotspot_vm_threads(struct hotspot_vm *vm, unsigned what, hotspot_thread_fn fn, void *cookie)
{
    struct listing q = { .what = what };

    return hand_out(vm, &q, fn, cookie);
}

int hotspot_vm_thread(struct hotspot_vm *vm, uint64_t java_thread, unsigned what,
                      hotspot_thread_fn fn, void *cookie)
{
    struct listing q = { .what = what, .one = java_thread };

    return java_thread ? hand_out(vm, &q, fn, cookie) : 0;
}

struct identity {
    uint64_t java_thread;
    int32_t ns_tid;
};

static int read_tid(struct hotspot_vm *vm, void *arg)
{
    struct identity *q = arg;

    memory_continue(&vm->memory);
    return thread_tid(vm, q->java_thread, &q->ns_tid);
}

bool hotspot_thread_is(struct hotspot_vm *vm, uint64_t java_thread, int32_t ns_tid)
{
    struct identity q = { .java_thread = java_thread };

    return vm_ask(vm, read_tid, &q, sizeof(q)) == 0 && q.ns_tid == ns_tid;
}

/* ---- the state of a thread ---- */

#define SAFEPOINT_STATE_SINCE 13 /* first JDK that stores the number of the safepoint in it */
#define SAFEPOINT_STATE_THREAD 8 /* offset in bytes of the address of its thread */

struct safepoint_state {
    struct hotspot_vm *vm;
    uint32_t offset; /* expected place of the field */
    int right, wrong;
};

/* Counts whether a thread has the field at the expected place. That place is right before a field
 * that the tables have. The state there must point back to the thread. */
static int check_safepoint_state(void *cookie, uint64_t thread)
{
    struct safepoint_state *s = cookie;
    struct hotspot_memory *m = &s->vm->memory;
    uint64_t state = 0, named = 0;
    int r = memory_u64(m, thread + s->offset, &state)
                ?: memory_u64(m, state + SAFEPOINT_STATE_THREAD, &named);

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

/* Returns the offset in a JavaThread of the address of its safepoint state. That state has, at
 * MOMENT_SAFEPOINT_ID, the number of the safepoint that the thread stopped for. 0: none, or
 * unknown. */
static uint32_t find_safepoint_state(struct hotspot_vm *vm)
{
    const struct hotspot_layout *l = &vm->layout;
    struct safepoint_state s = { .vm = vm };

    if (l->jdk < SAFEPOINT_STATE_SINCE || !layout_has(l->thread_saved_pc) ||
        l->thread_saved_pc.offset < (int64_t)sizeof(uint64_t) || vm_is_left(vm))
        return 0;
    s.offset = (uint32_t)l->thread_saved_pc.offset - (uint32_t)sizeof(uint64_t);
    if (vm_call(vm, call_safepoint_state, &s, sizeof(s)) < 0)
        return 0;
    return s.right > s.wrong ? s.offset : 0; /* a few threads may begin or end */
}

int hotspot_vm_thread_states(struct hotspot_vm *vm, struct moment_thread *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    int32_t last = MAX(l->state_blocked, l->state_unblocked); /* JDK 28 lacks state_unblocked */

    if (l->state_new < 0 || l->state_native <= l->state_new ||
        l->state_blocked <= l->state_native || last >= UINT8_MAX)
        return -ENOENT;
    *ret = (struct moment_thread){ .state = (uint32_t)l->thread_state.offset,
                                   .safepoint = find_safepoint_state(vm),
                                   .begun = (uint8_t)(l->state_new + 1),
                                   .native = (uint8_t)l->state_native,
                                   .blocked = (uint8_t)l->state_blocked,
                                   .end = (uint8_t)(last + 1) };
    return 0;
}
