/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flushes unfinished waits, and finished waits that have no record yet. It is an iterator over all
 * threads, which the loader runs.
 */
#pragma once

#include "sample/late.bpf.h"

struct flush_scratch {
    struct ended ended;
    struct desk desk;
};

/* The buffer of the flush, which has one reader at a time. */
MAP(flush_scratches, ARRAY, 1, __u32, struct flush_scratch);

/* Returns true if @task may wait for a lock. If @lock is unread, sets its owner to the JavaThread,
 * from which flamed then reads the lock. */
static __always_inline bool lock_of_blocked(struct lock_words *lock, struct task_struct *task)
{
    if (lock->kind != UNWIND_LOCK_UNREAD)
        return lock->kind != UNWIND_LOCK_NONE;
    lock->class_word = 0;
    lock->owner = java_thread_of(task);
    return lock->owner != 0;
}

/* Takes the wait @l of key @key for set @set into its copy in @f. Return: false if the thread came
 * back during the copy, and another thread has the place of @l: that one keeps its wait. */
static __always_inline bool take_own(struct flush_scratch *f, struct late *l, __u32 set, __u64 key)
{
    f->ended.waits_ns[set] = take_wait(&l->ended, set);
    if (*(volatile __u64 *)&l->ended.key == key)
        return true;
    __sync_val_compare_and_swap(&l->ended.waits_ns[set], 0, f->ended.waits_ns[set]);
    return false;
}

/* Writes the finished waits of @task with a pending user stack. The thread has not returned to its
 * own code since those waits, so its present user stack is also theirs. */
static __always_inline void write_lates(struct flush_scratch *f, struct task_struct *task,
                                        const struct wait *w, __u32 set, __u64 runs)
{
    bool waits_again = *(volatile const __u64 *)&w->off_ns != 0;
    __u64 key = w->late_key;

    UNWIND_LOOP
    for (__u32 i = 0; i < OFF_LATES_OF_THREAD && key; i++) {
        struct late *l = bpf_map_lookup_elem(&lates, &key);

        if (!l)
            break;
        bpf_probe_read_kernel(&f->ended, sizeof(f->ended), &l->ended);
        if (f->ended.key != key)
            break;
        if (!(lock_sets & 1U << (set & 31)) || lock_of_blocked(&f->ended.lock, task)) {
            if (!take_own(f, l, set & (STACK_SETS_MAX - 1), key))
                break;
            write_bare(&f->desk, task, &f->ended, 1U << (set & 31), f->ended.runnable_ns,
                       waits_again ? runs : 0);
        }
        key = f->ended.before;
    }
}

/* Visits one thread. */
SEC("iter/task")
int off_blocked(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    __u32 zero = 0, set = flush_set;
    struct flush_scratch *f;
    __u64 off_ns, runs, runnable_ns = 0;
    struct wait *w;

    if (!task || !may_be_wanted(task) || !(sets_of(task, NULL) & 1U << (set & 31)))
        return 0;
    if (task->exit_state) /* a zombie waits for nothing */
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
        /* The thread has waited since before the program was attached, or without room. */
        if (!sets_without_room(task, 1U << (set & 31)))
            w = wait_of(task, /* create= */ true);
        if (!w) {
            lose_state(task, 1U << (set & 31));
            return 0;
        }
        w->asked = 0;
    }
    off_ns = *(volatile __u64 *)&w->off_ns;
    if (w->epoch != epoch_of(task)) {
        if (task->on_cpu)
            return 0;
        w->epoch = epoch_of(task);
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
        return 0; /* the thread has just come back */
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
    if (task->__state == 0) /* runnable: woken, or preempted */
        runnable_ns = clock_known
                          ? run_delay_of(task) - w->run_delay + queued_ns(task, f->ended.time_ns)
                          : ~0ULL;
    write_bare(&f->desk, task, &f->ended, ~0U, runnable_ns, runs);
    return 0;
}
