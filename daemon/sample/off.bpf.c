// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Time off the processor. At each switch, the program stores when a wanted thread leaves. When the
 * thread comes back, the program decides about its wait. A wait as long as the interval or longer
 * is sampled, and stands for itself. The shorter waits of a thread, joined end to end, are cut into
 * blocks as long as the interval. A random point of each block is drawn: the wait at this point is
 * sampled, and stands for the interval. The kernel's stack is taken at the switch, the user's late
 * (late.bpf.h). An iterator over all threads finds unfinished waits (flush.bpf.h).
 */
#include "sample/early.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Schedules task work that takes the user stack of @task. @w: its state. Returns false if the
 * kernel cannot schedule the work. */
static __always_inline bool schedule(struct task_struct *task, struct wait *w, struct desk *d)
{
    __u64 key = (__u64)bpf_get_smp_processor_id() << 48 | ++d->last_key;
    struct late *l;

    d->form.ended.key = key;
    d->form.ended.before = w->late_key;
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
    w->late_key = key;
    count(OFF_LATE, 1);
    return true;
}

/* Returns those of @sets that began when @task existed already. */
static __always_inline __u32 sets_after(struct task_struct *task, __u32 sets)
{
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        if (task->start_time >= set_rates[i].start_ns)
            sets &= ~(1U << i);
    }
    return sets;
}

/* Returns those of @sets for which the wait of @task, a thread without a state, has an unknown
 * start: there was no room for a state, and the thread ran after they began. */
static __always_inline __u32 sets_without_room(struct task_struct *task, __u32 sets)
{
    __u64 ns = *(volatile __u64 *)&no_room_ns, arrived_ns = arrival_of(task);

    if (!ns || ns < task->start_time)
        return 0;
    if (arrived_ns && clock_known && arrived_ns + clock_difference_ns < ns)
        ns = arrived_ns + clock_difference_ns;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        if (ns < set_rates[i].start_ns)
            sets &= ~(1U << i);
    }
    return sets;
}

/* Counts a wait of @task without room for its state as lost for @sets. */
static __always_inline void lose_state(struct task_struct *task, __u32 sets)
{
    count(STACK_LOST_OTHER, 1);
    lose_of(task, process_number(task), sets, /* costly= */ false);
}

/* Samples a wait of @task with an unreported end: kernels of some virtual machines leave out a few
 * switches. The end follows from how long @task has run since, by the scheduler's count. The stack
 * of the wait is unknown. A wait from before the program was attached may also have such an end. */
static __attribute__((noinline)) int ended_unseen(struct task_struct *task, struct wait *w,
                                                  __u64 now_ns)
{
    bool met = w->epoch == epoch_of(task);
    __u64 since = met ? *(volatile __u64 *)&w->off_ns : 0, ran_ns = task->se.prev_sum_exec_runtime;
    __u32 sets = sets_of(task, w);
    struct desk *d = my_desk();

    asm volatile("" : "+r"(ran_ns)); /* keeps clang from merging two loads */
    if (met)
        ran_ns = w->ran_ns;
    else
        sets = sets_after(task, sets) & ~sets_without_room(task, sets);
    ran_ns = task->se.sum_exec_runtime - ran_ns;
    if (!d || (met && !since) || now_ns - (since & ~(__u64)MET) <= ran_ns)
        return 0;
    d->form.ended.time_ns = now_ns - ran_ns;
    copy_lock(&d->form.ended.lock, w);
    if (!met || !w->asked || w->lock.kind == UNWIND_LOCK_NONE || w->lock.kind == UNWIND_LOCK_UNREAD)
        sets &= ~lock_sets;
    sets &= ~futex_sets; /* the futex of the wait is unknown */
    d->form.ended.flush = 0;
    d->form.ended.flushed = since & MET ? w->flush : 0;
    d->form.ended.exec_id = (__u32)task->self_exec_id;
    d->form.ended.kernel_count = d->form.ended.flags = 0;
    if (!draw(&d->form.ended, &w->points, sets, begun(task, since & ~(__u64)MET), now_ns - ran_ns))
        return 0;
    write_bare(d, task, &d->form.ended, ~0U, /* runnable_ns= */ 0, /* runs= */ 0);
    return 0;
}

static __always_inline void leaves(struct task_struct *task, __u64 now_ns, bool task_work)
{
    struct wait *w = wait_of(task, /* create= */ false);

    if (!w) {
        if (!sets_of(task, NULL))
            return;
        w = wait_of(task, /* create= */ true);
        if (!w) { /* the wait counts as lost at its end */
            no_room_ns = now_ns;
            return;
        }
    }
    if (*(volatile __u64 *)&w->off_ns || w->epoch != epoch_of(task))
        ended_unseen(task, w, now_ns);
    w->run_delay = run_delay_of(task);
    w->ran_ns = task->se.sum_exec_runtime;
    w->epoch = epoch_of(task);
    w->throttled = is_throttled(task);
    w->asked = 0;
    if (task_work ? lock_sets && !w->unlikely && sets_of(task, w) & lock_sets
                  : sets_of(task, w) & (lock_sets | futex_sets)) { /* cannot be read later */
        lock_read(&w->lock, process_number(task), thread_number(task),
                  THREAD_POINTER(task->thread));
        /* With task work, what is unknown now is read at the end of the wait. */
        w->asked = !task_work || w->lock.kind != UNWIND_LOCK_UNREAD;
    }
    if (!task_work)
        keep_stack(task, now_ns & ~(__u64)MET);
    *(volatile __u64 *)&w->off_ns = now_ns & ~(__u64)MET;
}

