/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Picks the short waits of a thread that become samples. The waits of a thread, joined end to end,
 * are cut into blocks as long as the interval. A random point of each block is drawn. The wait at
 * this point is sampled, and stands for the interval. A switch needs only the distance to the next
 * point.
 */
#pragma once

#include "sample/pick.bpf.h"

/* before: distance to the next point, in ns of short waits. behind: from there to the end of its
 * block. */
struct points {
    __u64 before, behind; /* both 0: no point is drawn yet */
};

/* Draws the point of the block that begins after another @rest ns of waits. */
static __always_inline void next_point(struct points *p, __u64 rest, __u64 interval)
{
    __u64 at = random_below(interval);

    p->before = rest + at;
    p->behind = interval - at;
}

/* Returns true if a point is drawn, with this interval. */
static __always_inline bool has_point(const struct points *p, __u64 interval)
{
    return p->before + p->behind - 1 < 2 * interval;
}

/* Returns true if a wait is short, and ends before the next point. */
static __always_inline bool meets_none(const struct points *p, __u64 wait_ns, __u64 interval)
{
    return wait_ns < interval && wait_ns < p->before && has_point(p, interval);
}

/* Returns the number of points in a wait that is shorter than @interval. */
static __always_inline __u64 points_in(struct points *p, __u64 wait_ns, __u64 interval)
{
    __u64 n = 0;

    if (!has_point(p, interval))
        next_point(p, 0, interval);
    while (wait_ns >= p->before && n < 2) { /* a wait shorter than a block meets at most two
                                             * blocks */
        wait_ns -= p->before;
        next_point(p, p->behind, interval);
        n++;
    }
    p->before -= wait_ns;
    return n;
}
