/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a JVM's memory is resident, by area. The pages themselves are counted, by
 * /proc/PID/pagemap. There the kernel holds the lock of the target's mappings for 2 MiB at a time,
 * and not for a whole heap as smaps does. It goes in slices, each a reading that may not come back
 * (proc/stall_readers.h). Thread: the engine's.
 */
#pragma once

#include "base/clock.h"
#include "discover/memory_areas.h"

#define RESIDENCE_POINTS_MAX 120 /* that are kept of a JVM */
/* What was counted may stand for this long, while RSS stays the same within one part in so many. */
#define RESIDENCE_SAME_NS (300 * NSEC_PER_SEC)
#define RESIDENCE_SAME_PARTS 100

struct residence_point {
    uint64_t time_ns; /* CLOCK_REALTIME */
    uint64_t rss_bytes;
    uint64_t bytes[MEMORY_AREA_COUNT];
};

struct residence {
    uint64_t at_ns;             /* CLOCK_MONOTONIC of its end */
    uint64_t held_ns;           /* the same of when RSS was last seen to be what it was then */
    uint64_t cpu_ns;            /* of processor time that it took */
    struct residence_point now; /* what is resident */
    uint64_t mapped[MEMORY_AREA_COUNT], swapped[MEMORY_AREA_COUNT]; /* bytes */
    uint32_t java_stacks;           /* Java threads whose stacks are known */
    uint32_t threads;               /* all */
    uint64_t huge_bytes;            /* of hugetlbfs, and so in no RSS */
    uint64_t uncounted;             /* bytes of address space that there was no time for */
    bool truncated;                 /* it has more mappings than are looked at */
    size_t point_count, point_next; /* of a ring */
    struct residence_point points[RESIDENCE_POINTS_MAX];
};

/* Returns whether what was counted of a JVM may stand for what it has now, which is @rss_bytes. */
static inline bool residence_holds(const struct residence *last, uint64_t rss_bytes,
                                   uint64_t now_ns)
{
    uint64_t before = last->now.rss_bytes;

    return now_ns - last->at_ns < RESIDENCE_SAME_NS &&
           MAX(rss_bytes, before) - MIN(rss_bytes, before) <= before / RESIDENCE_SAME_PARTS;
}
