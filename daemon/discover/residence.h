/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a JVM's memory is resident, by area. Pages are counted in /proc/PID/pagemap. The
 * kernel then holds the lock of the target's mappings for 2 MiB at a time. For smaps it holds the
 * lock for a whole heap. A count is done in slices, each a reading that may not come back
 * (proc/stall_readers.h). Thread: the engine's.
 */
#pragma once

#include "base/clock.h"
#include "discover/memory_areas.h"
#include "hotspot/heap_sample.h"

#define RESIDENCE_POINTS_MAX 120 /* points kept for each JVM */
/* A count holds for this long, while RSS changes by no more than 1/RESIDENCE_SAME_PARTS. */
#define RESIDENCE_SAME_NS (300 * NSEC_PER_SEC)
#define RESIDENCE_SAME_PARTS 100

struct residence_point {
    uint64_t time_ns; /* CLOCK_REALTIME */
    uint64_t rss_bytes;
    uint64_t bytes[MEMORY_AREA_COUNT];
};

struct residence {
    uint64_t at_ns;             /* CLOCK_MONOTONIC of the count's end */
    uint64_t held_ns;           /* CLOCK_MONOTONIC when RSS was last seen unchanged */
    uint64_t cpu_ns;            /* processor time of the count */
    struct residence_point now; /* the resident memory */
    uint64_t mapped[MEMORY_AREA_COUNT], swapped[MEMORY_AREA_COUNT]; /* bytes */
    uint32_t java_stacks;           /* Java threads with known stacks */
    uint32_t threads;               /* all */
    uint64_t huge_bytes;            /* bytes of hugetlbfs, which RSS does not include */
    uint64_t uncounted;             /* bytes of address space left out for lack of time */
    bool truncated;                 /* mappings beyond the limit were left out */
    struct heap_sample heap;        /* the newest sample of the heap */
    uint64_t heap_time_ns;          /* CLOCK_REALTIME of that sample; 0: there is none */
    size_t point_count, point_next; /* points form a ring */
    struct residence_point points[RESIDENCE_POINTS_MAX];
};

/* Returns true if the count @last still holds for a JVM that now has @rss_bytes. */
static inline bool residence_holds(const struct residence *last, uint64_t rss_bytes,
                                   uint64_t now_ns)
{
    uint64_t before = last->now.rss_bytes;

    return now_ns - last->at_ns < RESIDENCE_SAME_NS &&
           MAX(rss_bytes, before) - MIN(rss_bytes, before) <= before / RESIDENCE_SAME_PARTS;
}
