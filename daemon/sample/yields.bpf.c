// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Waits of virtual threads without a carrier, at functions of libjvm: `freeze` and `preempt` take a
 * thread off its carrier, `thaw` brings it back. Each wait is keyed by the id of the virtual thread
 * itself. A wait that is drawn becomes a record at `thaw`: at that time all frames of the thread
 * are in the heap, until the function returns.
 */
#include "sample/context.bpf.h"
#include "sample/counters.bpf.h"
#include "sample/lock.bpf.h"
#include "sample/probe_stack.bpf.h"

#include "sample/yields_abi.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Written by the loader. */
struct yields_process slots[YIELDS_PROCESSES_MAX];
__u64 intervals[STACK_SETS_MAX]; /* ns, below 2^32; 0: no set of this program */
__u32 lock_sets;                 /* bit set: sets that want only waits for locks */
const volatile __u32 waits_max;  /* entries of `going` */

LAZY_MAP(going, HASH, YIELDS_WAITS_MAX, struct yields_key, struct yields_wait);

#include "sample/yields_room.bpf.h"

MAP(notes, ARRAY, YIELDS_NOTES, __u32, struct yields_note);

struct yields_scratch {
    struct stack_scratch stack;
    struct context_work context;
    struct yields_key key;
    struct lock_words lock;
    __u64 thread; /* JavaThread */
    __u64 object; /* its virtual thread */
    __u64 values[STACK_SETS_MAX];
    __u64 taken; /* 1: in use, by a program that runs or was preempted */
};

#define SCRATCH struct yields_scratch
#define SCRATCH_DEPTH YIELDS_DEPTH
#include "sample/scratch.bpf.h"

/* Returns the sets of this program that want process @host_pid, as bits. */
static __always_inline __u32 sets_of(__u32 host_pid)
{
    __u32 sets = wanted_sets(host_pid);

    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        if (!intervals[i])
            sets &= ~(1U << i);
    }
    return sets;
}

/* Counts a wait as lost for each set that wants its process. */
static __always_inline void lose_wait(const struct yields_scratch *ys)
{
    const struct sample_record *rec = &ys->stack.rec;

    count(STACK_LOST_OTHER, 1);
    lose(rec->start_boottime_ns, rec->host_pid, sets_of(rec->host_pid), /* costly= */ 0);
}

enum { UNREADABLE, VIRTUAL, NOT_VIRTUAL };

/* Gets the object that the handle of the JavaThread @thread at @offset refers to; 0: unreadable. */
static __always_inline __u64 handle_at(struct unwind_walk *w, struct unwind_process *t,
                                       __u64 thread, __u32 offset)
{
    __u64 handle = 0;

    if (bpf_probe_read_user(&handle, sizeof(handle), (const void *)(thread + offset)) ||
        unwind_reference(w, t, handle, /* wide= */ 1) != UNWIND_FROZEN_FOUND)
        return 0;
    return w->frozen.object;
}

/* Returns whether @thread runs its own thread object, and so carries no virtual thread. */
static __always_inline bool runs_itself(struct unwind_walk *w, struct unwind_process *t,
                                        const struct yields_process *p, __u64 thread)
{
    __u64 runs = handle_at(w, t, thread, t->vm.locks.thread_object);

    return runs && runs == handle_at(w, t, thread, p->vm.own);
}

/* Finds the virtual thread of ys->thread, and its id. Returns VIRTUAL if both are readable, and
 * NOT_VIRTUAL if the continuation is not that of a virtual thread. Not static, as several functions
 * below: the kernel's verifier then checks it once and on its own. */
__attribute__((noinline)) int identify(struct yields_scratch *ys, struct unwind_process *t,
                                       struct yields_process *p)
{
    struct unwind_walk *w;
    __u64 at, tid = 0;

    if (!ys || !t || !p)
        return 0;
    w = &ys->stack.walk;
    unwind_start(w, 0, 0, 0, t->slot, (__u32)bpf_jiffies64(),
                 max_words > SAMPLE_USER_MAX ? SAMPLE_USER_MAX : max_words);
    w->frozen.object = 0;
    if (unwind_mounted(w, t, ys->thread) != UNWIND_FROZEN_FOUND)
        return runs_itself(w, t, p, ys->thread) ? NOT_VIRTUAL : UNREADABLE;
    ys->object = w->frozen.object;
    at = p->vm.owner_id ? ys->thread + p->vm.owner_id : ys->object + p->vm.tid;
    if (bpf_probe_read_user(&tid, sizeof(tid), (const void *)at) || !tid)
        return 0;
    ys->key.tid = tid;
    return VIRTUAL;
}