/* Drops what is stored for a thread that ends. */
static __always_inline void forget(struct task_struct *task)
{
    __u64 key = early_key(task);

    bpf_map_delete_elem(&early_waits, &key);
    bpf_map_delete_elem(&kepts, &key);
}

/* Compares the scheduler's clock with CLOCK_MONOTONIC, by the time at which @prev got the
 * processor. */
static __always_inline void compare_clocks(struct task_struct *prev, struct task_struct *next,
                                           __u64 now_ns)
{
    struct desk *d = my_desk();

    if (!d)
        return;
    if (d->in_tid == (__u32)prev->pid && runs_of(prev) == d->in_runs + 1)
        learn_clock(arrival_of(prev), d->in_ns);
    d->in_tid = (__u32)next->pid;
    d->in_runs = runs_of(next);
    d->in_ns = now_ns;
}

/* Handles the finished wait of @next that began at @since and that some set has drawn. @w is its
 * state. Writes the wait, or schedules the take of the user's stack. */
static __always_inline int take(struct task_struct *next, struct wait *w, struct desk *d,
                                __u64 since, __u64 now_ns, bool task_work)
{
    struct ended *x = &d->form.ended;
    __u64 run_delay = run_delay_of(next);

    asm volatile("" : "+r"(run_delay)); /* keeps clang from merging two loads */
    if (since)
        run_delay = w->run_delay;
    x->time_ns = now_ns;
    x->flush = 0;
    x->since = since;
    x->run_delay = run_delay;
    x->runnable_ns = run_delay_of(next) - run_delay + queued_ns(next, now_ns);
    x->runs = runs_of(next);
    x->exec_id = (__u32)next->self_exec_id;
    take_kernel_stack(next, x);
    if (since && w->throttled)
        x->flags |= SAMPLE_THROTTLED;
    if (!task_work && write_kept(next, d, since))
        return 0;
    if (task_work && !(next->flags & (TASK_WORKER | TASK_EXITING)) &&
        !over_budget(now_ns, STACK_BUDGET_NS) && schedule(next, w, d))
        return 0;
    if (x->lock.futex && !is_java(&x->lock))
        x->lock.owner = java_thread_of(next);
    write_bare(d, next, x, ~0U, x->runnable_ns, /* runs= */ 0);
    return 0;
}

static __always_inline int comes_back(struct task_struct *next, __u64 now_ns, bool task_work)
{
    struct wait *w = wait_of(next, /* create= */ false);
    __u64 since = 0, futex = 0;
    __u32 sets, flushed, lost;
    bool taken, asked;
    struct desk *d;

    if (!task_work && !w && next->flags & TASK_EXITING)
        return 0; /* forgotten already */
    sets = sets_of(next, w);
    if (w) /* clears it, so that no later flush sees this wait */
        since = __sync_lock_test_and_set(&w->off_ns, 0);
    if (!sets)
        return 0;
    d = my_desk();
    if (!d)
        return 0;
    if (!w) {
        w = wait_of(next, /* create= */ true);
        lost = w ? sets_without_room(next, sets) : sets;
        if (lost)
            lose_state(next, lost);
        if (!w) {
            no_room_ns = now_ns;
            return 0;
        }
        sets &= ~lost;
    }
    flushed = since & MET ? w->flush : 0;
    since &= ~(__u64)MET;
    if (w->epoch != epoch_of(next)) {
        since = 0;
        w->epoch = epoch_of(next); /* from now on, the thread's state is known */
    }
    asked = since && w->asked;
    if (asked && w->lock.kind == UNWIND_LOCK_NONE)
        sets &= ~lock_sets;
    if (sets & futex_sets) {
        futex = asked && is_java(&w->lock) ? 0 : futex_of(next);
        if (!futex)
            sets &= ~futex_sets;
    }
    if (asked && w->lock.kind == UNWIND_LOCK_UNREAD) {
        lost = sets & (lock_sets | futex_sets);
        if (lost)
            lose_state(next, lost);
        sets &= ~lost;
    }
    taken = !pass(&w->points, sets, since, now_ns) &&
            draw(&d->form.ended, &w->points, sets, begun(next, since), now_ns);
    if (sets & lock_sets)
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

/* Calls comes_back() without task work. Not inlined, so that a walk can reuse its part of the BPF
 * stack. */
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

#include "sample/flush.bpf.h"
