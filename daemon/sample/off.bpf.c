// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Time off the processor. Each switch keeps when a wanted thread left, and decides when it comes
 * back. A wait as long as the interval or longer is sampled, and stands for itself. The shorter
 * ones of a thread, one after the other, are cut into blocks of an interval. Of each a point is
 * drawn: the wait in which it lies is sampled, and stands for the interval. The kernel's stack is
 * taken there. The user's stack is taken late, by task work in the thread's own context before it
 * is back in user mode: it is still the one that it waited with. What still waits is met by an
 * iterator over all threads.
 */
#include "sample/wait.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---- the user's stack ---- */

static __always_inline struct desk *my_desk(void)
{
    __u32 zero = 0;

    return bpf_map_lookup_elem(&desks, &zero);
}

static __always_inline struct off_scratch *take_scratch(void)
{
    for (__u32 i = 0; i < OFF_DEPTH; i++) {
        __u32 key = i;
        struct off_scratch *s = bpf_map_lookup_elem(&scratches, &key);

        if (s && __sync_lock_test_and_set(&s->taken, 1) == 0)
            return s;
    }
    return NULL;
}

/* How long a wait was that set @i has drawn; 0: it has not, or has its record. */
static __always_inline __u64 take_wait(struct ended *x, __u32 i)
{
    return x->waits_ns[i] ? __sync_lock_test_and_set(&x->waits_ns[i], 0) : 0;
}

/* Writes the records of a wait whose thread was runnable for @runnable_ns of it. Not static: as
 * draw(). */
__attribute__((noinline)) int write_both(struct stack_scratch *s, struct ended *x,
                                         __u64 runnable_ns)
{
    __u32 words;
    __u8 flags;

    if (!s || !x)
        return 0;
    words = (__u32)s->rec.kernel_count + s->rec.user_count;
    flags = s->rec.flags;
    if (words > STACK_MAX + SAMPLE_USER_MAX)
        words = STACK_MAX + SAMPLE_USER_MAX;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        __u64 value = x->values[i], wait_ns = take_wait(x, i), part;

        if (!wait_ns || !fill_lock(&s->rec, x, i))
            continue;
        /* Who waits for a lock waits until it runs again. */
        part =
            s->rec.lock ? 0 : runnable_part(value, wait_ns, runnable_ns, set_rates[i].interval_ns);
        s->rec.set = (__u8)i;
        s->rec.wait_ns = wait_ns;
        if (part) {
            s->rec.flags = flags | SAMPLE_RUNNABLE;
            s->rec.value = part;
            write_record(&s->rec, sizeof(s->rec) + words * sizeof(__u64));
        }
        if (part < value) {
            s->rec.flags = flags;
            s->rec.value = value - part;
            write_record(&s->rec, sizeof(s->rec) + words * sizeof(__u64));
        }
    }
    return 0;
}

/* In the thread's own context, on its way back to user mode or out of life. */
static int take_late(struct bpf_map *map, void *key, void *value)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u64 begun_ns = bpf_ktime_get_ns(), run_delay = run_delay_of(task), took_ns;
    struct late *l = value;
    struct off_scratch *os = take_scratch();
    struct stack_scratch *s;
    struct unwind_process *p;
    __u32 n;

    if (!os) {
        count(OFF_LOST_MEMORY, 1);
        goto out;
    }
    s = &os->stack;
    fill_record(&s->rec, task, &l->ended);
    if (l->ended.lock.kind == UNWIND_LOCK_UNREAD) {
        lock_read(&l->ended.lock, s->rec.host_pid, s->rec.host_tid);
        l->ended.lock.owner = 0; /* of now, and not of when it began */
    }
    n = l->ended.kernel_count;
    if (n > STACK_MAX)
        n = STACK_MAX;
    bpf_probe_read_kernel(s->frames, n * sizeof(__u64), l->ended.kernel);
    if (task->flags & TASK_EXITING || l->ended.exec_id != (__u32)task->self_exec_id) {
        s->rec.user_end = UNWIND_END_NOT_TAKEN; /* its memory may be gone */
    } else {
        p = tables_of(s);
        s->rec.user_count = p ? walk(task, s, p) : leaf(task, s);
    }
    write_both(s, &l->ended, run_delay - l->ended.run_delay);
    __sync_lock_test_and_set(&os->taken, 0);
    took_ns = bpf_ktime_get_ns() - begun_ns;
    count(OFF_TIME_NS, took_ns);
    spend(took_ns);