/* Returns the note about the carrier ys->thread. Carriers of a JVM may share a note, and then
 * overwrite it. */
static __always_inline struct yields_note *note_of(const struct yields_scratch *ys)
{
    __u32 at = yields_note_at(ys->key.slot, ys->thread);

    return bpf_map_lookup_elem(&notes, &at);
}

/* Notes that the virtual thread ys->object has an entry, and is still on its carrier. */
static __always_inline void note(const struct yields_scratch *ys)
{
    struct yields_note *n = note_of(ys);

    if (n) {
        n->tid = ys->key.tid;
        n->object = ys->object;
    }
}

/* Removes the entry of the virtual thread that ran before on ys->thread, if that thread has ended.
 * The noted address may be outdated, as objects move. But the state of an ended thread never
 * changes, so an old copy is as good. */
__attribute__((noinline)) int forget_ended(struct yields_scratch *ys, struct yields_process *p)
{
    struct yields_note *n;
    struct yields_key key = {};
    __u64 object, tid = 0;
    __u32 state = 0;

    if (!ys || !p)
        return 0;
    n = note_of(ys);
    if (!n || !n->object)
        return 0;
    object = n->object;
    key.tid = n->tid;
    key.slot = ys->key.slot;
    key.epoch = ys->key.epoch;
    n->object = 0;
    if (bpf_probe_read_user(&state, sizeof(state), (const void *)(object + p->vm.state)) == 0 &&
        (state & YIELDS_STATE_MASK) == p->vm.ended &&
        bpf_probe_read_user(&tid, sizeof(tid), (const void *)(object + p->vm.tid)) == 0 &&
        tid == key.tid)
        drop_wait(p, &key);
    return 0;
}

/* Reads into ys->lock what ys->thread waits for, as lock_read() does. */
__attribute__((noinline)) int take_lock(struct yields_scratch *ys, struct unwind_process *t)
{
    struct lock_walk w = {};

    if (!ys || !t)
        return 0;
    lock_of_thread(&w, &t->vm, ys->thread);
    ys->lock.kind = w.kind;
    ys->lock.class_word = w.class_word;
    return 0;
}

/* Stores the begin of the wait of ys->thread. Returns 1 if it is stored, or need not be. */
__attribute__((noinline)) int begin(struct yields_scratch *ys, struct unwind_process *t,
                                    struct yields_process *p, __u32 kind)
{
    struct yields_wait wait = {};
    struct yields_key key; /* a copy: before Linux 6.2, a key must not be in memory that is an
                            * argument */
    __u32 state = 0;
    int found;

    if (!ys || !t || !p)
        return 0;
    found = identify(ys, t, p);
    if (found != VIRTUAL)
        return found == NOT_VIRTUAL;
    wait.since_ns = ys->stack.rec.time_ns;
    if (kind == YIELDS_PREEMPT) {
        wait.preempted = 1;
        if (lock_sets) {
            take_lock(ys, t);
            wait.lock = (__u8)ys->lock.kind;
            wait.lock_class = ys->lock.class_word;
            if (ys->lock.kind != UNWIND_LOCK_MONITOR && ys->lock.kind != UNWIND_LOCK_WAIT) {
                wait.lock = UNWIND_LOCK_MONITOR; /* unreadable */
                wait.lock_class = 0;
            }
        }
    } else if (bpf_probe_read_user(&state, sizeof(state),
                                   (const void *)(ys->object + p->vm.state)) == 0) {
        wait.runnable = state == p->vm.yielding;
    }
    key = ys->key;
    if (!keep_wait(p, &key, &wait))
        return 0;
    note(ys); /* the thread may be pinned, and so continue on its carrier and end there */
    return 1;
}

/* Moves the wait of ys->thread from the map into *ret. A wait without an entry began before the
 * probes were in; its time counts from since_ns on. Returns 1 if the wait is known. */
static __always_inline int end(struct yields_scratch *ys, struct yields_process *p,
                               struct yields_wait *ret)
{
    struct yields_wait *wait = bpf_map_lookup_elem(&going, &ys->key);
    __u64 now_ns = ys->stack.rec.time_ns;

    if (!wait) {
        *ret =
            (struct yields_wait){ .since_ns = now_ns, .lock = UNWIND_LOCK_UNREAD, .preempted = 1 };
        if (keep_wait(p, &ys->key, ret))
            note(ys);
        else
            p->missed = 1;
        ret->since_ns = p->since_ns;
        return p->since_ns && !p->missed;
    }
    *ret = *wait;
    /* A thread that wants a monitor may find it locked again, and then wait on without a hit of a
     * probe. */
    if (wait->preempted) {
        wait->since_ns = now_ns;
        note(ys);
    } else {
        drop_wait(p, &ys->key);
    }
    return 1;
}

