/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by all probes of alloc.bpf.c: the data of a call, the draw of samples by their weight, and
 * the records.
 */
#pragma once

#include "sample/context.bpf.h"

#include "sample/alloc_abi.h"
#include "sample/alloc_args.bpf.h"
#include "sample/counters.bpf.h"
#include "sample/pick.bpf.h"

/* Written by the loader. */
struct pick_rate rates[STACK_SETS_MAX]; /* intervals of bytes, or of calls */

struct alloc_scratch {
    struct stack_scratch stack;
    struct context_work context;
    struct allocated what;
    struct arguments args;
    __u64 values[STACK_SETS_MAX];     /* value of the sample for each set that takes it */
    __u64 flags;                      /* SAMPLE_SAME_STEP, SAMPLE_ALONE */
    __u64 block;                      /* address of a block of malloc */
    __u64 registers[ALLOC_REGISTERS]; /* the registers that may hold the block's address */
    __u64 taken;                      /* 1: in use, by a program that runs or was preempted */
};

#define SCRATCH struct alloc_scratch
#define SCRATCH_DEPTH ALLOC_DEPTH
#include "sample/scratch.bpf.h"

/* Does the same as draw_with(), with the interval of set @i. */
static __always_inline __u64 draw(__u32 i, __u64 weight)
{
    return draw_with(rates[i & (STACK_SETS_MAX - 1)].interval, weight);
}

/* Counts a possible sample of @task as lost for each of @sets (bits). */
static __always_inline void lose_other(struct task_struct *task, __u32 host_pid, __u32 sets)
{
    count(STACK_LOST_OTHER, 1);
    lose_of(task, host_pid, sets, /* costly= */ false);
}

/* Writes a record for each of @sets (bits). Returns the number written. */
static __always_inline __u32 write_records(struct alloc_scratch *as, __u32 sets)
{
    struct stack_scratch *s = &as->stack;
    __u32 words = (__u32)s->rec.user_count + s->rec.context_count, written = 0;

    if (words > SAMPLE_USER_MAX + CONTEXT_WORDS)
        words = SAMPLE_USER_MAX + CONTEXT_WORDS;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        if (!(sets & 1U << i))
            continue;
        s->rec.set = (__u8)i;
        s->rec.value = as->values[i];
        if (bpf_ringbuf_output(&ring, &s->rec, sizeof(s->rec) + words * sizeof(__u64),
                               BPF_RB_NO_WAKEUP)) {
            count(STACK_LOST_RING, 1);
            lose_record(&s->rec);
        } else {
            written++;
        }
    }
    count(STACK_SAMPLES, written);
    return written;
}

/* Samples @task, which runs, for @sets (bits). Returns the number of records written. */
static __always_inline __u32 take_sample(struct task_struct *task, struct alloc_scratch *as,
                                         __u32 sets, __u32 host_pid)
{
    __u64 now_ns = bpf_ktime_get_ns(), took_ns;
    struct stack_scratch *s = &as->stack;
    struct unwind_process *p;
    __u32 written;

    if (over_budget(now_ns, STACK_BUDGET_NS)) {
        count(STACK_LOST_BUDGET, 1);
        lose_of(task, host_pid, sets, /* costly= */ true);
        return 0;
    }
    begin_record(&s->rec, task, host_pid, thread_number(task), now_ns);
    s->rec.klass = as->what.klass;
    s->rec.flags = (__u8)as->flags;
    s->rec.object = as->what.object;
    s->rec.collections = as->what.collections;
    bpf_get_current_comm(s->rec.comm, sizeof(s->rec.comm));
    p = tables_of(s);
    s->rec.user_count = p ? walk(task, s, p) : leaf(task, s);
    take_context(s, &as->context, task, s->rec.user_count);
    written = write_records(as, sets);
    took_ns = bpf_ktime_get_ns() - now_ns;
    count(STACK_TIME_NS, took_ns);
    spend(took_ns);
    return written;
}