out:
    count(OFF_TAKEN, 1); /* when its record is there: it may have been preempted for long */
    bpf_map_delete_elem(&lates, key);
    return 0;
}

/* Of @task, which does not run and had had @runs of a processor then: what its stack is walked by.
 */
static __always_inline bool put_registers(__u64 *to, struct task_struct *task, __u64 runs)
{
    struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);

    if (regs->cs != USER_CS_64)
        return false;
    to[SAMPLE_REGISTER_RUNS] = runs;
    to[SAMPLE_REGISTER_PC] = regs->ip;
    to[SAMPLE_REGISTER_SP] = regs->sp;
    to[SAMPLE_REGISTER_FP] = regs->bp;
    to[SAMPLE_REGISTER_RAX] = regs->ax;
    to[SAMPLE_REGISTER_RBX] = regs->bx;
    to[SAMPLE_REGISTER_R13] = regs->r13;
    to[SAMPLE_REGISTER_R15] = regs->r15;
    return true;
}

/* Writes the record on @d with @words for those of @sets that have drawn @x. Not static: as draw().
 */
__attribute__((noinline)) int write_sets(struct desk *d, struct ended *x, __u32 sets, __u64 words)
{
    if (!d || !x || words > sizeof(d->bare_frames) / sizeof(__u64))
        return 0;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX && sets >> i; i++) {
        __u64 wait_ns = sets & 1U << i ? take_wait(x, i) : 0;

        if (!wait_ns || !fill_lock(&d->bare_rec, x, i))
            continue;
        d->bare_rec.set = (__u8)i;
        d->bare_rec.wait_ns = wait_ns;
        d->bare_rec.value = x->values[i];
        write_record(&d->bare_rec, sizeof(d->bare_rec) + words * sizeof(__u64));
    }
    return 0;
}

/* Without the user's stack, for those of @sets that have drawn it. @runs: as put_registers(); 0: no
 * registers. */
static __always_inline void write_bare(struct desk *d, struct task_struct *task, struct ended *x,
                                       __u32 sets, bool runnable, __u64 runs)
{
    __u64 n = x->kernel_count, words;

    fill_record(&d->bare_rec, task, x);
    d->bare_rec.user_end = UNWIND_END_NOT_TAKEN;
    if (runnable)
        d->bare_rec.flags |= SAMPLE_RUNNABLE;
    if (n > STACK_MAX)
        n = STACK_MAX;
    bpf_probe_read_kernel(d->bare_frames, n * sizeof(__u64), x->kernel);
    words = n;
    if (runs && put_registers(d->bare_frames + n, task, runs)) {
        d->bare_rec.flags |= SAMPLE_REGISTERS;
        d->bare_rec.user_count = SAMPLE_REGISTER_COUNT;
        words += SAMPLE_REGISTER_COUNT;
    }
    write_sets(d, x, sets, words);
}

#include "sample/early.bpf.h"

/* ---- the switch ---- */

/* Has the user stack of @task taken. @w may be NULL. */
static __always_inline bool schedule(struct task_struct *task, struct wait *w, struct desk *d)
{
    __u64 key = (__u64)bpf_get_smp_processor_id() << 48 | ++d->last_key;
    struct late *l;

    d->form.ended.key = key;
    d->form.ended.before = w ? w->late_key : 0;
    if (bpf_map_update_elem(&lates, &key, &d->form, BPF_NOEXIST))
        return false;
    l = bpf_map_lookup_elem(&lates, &key);
    if (!l)
        return false;
    if (short_task_work
            ? bpf_task_work_schedule_resume(task, &l->work, &lates, take_late)
            : bpf_task_work_schedule_resume_impl(task, &l->work, &lates, take_late, NULL)) {
        bpf_map_delete_elem(&lates, &key);
        return false;
    }
    if (w)
        w->late_key = key;
    count(OFF_LATE, 1);
    return true;
}

/* The sets that began when @task was there already. */
static __always_inline __u32 sets_after(struct task_struct *task, __u32 sets)
{
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        if (task->start_time >= set_rates[i].start_ns)
            sets &= ~(1U << i);
    }
    return sets;
}

/* The kernel has not told that the wait of @task was over: those of some virtual machines leave out
 * a few switches. It ended before what @task has run since, by the scheduler's count. Nothing is
 * known of its stack. One that began before all of this may have been over then, too. */
