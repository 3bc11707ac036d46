/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a batch of the dump of threads. A platform thread outside Java code has stored the place of
 * its last Java frame; the walk of its stack starts there. The walk is made twice, and counts only
 * if both results are equal: a changing stack is not shown. Name, state and locks are objects. If
 * the collector may have moved some in between, the thread is read again.
 */
#include "hotspot/thread_reader.h"

#define STATUS_ALIVE 0x1 /* bits of Thread.threadStatus, as in JVMTI */
#define STATUS_TERMINATED 0x2
#define STATUS_RUNNABLE 0x4
#define STATUS_WAITING 0x10
#define STATUS_TIMED 0x20
#define STATUS_BLOCKED 0x400
#define WALK_TRIES 3
#define STILL_TRIES 3 /* readings of a thread while collections come and go */

/* ---- locks ---- */

static void platform_lock(struct dump *d, uint64_t thread, uint64_t object,
                          struct hotspot_dump_thread *t)
{
    const struct unwind_locks *l = &d->vm->locks;
    struct hotspot_memory *m = &d->vm->memory;
    uint64_t monitor = 0, blocker;

    if (!l->klass_bytes)
        return;
    if (memory_u64(m, thread + l->pending_monitor, &monitor) == 0 && monitor) {
        t->lock = DUMP_LOCK_MONITOR;
    } else if (memory_u64(m, thread + l->waiting_monitor, &monitor) == 0 && monitor) {
        t->lock = DUMP_LOCK_NOTIFY;
    } else {
        if (heap_load(d->vm, object + d->vm->thread_layout.blocker, &blocker) == 0)
            dump_blocker(d, blocker, t);
        return;
    }
    dump_monitor(d, monitor, t);
}

/* ---- platform threads ---- */

static enum hotspot_thread_state state_of(uint32_t status)
{
    if (status & STATUS_RUNNABLE)
        return THREAD_STATE_RUNNABLE;
    if (status & STATUS_BLOCKED)
        return THREAD_STATE_BLOCKED;
    if (status & STATUS_WAITING)
        return THREAD_STATE_WAITING;
    if (status & STATUS_TIMED)
        return THREAD_STATE_TIMED_WAITING;
    if (status & STATUS_TERMINATED)
        return THREAD_STATE_TERMINATED;
    return status & STATUS_ALIVE ? THREAD_STATE_RUNNABLE : THREAD_STATE_NEW;
}

static int read_status(struct dump *d, uint64_t object, struct hotspot_dump_thread *t)
{
    uint64_t status_at, daemon_at, daemon = 0;
    uint32_t status;
    int r = thread_status_at(d->vm, object, &status_at, &daemon_at) ?:
            memory_u32(&d->vm->memory, status_at, &status) ?:
            memory_number(&d->vm->memory, daemon_at, 1, &daemon);

    if (r == 0) {
        t->state = (uint8_t)state_of(status);
        t->is_daemon = daemon != 0;
    }
    return r;
}

/* The last Java frame of a thread. */
struct anchor {
    uint64_t sp, pc, fp;
    uint64_t carried; /* java_id of the mounted virtual thread; 0: none */
    uint64_t state;   /* state of the JavaThread */
};

/* Returns the java_id of the virtual thread that @thread carries; 0: none. */
static uint64_t carried_id(struct hotspot_vm *vm, uint64_t thread)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t handle, object, klass, id;

    if (!layout_has(l->thread_vthread) || !vm->virtual_layout.known ||
        field_u64(vm, thread, l->thread_vthread, &handle) < 0 ||
        heap_handle(vm, handle, &object) != 0 || object_klass(vm, object, &klass) < 0 ||
        klass != vm->virtual_layout.klass[CLASS_VIRTUAL_THREAD] ||
        memory_u64(&vm->memory, object + vm->thread_layout.tid, &id) < 0)
        return 0;
    return id;
}

/* Returns the java_id of the thread that runs on @thread: that of the virtual thread that @thread
 * carries, or its own. 0: unknown. */
static uint64_t runs_id(struct hotspot_vm *vm, uint64_t thread)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t handle, object = 0, id = 0;
    int r;

    if (layout_has(l->thread_owner_id))
        return field_u64(vm, thread, l->thread_owner_id, &id) == 0 ? id : 0;
    if (layout_has(l->thread_vthread))
        r = field_u64(vm, thread, l->thread_vthread, &handle) ?: heap_handle(vm, handle, &object);
    else
        r = thread_java_object(vm, thread, &object);
    r = r ?: memory_u64(&vm->memory, object + vm->thread_layout.tid, &id);
    return r == 0 ? id : 0;
}

