/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Samples allocations at a pace: a wanted number of samples per second in each process. An interval
 * is in use for a second, or until it gave twice as many samples as wanted. The number of samples
 * determines the next interval. The next interval is at most twice as long: a burst may be over
 * soon, but an interval can only halve once a second. The value of a sample is the interval that
 * drew it, so sums are right at any rate.
 */
#pragma once

#include "sample/alloc_abi.h"
#include "sample/pick.bpf.h"

#define PACED_NS 1000000000ULL
#define PACED_MOST (2 * SIZE_MAX_BYTES) /* the longest interval: above the weight of any object */
#define PACED_RATE_MAX (1ULL << 20)     /* limit that keeps a product below 2^64 */

/* Written by the loader. */
__u32 paced_sets;      /* bit set: sets with a pace */
__u64 paced_ns;        /* the pace of all these sets */
__u32 paced_processes; /* number of processes with probes */

/* Returns how many samples per second are wanted of a process: one each @pace_ns, or fewer if many
 * processes share ALLOC_PACED_ALL. */
static __always_inline __u64 wanted_rate(__u64 pace_ns)
{
    __u64 own = pace_ns ? PACED_NS / pace_ns : 1,
          share = ALLOC_PACED_ALL / (paced_processes ? paced_processes : 1), rate;

    rate = own < share ? own : share;
    return rate ? rate : 1;
}

/* Returns the interval that follows @interval, which gave @taken samples in @took_ns. */
static __always_inline __u64 next_interval(__u64 interval, __u64 taken, __u64 took_ns, __u64 wanted)
{
    __u64 rate = taken * PACED_NS / (took_ns ? took_ns : 1), next, least = interval / 2;

    if (rate > PACED_RATE_MAX)
        rate = PACED_RATE_MAX;
    next = interval * rate / wanted;
    if (next > 2 * interval)
        next = 2 * interval;
    if (least < ALLOC_PACED_LEAST)
        least = ALLOC_PACED_LEAST;
    return next < least ? least : next > PACED_MOST ? PACED_MOST : next;
}

/* Begins a new interval of @p if the present interval is over. */
static __always_inline void follow_rate(struct alloc_process *p, __u64 pace_ns)
{
    __u64 now_ns = bpf_ktime_get_ns(), begun_ns = p->begun_ns, took_ns = now_ns - begun_ns,
          wanted = wanted_rate(pace_ns), taken = p->taken;

    if (begun_ns && took_ns < PACED_NS && taken < 2 * wanted)
        return;
    if (__sync_val_compare_and_swap(&p->begun_ns, begun_ns, now_ns) != begun_ns)
        return; /* another processor begins it */
    p->interval = begun_ns ? next_interval(p->interval, taken, took_ns, wanted) : ALLOC_PACED_FIRST;
    p->taken = 0;
}

/* Draws a sample of @weight in @p. Returns the record's value; 0: not sampled. */
static __always_inline __u64 draw_paced(struct alloc_process *p, __u64 pace_ns, __u64 weight)
{
    __u64 value;

    follow_rate(p, pace_ns);
    value = draw_with(p->interval, weight);
    if (value)
        __sync_fetch_and_add(&p->taken, 1);
    return value;
}