static __attribute__((noinline)) int ended_unseen(struct task_struct *task, struct wait *w,
                                                  __u64 now_ns)
{
    bool met = w->epoch == epoch;
    __u64 since = met ? *(volatile __u64 *)&w->off_ns : 0, ran_ns = task->se.prev_sum_exec_runtime;
    __u32 sets = sets_of(task, w);
    struct desk *d = my_desk();

    asm volatile("" : "+r"(ran_ns)); /* clang would load either by one instruction */
    if (met)
        ran_ns = w->ran_ns;
    else
        sets = sets_after(task, sets);
    ran_ns = task->se.sum_exec_runtime - ran_ns;
    if (!d || (met && !since) || now_ns - (since & ~(__u64)MET) <= ran_ns)
        return 0;
    d->form.ended.time_ns = now_ns - ran_ns;
    copy_lock(&d->form.ended.lock, w);
    if (!met || !w->asked || w->lock.kind == UNWIND_LOCK_NONE)
        sets &= ~lock_sets;
    sets &= ~futex_sets; /* nor of what it had asked for */
    d->form.ended.flush = 0;
    d->form.ended.flushed = since & MET ? w->flush : 0;
    d->form.ended.exec_id = (__u32)task->self_exec_id;
    d->form.ended.kernel_count = d->form.ended.flags = 0;
    if (!draw(&d->form.ended, &w->points, sets, begun(task, since & ~(__u64)MET), now_ns - ran_ns))
        return 0;
    count(OFF_BARE, 1);
    write_bare(d, task, &d->form.ended, ~0U, false, /* runs= */ 0);
    return 0;
}

static __always_inline void leaves(struct task_struct *task, __u64 now_ns, bool task_work)
{
    struct wait *w = wait_of(task, /* create= */ false);

    if (!w) {
        if (!sets_of(task, NULL))
            return;
        w = wait_of(task, /* create= */ true);
        if (!w) {
            count(OFF_LOST_MEMORY, 1);
            return;
        }
    }
    if (*(volatile __u64 *)&w->off_ns || w->epoch != epoch)
        ended_unseen(task, w, now_ns);
    w->run_delay = run_delay_of(task);
    w->ran_ns = task->se.sum_exec_runtime;
    w->epoch = epoch;
    w->throttled = is_throttled(task);
    w->asked = 0;
    if (task_work ? lock_sets && !w->unlikely && sets_of(task, w) & lock_sets
                  : sets_of(task, w) & (lock_sets | futex_sets)) { /* nobody can later */
        lock_read(&w->lock, process_number(task), thread_number(task));
        w->asked = 1;
    }
    if (!task_work)
        keep_stack(task, now_ns & ~(__u64)MET);
    *(volatile __u64 *)&w->off_ns = now_ns & ~(__u64)MET;
}

/* Forgets a thread that ends, where nobody else does. */
static __always_inline void forget(struct task_struct *task)
{
    __u32 key = task->pid;

    bpf_map_delete_elem(&early_waits, &key);
    bpf_map_delete_elem(&kepts, &key);
}

/* How far the scheduler's clock is behind CLOCK_MONOTONIC: both tell when @prev came. */
static __always_inline void compare_clocks(struct task_struct *prev, struct task_struct *next,
                                           __u64 now_ns)
{
    struct desk *d = my_desk();

    if (!d)
        return;
    if (d->in_tid == (__u32)prev->pid && bpf_core_field_exists(prev->sched_info.last_arrival))
        d->ahead_ns = d->in_ns - prev->sched_info.last_arrival;
    d->in_tid = (__u32)next->pid;
    d->in_ns = now_ns;
}

/* The wait of @next, known by @w, may be NULL, began at @since and is over: some set has drawn it.
 * Writes the wait, or has the user's stack taken. */