static int read_anchor(struct hotspot_vm *vm, uint64_t thread, struct anchor *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t at = thread + (uint64_t)l->thread_anchor.offset;
    struct hotspot_memory *m = &vm->memory;
    struct anchor a = { 0 };
    int r;

    memory_begin(m);
    r = field_u64(vm, at, l->anchor_sp, &a.sp) ?: field_u64(vm, at, l->anchor_pc, &a.pc);
    if (r == 0 && layout_has(l->anchor_fp))
        r = field_u64(vm, at, l->anchor_fp, &a.fp);
    if (r == 0)
        r = field_number(vm, thread, l->thread_state, 4, &a.state);
    if (r == 0)
        a.carried = carried_id(vm, thread);
    *ret = a;
    return r;
}

/* Walks once from @a, writing frames to @out. */
static int walk_once(struct dump *d, uint64_t thread, const struct anchor *a, uint64_t *out,
                     struct java_walk *w)
{
    const struct hotspot_layout *l = &d->vm->layout;
    struct hotspot_memory *m = &d->vm->memory;
    uint64_t bytes = 0;

    memory_begin(m);
    dump_begin_walk(d, w);
    w->out = out;
    if (field_u64(d->vm, thread, l->thread_stack_base, &w->high) < 0 ||
        field_u64(d->vm, thread, l->thread_stack_size, &bytes) < 0 || bytes >= w->high ||
        a->sp < w->high - bytes || a->sp >= w->high)
        return JAVA_STACK_BROKEN;
    w->low = w->high - bytes;
    w->sp = a->sp;
    w->pc = a->pc;
    w->fp = a->fp;
    if (!w->pc && memory_u64(m, w->sp - sizeof(uint64_t), &w->pc) < 0)
        return JAVA_STACK_BROKEN;
    return java_stack_walk(w);
}

static bool is_running(const struct hotspot_vm *vm, const struct anchor *a)
{
    return (int32_t)a->state != vm->layout.state_native &&
           (int32_t)a->state != vm->layout.state_blocked;
}

static enum hotspot_dump_stack platform_stack(struct dump *d, uint64_t thread,
                                              struct hotspot_dump_thread *t)
{
    uint64_t *out = d->b->words + d->b->word_count;
    struct anchor a, after;
    struct java_walk w, again;

    for (unsigned i = 0; i < WALK_TRIES; i++) {
        int end;

        if (read_anchor(d->vm, thread, &a) < 0)
            return DUMP_STACK_CHANGED;
        if (!a.sp)
            return is_running(d->vm, &a) ? DUMP_STACK_RUNNING : DUMP_STACK_NONE;
        end = walk_once(d, thread, &a, out, &w);
        if (walk_once(d, thread, &a, d->reader->again, &again) != end || w.count != again.count ||
            memcmp(out, d->reader->again, w.count * sizeof(*out)) != 0 ||
            read_anchor(d->vm, thread, &after) < 0 || memcmp(&a, &after, sizeof(a)) != 0 ||
            end == JAVA_STACK_BROKEN)
            continue;
        t->first = d->b->word_count;
        t->count = w.count;
        t->carried_id = a.carried;
        return end == JAVA_STACK_CUT ? DUMP_STACK_CUT : DUMP_STACK_WHOLE;
    }
    return DUMP_STACK_CHANGED;
}

/* Checks that the JavaThread at @thread still is that of @t. Return: 0; -EFAULT: another or no
 * thread is there; -errno. */
static int check_same(struct hotspot_vm *vm, uint64_t thread, const struct hotspot_dump_thread *t)
{
    uint64_t object, id = 0;
    int32_t tid = 0;
    int r;

    memory_begin(&vm->memory);
    r = thread_tid(vm, thread, &tid) ?: thread_java_object(vm, thread, &object) ?:
        memory_u64(&vm->memory, object + vm->thread_layout.tid, &id);
    return r == 0 && (tid != t->ns_tid || id != t->java_id) ? -EFAULT : r;
}

static int dump_platform_thread(struct dump *d, uint64_t thread, struct hotspot_dump_thread *t)
{
    uint64_t object;
    int r;

    memory_begin(&d->vm->memory);
    r = thread_tid(d->vm, thread, &t->ns_tid) ?: thread_java_object(d->vm, thread, &object) ?:
        memory_u64(&d->vm->memory, object + d->vm->thread_layout.tid, &t->java_id);
    if (r == 0 && !t->java_id)
        r = -EBADMSG;
    if (r == 0)
        r = dump_thread_name(d, object, t) ?: read_status(d, object, t);
    if (r < 0)
        return r;
    t->java_thread = thread;
    t->runs_id = runs_id(d->vm, thread);
    dump_held(d, thread, t->runs_id);
    platform_lock(d, thread, object, t);
    t->stack = (uint8_t)platform_stack(d, thread, t);
    return check_same(d->vm, thread, t);
}