/* Draws the wait of ys->stack.rec for each of @sets (bits). Returns those that take it. */
__attribute__((noinline)) int draw(struct yields_scratch *ys, __u32 sets)
{
    __u64 wait_ns, interval, value;
    int taken = 0;

    if (!ys)
        return 0;
    wait_ns = ys->stack.rec.wait_ns;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        interval = intervals[i];
        value = wait_ns;
        if (!(sets & 1U << i))
            continue;
        if (wait_ns < interval && (__u64)bpf_get_prandom_u32() * interval >> 32 >= wait_ns)
            continue;
        if (wait_ns < interval)
            value = interval;
        ys->values[i] = value;
        taken |= 1 << i;
    }
    return taken;
}

/* Walks the next frame of the thread's chunks; stubs are left out. Returns 1 if more may follow. */
__attribute__((noinline)) int walk_frozen(struct stack_scratch *s, struct unwind_process *t)
{
    struct unwind_walk *w;

    if (!s || !t)
        return 0;
    w = &s->walk;
    if (!w->frozen.high) {
        w->end = UNWIND_END_ROOT;
        return 0;
    }
    if (w->reads > UNWIND_READS_MAX || w->words + 2 > w->max_words) {
        w->end = UNWIND_END_LIMIT;
        return 0;
    }
    unwind_frozen_frame(w, t);
    if (w->rule.kind == UNWIND_STUB)
        return 1;
    put_word(user_words(s), w->words, w->step.word);
    w->words++;
    if (w->rule.kind == UNWIND_INTERPRETED) {
        put_word(user_words(s), w->words, w->step.second);
        w->words++;
    }
    return 1;
}

/* Walks more frames. As in walk_run(), short nested loops are cheaper for the verifier. */
__attribute__((noinline)) int walk_frozen_run(struct stack_scratch *s, struct unwind_process *t)
{
    int more = 1;

    UNWIND_LOOP
    for (__u32 i = 0; i < WALK_CALLS_RUN && more; i++)
        more = walk_frozen(s, t);
    return more;
}

/* Takes the frozen stack of the virtual thread ys->object into the record. */
static __always_inline void take_frozen(struct yields_scratch *ys, struct unwind_process *t)
{
    struct stack_scratch *s = &ys->stack;

    s->walk.frozen.object = ys->object;
    if (unwind_continuation(&s->walk, t) != UNWIND_FROZEN_FOUND ||
        unwind_frozen_enter(&s->walk, t) != UNWIND_FROZEN_FOUND) {
        s->rec.user_end = UNWIND_END_NOT_TAKEN;
        return;
    }
    if (ys->lock.kind == UNWIND_LOCK_UNREAD) { /* if the top frame is a stub, compiled code waits to
                                                * enter a monitor */
        walk_frozen(s, t);
        ys->lock.kind = s->walk.rule.kind == UNWIND_STUB ? UNWIND_LOCK_MONITOR : UNWIND_LOCK_NONE;
    }
    UNWIND_LOOP
    for (__u32 i = 0; i < WALK_CALLS_MAX / WALK_CALLS_RUN; i++) {
        if (!walk_frozen_run(s, t))
            break;
    }
    s->rec.user_end = s->walk.end;
    s->rec.user_count = (__u16)s->walk.words;
    if (s->walk.end == UNWIND_END_LIMIT)
        s->rec.flags |= SAMPLE_USER_CUT;
}

/* Writes the record for each of @sets (bits). Not inlined, so that its part of the BPF stack can be
 * reused. */
static __attribute__((noinline)) int write_records(struct yields_scratch *ys, __u32 sets)
{
    struct stack_scratch *s = &ys->stack;
    __u32 words = (__u32)s->rec.user_count + s->rec.context_count;

    if (words > SAMPLE_USER_MAX + CONTEXT_WORDS)
        words = SAMPLE_USER_MAX + CONTEXT_WORDS;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        bool asks = lock_sets & 1U << i;

        if (!(sets & 1U << i) || (asks && ys->lock.kind == UNWIND_LOCK_NONE))
            continue;
        s->rec.set = (__u8)i;
        s->rec.value = ys->values[i];
        s->rec.lock = asks ? (__u8)ys->lock.kind : UNWIND_LOCK_NONE;
        s->rec.lock_class = asks ? ys->lock.class_word : 0;
        if (bpf_ringbuf_output(&ring, &s->rec, sizeof(s->rec) + words * sizeof(__u64),
                               BPF_RB_NO_WAKEUP)) {
            count(STACK_LOST_RING, 1);
            lose_record(&s->rec);
        } else {
            count(STACK_SAMPLES, 1);
        }
    }
    return 0;
}