static __always_inline int take(struct task_struct *next, struct wait *w, struct desk *d,
                                __u64 since, __u64 now_ns, bool task_work)
{
    struct ended *x = &d->form.ended;
    __u64 run_delay = run_delay_of(next);

    asm volatile("" : "+r"(run_delay)); /* clang would load either by one instruction */
    if (w && since)
        run_delay = w->run_delay;
    x->time_ns = now_ns;
    x->flush = 0;
    x->run_delay = run_delay;
    x->exec_id = (__u32)next->self_exec_id;
    take_kernel_stack(next, x);
    if (w && since && w->throttled)
        x->flags |= SAMPLE_THROTTLED;
    if (!task_work && write_kept(next, d, since))
        return 0;
    if (task_work && !(next->flags & (TASK_WORKER | TASK_EXITING)) &&
        !over_budget(now_ns, STACK_BUDGET_NS) && schedule(next, w, d))
        return 0;
    if (x->lock.futex && !is_java(&x->lock))
        x->lock.owner = java_thread_of(next);
    count(OFF_BARE, 1);
    write_bare(d, next, x, ~0U, false, /* runs= */ 0);
    return 0;
}

static __always_inline int comes_back(struct task_struct *next, __u64 now_ns, bool task_work)
{
    struct wait *w = wait_of(next, /* create= */ false);
    __u64 since = 0, futex = 0;
    __u32 sets, flushed;
    bool taken, asked;
    struct desk *d;

    if (!task_work && !w && next->flags & TASK_EXITING)
        return 0; /* forgotten */
    sets = sets_of(next, w);
    if (w) /* for good: a flush that comes now does not meet it */
        since = __sync_lock_test_and_set(&w->off_ns, 0);
    if (!sets)
        return 0;
    d = my_desk();
    if (!d)
        return 0;
    if (!w)
        w = wait_of(next, /* create= */ true);
    flushed = since & MET && w ? w->flush : 0;
    since &= ~(__u64)MET;
    if (w && w->epoch != epoch) {
        since = 0;
        w->epoch = epoch; /* known to have come */
    }
    asked = w && since && w->asked;
    if (asked && w->lock.kind == UNWIND_LOCK_NONE)
        sets &= ~lock_sets;
    if (sets & futex_sets) {
        futex = asked && is_java(&w->lock) ? 0 : futex_of(next);
        if (!futex)
            sets &= ~futex_sets;
    }
    taken = !(w && pass(&w->points, sets, since, now_ns)) &&
            draw(&d->form.ended, w ? &w->points : &d->points, sets, begun(next, since), now_ns);
    if (w && sets & lock_sets)
        w->unlikely = is_unlikely(&w->points, sets & lock_sets, now_ns - since);
    if (!taken)
        return 0;
    if (asked)
        d->form.ended.lock = w->lock;
    else
        d->form.ended.lock = (struct lock_words){ .kind = UNWIND_LOCK_UNREAD };
    d->form.ended.lock.futex = futex;
    d->form.ended.flushed = flushed;
    return take(next, w, d, since, now_ns, task_work);
}

/* Not inlined: what it takes of the program's stack is free again for a walk. */
static __attribute__((noinline)) int comes_back_early(struct task_struct *next, __u64 now_ns)
{
    return comes_back(next, now_ns, /* task_work= */ false);
}

SEC("tp_btf/sched_switch")
int off_switch(__u64 *ctx)
{
    struct task_struct *prev = (struct task_struct *)ctx[1], *next = (struct task_struct *)ctx[2];
    bool left = may_be_wanted(prev), back = may_be_wanted(next);
    __u64 now_ns;

    if (!left && !back)
        return 0;
    now_ns = bpf_ktime_get_ns();
    if (left)
        leaves(prev, now_ns, /* task_work= */ true);
    return back ? comes_back(next, now_ns, /* task_work= */ true) : 0;
}

SEC("tp_btf/sched_switch")
int off_switch_early(__u64 *ctx)
{
    struct task_struct *prev = (struct task_struct *)ctx[1], *next = (struct task_struct *)ctx[2];
    bool left = may_be_wanted(prev), back = may_be_wanted(next);
    __u64 now_ns;

    if (!left && !back)
        return 0;
    now_ns = bpf_ktime_get_ns();
    compare_clocks(prev, next, now_ns);
    if (back)
        comes_back_early(next, now_ns);
    if (left && prev->flags & TASK_EXITING)
        forget(prev);
    else if (left)
        leaves(prev, now_ns, /* task_work= */ false);
    return 0;
}

/* ---- what still waits ---- */

struct flush_scratch {
    struct ended ended;
    struct desk desk;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY); /* one reader at a time */
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct flush_scratch);
} flush_scratches SEC(".maps");

/* Where it is not known what @task waits for, says whose JavaThread is to be asked. Whether it may
 * be for a lock. */
