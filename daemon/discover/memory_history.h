/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM's memory over time, by its counters, in bounded room. Points are a second apart at first.
 * When the room is full, every second point is dropped, and new points come half as often. So the
 * history of a JVM of any age covers all the time that it was seen, up to about an hour. Pure.
 */
#pragma once

#include "base/array.h"
#include "base/clock.h"
#include "hotspot/counters.h"

#define MEMORY_HISTORY_MAX 240 /* points */
#define MEMORY_HISTORY_STEP_NS NSEC_PER_SEC
#define MEMORY_HISTORY_STEP_MAX_NS (16 * NSEC_PER_SEC) /* at this step, drops the oldest points */
#define MEMORY_RATE_LEAST_NS (2 * NSEC_PER_SEC)        /* shortest span of a rate */
#define MEMORY_RATE_MOST_NS (60 * NSEC_PER_SEC) /* longest span of a rate, and its greatest age */

/* Numbers are COUNTERS_UNKNOWN if the JVM does not provide them. */
struct memory_point {
    uint64_t at_ns; /* CLOCK_MONOTONIC */
    uint64_t rss_bytes;
    int64_t heap_used, heap_committed, metaspace, code_cache; /* bytes */
    int64_t allocated;                                        /* bytes, as in struct counters */
    uint64_t allocated_ns;                                    /* time of that number */
    int64_t collections, collection_ns;                       /* since its start */
    int64_t threads_live, threads_started;
};

struct memory_history {
    struct memory_point *points; /* owned; the oldest first */
    size_t count, room;
    uint64_t step_ns;         /* time between two points; 0: MEMORY_HISTORY_STEP_NS */
    uint64_t rss_ns;          /* when rss_bytes was read last */
    struct memory_point last; /* the newest point, kept or not; at_ns 0: none */
};

/* Returns the point of @c, for a JVM with @rss_bytes resident. */
struct memory_point memory_point_of(const struct counters *c, uint64_t at_ns, uint64_t rss_bytes);
/* Stores the resident memory that was read at @at_ns, for the next points. */
void memory_history_set_rss(struct memory_history *h, uint64_t rss_bytes, uint64_t at_ns);
/* Returns true if a point of @at_ns would be kept. */
bool memory_history_due(const struct memory_history *h, uint64_t at_ns);
/* Stores @p as the newest point, and keeps it if it is due and memory suffices. */
void memory_history_add(struct memory_history *h, const struct memory_point *p);
/* Gets the bytes that the JVM has allocated per second lately, and the span of that rate. Returns
 * false if it is unknown, or not read within MEMORY_RATE_MOST_NS before @now_ns. */
bool memory_history_rate(const struct memory_history *h, uint64_t now_ns, double *ret_per_second,
                         double *ret_seconds);
/* Frees the points, and empties the history. */
void memory_history_deinit(struct memory_history *h);