/* Samples the wait of ys->thread, which ends, for @sets (bits). */
static __always_inline void take_sample(struct yields_scratch *ys, struct unwind_process *t,
                                        __u32 sets)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    struct sample_record *rec = &ys->stack.rec;
    __u64 took_ns;

    if (over_budget(rec->time_ns, STACK_BUDGET_NS)) {
        count(STACK_LOST_BUDGET, 1);
        lose(rec->start_boottime_ns, rec->host_pid, sets, /* costly= */ 1);
        return;
    }
    take_frozen(ys, t);
    take_context(&ys->stack, &ys->context, task, rec->user_count); /* it is on its carrier again */
    write_records(ys, sets);
    took_ns = bpf_ktime_get_ns() - rec->time_ns;
    count(STACK_TIME_NS, took_ns);
    spend(took_ns);
}

/* Handles the end of a wait of ys->thread. */
static __always_inline void comes_back(struct yields_scratch *ys, struct unwind_process *t,
                                       struct yields_process *p)
{
    struct sample_record *rec = &ys->stack.rec;
    struct yields_wait wait;
    bool unknown = false; /* whether it waited for a lock */
    __u32 sets;
    int found = identify(ys, t, p);

    if (found != VIRTUAL) {
        if (found == UNREADABLE)
            lose_wait(ys);
        return;
    }
    if (!end(ys, p, &wait)) {
        if (p->since_ns)
            lose_wait(ys);
        return;
    }
    if (wait.since_ns >= rec->time_ns)
        return;
    sets = sets_of(rec->host_pid);
    rec->wait_ns = rec->time_ns - wait.since_ns;
    rec->flags = wait.runnable ? SAMPLE_RUNNABLE : 0;
    ys->lock.kind = UNWIND_LOCK_NONE;
    ys->lock.class_word = 0;
    if (wait.lock == UNWIND_LOCK_MONITOR || wait.lock == UNWIND_LOCK_WAIT) {
        ys->lock.kind = wait.lock;
        ys->lock.class_word = wait.lock_class;
    } else if (sets & lock_sets && !wait.runnable) {
        take_lock(ys, t);
        unknown = ys->lock.kind == UNWIND_LOCK_UNREAD;
        if (ys->lock.kind == UNWIND_LOCK_NONE)
            ys->lock.kind = wait.lock; /* no other lock: use what was stored at the begin */
    }
    if (ys->lock.kind == UNWIND_LOCK_NONE)
        sets &= ~lock_sets;
    sets = (__u32)draw(ys, sets);
    if (unknown) {
        lose(rec->start_boottime_ns, rec->host_pid, sets & lock_sets, /* costly= */ 0);
        sets &= ~lock_sets;
    }
    if (!sets)
        return;
    __builtin_memcpy(rec->comm, "virtual threads", SAMPLE_COMM_BYTES);
    take_sample(ys, t, sets);
}

/* Handles a hit of a probe of @p. */
static __always_inline void handle(struct yields_scratch *ys, struct yields_process *p, __u32 kind)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    struct unwind_process *t;

    begin_record(&ys->stack.rec, task, process_number(task), /* host_tid= */ 0, bpf_ktime_get_ns());
    t = tables_of(&ys->stack);
    if (kind == YIELDS_THAW) {
        if (t)
            comes_back(ys, t, p);
        else if (p->since_ns)
            lose_wait(ys);
    } else if (!t || !begin(ys, t, p, kind)) {
        p->missed = 1;
    }
}

SEC("uprobe")
int yields_probe(probe_registers *ctx)
{
    __u64 cookie = bpf_get_attach_cookie(ctx);
    __u32 slot = YIELDS_COOKIE_SLOT(cookie) & (YIELDS_PROCESSES_MAX - 1),
          kind = YIELDS_COOKIE_KIND(cookie);
    struct yields_process *p = &slots[slot];
    struct yields_scratch *ys;
    struct arguments args;

    use_thread_stack(ctx);
    if (p->epoch != YIELDS_COOKIE_EPOCH(cookie))
        return 0;
    __sync_fetch_and_add(&p->hits, 1);
    take_arguments(ctx, &args);
    if (kind == YIELDS_THAW && (__u32)args.n[1]) /* not the first frames of this thaw */
        return 0;
    ys = take_scratch();
    if (!ys) {
        count(STACK_LOST_OTHER, 1);
        p->missed = 1;
        return 0;
    }
    ys->thread = args.n[0];
    ys->key.slot = slot;
    ys->key.epoch = p->epoch;
    forget_ended(ys, p);
    handle(ys, p, kind);
    give_scratch(ys);
    return 0;
}