static __always_inline bool lock_of_blocked(struct lock_words *lock, struct task_struct *task)
{
    if (lock->kind != UNWIND_LOCK_UNREAD)
        return lock->kind != UNWIND_LOCK_NONE;
    lock->class_word = 0;
    lock->owner = java_thread_of(task);
    return lock->owner != 0;
}

/* How often @task was given a processor: to be asked before it is known to wait. 0: not known. */
static __always_inline __u64 runs_of(struct task_struct *task)
{
    return bpf_core_field_exists(task->sched_info.pcount) ? task->sched_info.pcount : 0;
}

/* Waits of @task that are over, and whose stack is still to be taken: it waits again, and was not
 * back in its own code. So its user stack is the one of now. */
static __always_inline void write_lates(struct flush_scratch *f, struct task_struct *task,
                                        const struct wait *w, __u32 set, __u64 runs)
{
    bool waits_again = *(volatile const __u64 *)&w->off_ns != 0;
    __u64 key = w->late_key;

    UNWIND_LOOP
    for (__u32 i = 0; i < OFF_LATES_OF_THREAD && key; i++) {
        struct late *l = bpf_map_lookup_elem(&lates, &key);

        if (!l || l->ended.key != key)
            break;
        if (!(lock_sets & 1U << (set & 31)) || lock_of_blocked(&l->ended.lock, task))
            write_bare(&f->desk, task, &l->ended, 1U << (set & 31), false, waits_again ? runs : 0);
        key = l->ended.before;
    }
}

SEC("iter/task")
int off_blocked(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    __u32 zero = 0, set = flush_set;
    struct flush_scratch *f;
    __u64 off_ns, runs;
    struct wait *w;

    if (!task || !may_be_wanted(task) || !(sets_of(task, NULL) & 1U << (set & 31)))
        return 0;
    if (task->exit_state) /* it has ended, and nobody has asked how: it waits for nothing */
        return 0;
    f = bpf_map_lookup_elem(&flush_scratches, &zero);
    if (!f)
        return 0;
    runs = runs_of(task);
    w = wait_of(task, /* create= */ false);
    if (flush_lates) {
        if (w && w->late_key)
            write_lates(f, task, w, set, runs);
        return 0;
    }
    if (!w) {
        if (task->on_cpu)
            return 0;
        /* It has waited since before all of this began. */
        w = wait_of(task, /* create= */ true);
        if (!w)
            return 0;
        w->asked = 0;
    }
    off_ns = *(volatile __u64 *)&w->off_ns;
    if (w->epoch != epoch) {
        if (task->on_cpu)
            return 0;
        w->epoch = epoch;
        w->run_delay = run_delay_of(task);
        w->ran_ns = task->se.sum_exec_runtime;
        w->throttled = is_throttled(task);
        w->asked = 0;
        if (__sync_val_compare_and_swap(&w->off_ns, off_ns, 2) != off_ns)
            return 0;
        off_ns = 2;
    }
    if (!off_ns)
        return 0;
    w->flush = flush_no;
    if (!(off_ns & MET) && __sync_val_compare_and_swap(&w->off_ns, off_ns, off_ns | MET) != off_ns)
        return 0; /* it has just come back */
    copy_lock(&f->ended.lock, w);
    if (lock_sets & 1U << (set & 31) && !lock_of_blocked(&f->ended.lock, task))
        return 0;
    if (futex_sets & 1U << (set & 31)) {
        copy_lock(&f->ended.lock, w);
        f->ended.lock.futex = futex_of(task);
        if (!f->ended.lock.futex || is_java(&f->ended.lock))
            return 0;
        f->ended.lock.owner = java_thread_of(task);
    }
    f->ended.time_ns = bpf_ktime_get_ns();
    if (!draw(&f->ended, &w->points, 1U << (set & 31), begun(task, off_ns & ~(__u64)MET),
              f->ended.time_ns))
        return 0;
    f->ended.flush = flush_no;
    f->ended.flushed = 0;
    f->ended.run_delay = 0;
    f->ended.exec_id = (__u32)task->self_exec_id;
    take_kernel_stack(task, &f->ended);
    if (w->throttled)
        f->ended.flags |= SAMPLE_THROTTLED;
    write_bare(&f->desk, task, &f->ended, ~0U, task->__state == 0, runs);
    return 0;
}
