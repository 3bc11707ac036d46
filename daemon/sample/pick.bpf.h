/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Picks the events of a program that become samples. One event of each block of events is picked by
 * chance, independent of anything periodic. A block has as many events as the interval. With a
 * pace, the time that a block took sets the length of the next block. The value of a sample is the
 * length of its block, so that sums are right.
 */
#pragma once

#include "sample/pick_abi.h"

#define PICK_LATE 4           /* a block is cut after this many times pace_ns */
#define PICK_MAX (1ull << 30) /* limit of events between two paced samples */

struct block {
    __u64 interval, left, pick;
    __u64 start;    /* pick_rate.start when this state was reset */
    __u64 begun_ns; /* when the block began; only with a pace */
    __s64 owed;     /* events that no sample stands for yet; below 0: events that two samples stand
                     * for */
};

/* Returns a random number below @limit. Divides only for limits of 2^32 and more, because a
 * division is slow. */
static __always_inline __u64 random_below(__u64 limit)
{
    __u64 random = bpf_get_prandom_u32();

    if (limit >> 32)
        return (random << 32 | bpf_get_prandom_u32()) % limit;
    return random * limit >> 32;
}

/* Draws a sample of @weight with @interval. Returns the record's value; 0: not sampled. */
static __always_inline __u64 draw_with(__u64 interval, __u64 weight)
{
    if (weight >= interval)
        return weight;
    return random_below(interval) < weight ? interval : 0;
}

/* Begins a block of @interval events. */
static __always_inline void begin_block(struct block *b, __u64 interval)
{
    b->interval = b->left = interval;
    b->pick = random_below(interval);
}

/* Returns the length of the next block, after @seen events took @took_ns. */
static __always_inline __u64 paced_length(__u64 seen, __u64 took_ns, __u64 pace_ns)
{
    __u64 most = seen * 2, length;

    if (most > PICK_MAX)
        most = PICK_MAX;
    if (!took_ns || seen > PICK_MAX)
        return most ? most : 1;
    length = seen * pace_ns / took_ns; /* no overflow: both factors are below 2^30 */
    if (length > most)
        length = most;
    return length ? length : 1;
}

/* Begins the next block if @b is complete at @at_ns, so that each block takes about @pace_ns. Its
 * length at most doubles, since a burst may be over soon. A block that takes too long is cut, and
 * later samples stand for its events. */
static __always_inline void follow_pace(struct block *b, __u64 pace_ns, __u64 at_ns)
{
    __u64 took_ns = at_ns - b->begun_ns, seen = b->interval - b->left;

    if (b->left) {
        if (took_ns <= PICK_LATE * pace_ns)
            return;
        b->owed += (__s64)seen - (b->left <= b->pick ? (__s64)b->interval : 0);
    }
    begin_block(b, paced_length(seen, took_ns, pace_ns));
    b->begun_ns = at_ns;
}

/* Takes from @b the owed events that the next sample also stands for, at most half a block. The
 * limit matters after a pause: the next sample may come from other code than the owed events. */
static __always_inline __s64 take_owed(struct block *b)
{
    __s64 most = (__s64)(b->interval / 2), part = b->owed;

    if (part > most)
        part = most;
    if (part < -most)
        part = -most;
    b->owed -= part;
    return part;
}

/* Returns true if this event is the picked one of its block. *ret_value: number of events that it
 * stands for; 0: as many as an interval. */
static __always_inline bool is_picked(struct block *b, const struct pick_rate *rate,
                                      __u64 *ret_value)
{
    __u64 interval = rate->interval, pace_ns = rate->pace_ns;

    *ret_value = 0;
    if (!pace_ns && interval <= 1)
        return true;
    if (b->start != rate->start || b->left > b->interval) {
        b->start = rate->start;
        b->interval = b->left = 0;
        b->begun_ns = b->owed = 0;
    }
    if (!pace_ns) {
        if (b->left == 0)
            begin_block(b, interval);
        return --b->left == b->pick;
    }
    follow_pace(b, pace_ns, bpf_ktime_get_ns());
    if (--b->left != b->pick)
        return false;
    *ret_value = b->interval + (__u64)take_owed(b);
    return true;
}
