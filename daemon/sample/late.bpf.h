/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The records of finished waits. Task work takes the user's stack late, in the thread's own
 * context. The thread is then not yet back in user mode, so the stack is still that of the wait.
 * Without task work, the record has the registers from the begin of the wait, or no user stack.
 */
#pragma once

#include "sample/wait.bpf.h"

/* Returns this processor's desk. */
static __always_inline struct desk *my_desk(void)
{
    __u32 zero = 0;

    return bpf_map_lookup_elem(&desks, &zero);
}

/* Takes the length of the wait for set @i, so that only one record is written. 0: set @i did not
 * draw the wait, or its record is written already. */
static __always_inline __u64 take_wait(struct ended *x, __u32 i)
{
    return x->waits_ns[i] ? __sync_lock_test_and_set(&x->waits_ns[i], 0) : 0;
}

/* Writes the wait @x for set @i with @rec, of @bytes. Writes one record for the part in which the
 * thread was runnable, and one for the rest. */
static __always_inline void write_parts(struct sample_record *rec, __u64 bytes, struct ended *x,
                                        __u32 i, __u64 runnable_ns)
{
    __u64 value = x->values[i], wait_ns = take_wait(x, i), part = 0;

    if (!wait_ns || !fill_lock(rec, x, i))
        return;
    if (!rec->lock) /* time in a run queue counts as waiting for the lock */
        part = runnable_part(value, wait_ns, runnable_ns, set_rates[i].interval_ns);
    if (part > value)
        part = value; /* the interval has changed since */
    rec->set = (__u8)i;
    rec->wait_ns = wait_ns;
    rec->value = value - part;
    rec->flags &= (__u8)~SAMPLE_RUNNABLE;
    if (rec->value)
        write_record(rec, bytes);
    rec->value = part;
    rec->flags |= SAMPLE_RUNNABLE;
    if (part)
        write_record(rec, bytes);
}

/* Writes the records of a wait with @runnable_ns in which the thread was runnable. Not static, as
 * draw(). */
__attribute__((noinline)) int write_both(struct stack_scratch *s, struct ended *x,
                                         __u64 runnable_ns)
{
    __u32 words;

    if (!s || !x)
        return 0;
    words = (__u32)s->rec.kernel_count + s->rec.user_count + s->rec.context_count;
    if (words > STACK_MAX + SAMPLE_USER_MAX + CONTEXT_WORDS)
        words = STACK_MAX + SAMPLE_USER_MAX + CONTEXT_WORDS;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++)
        write_parts(&s->rec, sizeof(s->rec) + words * sizeof(__u64), x, i, runnable_ns);
    return 0;
}

/* Counts @x, a wait of the running task, as lost for each of @of (bits) that has drawn it. Not
 * static, for the same reason as draw(). */
__attribute__((noinline)) int lose_wait(struct ended *x, __u32 of)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u32 sets = 0;

    if (!x)
        return 0;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        if (of & 1U << i && take_wait(x, i))
            sets |= 1U << i;
    }
    if (!sets)
        return 0;
    count(STACK_LOST_OTHER, 1);
    lose_of(task, process_number(task), sets, /* costly= */ false);
    return 0;
}

/* Runs in the thread's own context, on its way back to user mode or at its end. */
static int take_late(struct bpf_map *map, void *key, void *value)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u64 begun_ns = bpf_ktime_get_ns(), took_ns;
    struct late *l = value;
    struct off_scratch *os = take_scratch();
    struct stack_scratch *s;
    struct unwind_process *p;
    __u32 n;

    if (!os) {
        lose_wait(&l->ended, ~0U);
        goto out;
    }
    s = &os->stack;
    if (runs_of(task) == l->ended.runs + 1) { /* the thread has not waited again since */
        l->ended.runnable_ns = run_delay_of(task) - l->ended.run_delay;
        learn_clock(arrival_of(task), l->ended.time_ns);
    }
    fill_record(&s->rec, task, &l->ended);
    if (l->ended.lock.kind == UNWIND_LOCK_UNREAD) {
        lock_read(&l->ended.lock, s->rec.host_pid, s->rec.host_tid, THREAD_POINTER(task->thread));
        l->ended.lock.owner = 0; /* the owner at the begin of the wait is unknown */
        if (l->ended.lock.kind == UNWIND_LOCK_UNREAD)
            lose_wait(&l->ended, lock_sets | futex_sets);
    }
    n = l->ended.kernel_count;
    if (n > STACK_MAX)
        n = STACK_MAX;
    bpf_probe_read_kernel(s->frames, n * sizeof(__u64), l->ended.kernel);
    if (task->flags & TASK_EXITING || l->ended.exec_id != (__u32)task->self_exec_id) {
        s->rec.user_end = UNWIND_END_NOT_TAKEN; /* the memory of the thread may be gone */
    } else {
        p = tables_of(s);
        s->rec.user_count = p ? walk(task, s, p) : leaf(task, s);
        n = (__u32)s->rec.kernel_count + s->rec.user_count;
        take_context(s, &os->context, task, n);
    }
    write_both(s, &l->ended, l->ended.runnable_ns);
    give_scratch(os);
    took_ns = bpf_ktime_get_ns() - begun_ns;
    count(STACK_TIME_NS, took_ns);
    spend(took_ns);
out:
    count(OFF_TAKEN, 1); /* after the record: this program may have been preempted */
    bpf_map_delete_elem(&lates, key);
    return 0;
}

/* Writes the record on @d with @words for those of @sets that have drawn @x, a wait with
 * @runnable_ns in which the thread was runnable. Not static, for the same reason as draw(). */
__attribute__((noinline)) int write_sets(struct desk *d, struct ended *x, __u32 sets, __u64 words,
                                         __u64 runnable_ns)
{
    if (!d || !x || words > sizeof(d->bare_frames) / sizeof(__u64))
        return 0;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX && sets >> i; i++) {
        if (sets & 1U << i)
            write_parts(&d->bare_rec, sizeof(d->bare_rec) + words * sizeof(__u64), x, i,
                        runnable_ns);
    }
    return 0;
}

/* Writes records without the user's stack, for those of @sets that have drawn @x. @runnable_ns: the
 * part of the wait in which @task was runnable. @runs: as put_registers() takes it; 0: no
 * registers. */
static __always_inline void write_bare(struct desk *d, struct task_struct *task, struct ended *x,
                                       __u32 sets, __u64 runnable_ns, __u64 runs)
{
    __u64 n = x->kernel_count, words;

    fill_record(&d->bare_rec, task, x);
    d->bare_rec.user_end = UNWIND_END_NOT_TAKEN;
    if (n > STACK_MAX)
        n = STACK_MAX;
    bpf_probe_read_kernel(d->bare_frames, n * sizeof(__u64), x->kernel);
    words = n;
    if (runs && put_registers(d->bare_frames + n, task, runs)) {
        d->bare_rec.flags |= SAMPLE_REGISTERS;
        d->bare_rec.user_count = SAMPLE_REGISTER_COUNT;
        words += SAMPLE_REGISTER_COUNT;
    }
    write_sets(d, x, sets, words, runnable_ns);
}