/* Reads the thread at @thread while no objects move. Return: 0; -EAGAIN: they move; -errno. */
static int dump_still_thread(struct dump *d, uint64_t thread, struct hotspot_dump_thread *t)
{
    struct hotspot_dump_batch *b = d->b;
    uint32_t name_bytes = b->name_bytes, held_count = b->held_count;

    for (unsigned i = 0; i < STILL_TRIES; i++) {
        uint64_t pause = vm_pause(d->vm);
        int r;

        *t = (struct hotspot_dump_thread){ 0 };
        r = pause & UNWIND_COMPACT ? -EAGAIN : dump_platform_thread(d, thread, t);
        if (r == -ESRCH || r == -ENOMEM || !vm_moved(d->vm, pause))
            return r;
        b->name_bytes = name_bytes;
        b->held_count = held_count;
    }
    return -EAGAIN;
}

static int dump_platform_threads(struct dump *d)
{
    struct hotspot_dump_batch *b = d->b;

    for (b->done = 0; b->done < MIN(b->asked, (uint32_t)DUMP_BATCH_THREADS) && dump_has_room(d);
         b->done++) {
        struct hotspot_dump_thread t;
        int r = dump_still_thread(d, b->java_threads[b->done], &t);

        if (r == -ESRCH || r == -ENOMEM)
            return r;
        if (r == -EAGAIN)
            return b->done ? 0 : r; /* the next call reads on from here */
        if (r < 0)
            continue; /* the thread has ended, or is about to begin */
        b->word_count += t.count;
        b->threads[b->count++] = t;
    }
    return 0;
}

/* ---- the call ---- */

/* Greatest age of cached code and classes, for draws and for all batches of a list but the first.
 * Code that a frozen stack returns to is not freed. */
#define KNOWN_NS NSEC_PER_SEC
/* Bytes of the members before the threads: input and output of the call. */
#define HEAD_BYTES offsetof(struct hotspot_dump_batch, threads)

static int dump_batch(struct dump *d)
{
    struct hotspot_vm *vm = d->vm;
    int r;

    memory_begin(&vm->memory);
    r = thread_layout_ready(vm);
    if (r == 0 && !d->b->is_virtual && virtual_layout_ready(vm, /* age_ns= */ 0) == -ESRCH)
        r = -ESRCH;
    if (r < 0)
        return r;
    return d->b->is_virtual ? dump_virtual_threads(d) : dump_platform_threads(d);
}

static int run_dump(struct hotspot_vm *vm, void *arg)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct dump d = { .vm = vm };
    int r;

    if (!vm->thread_reader)
        vm->thread_reader = calloc(1, sizeof(*vm->thread_reader));
    if (!vm->thread_reader)
        return -ENOMEM;
    d.reader = vm->thread_reader;
    d.b = &d.reader->batch;
    memcpy(d.b, arg, HEAD_BYTES);
    d.until_ns = now_ns + (d.b->draws ? DUMP_DRAWS_NS : DUMP_SLICE_NS);
    d.age_ns = d.b->draws || (d.b->is_virtual && d.b->cursor.length) ? KNOWN_NS : 0;
    d.b->count = d.b->word_count = d.b->name_bytes = d.b->held_count = 0;
    d.reader->look_count = 0;
    if (now_ns - d.reader->codes_ns >= d.age_ns) {
        d.reader->codes_ns = now_ns;
        java_codes_begin(&d.reader->codes);
        memset(d.reader->locks, 0, sizeof(d.reader->locks));
    }
    r = dump_batch(&d);
    memcpy(arg, d.b, HEAD_BYTES);
    return r;
}

int hotspot_dump_threads(struct hotspot_vm *vm, struct hotspot_dump_batch *b)
{
    struct unwind_locks locks;
    int r;

    if (hotspot_vm_locks(vm, &locks) == HOTSPOT_GONE) /* fills in vm->locks if they are available */
        return -ESRCH;
    b->count = b->word_count = b->name_bytes = b->held_count = 0;
    r = vm_call(vm, run_dump, b, HEAD_BYTES);
    if (r >= 0 && (b->count || b->held_count)) {
        const struct hotspot_dump_batch *found = &vm->thread_reader->batch;

        memcpy(b->threads, found->threads, b->count * sizeof(*b->threads));
        memcpy(b->words, found->words, b->word_count * sizeof(*b->words));
        memcpy(b->names, found->names, b->name_bytes);
        memcpy(b->held, found->held, b->held_count * sizeof(*b->held));
    }
    return r;
}
