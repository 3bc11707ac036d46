/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JVM's counters said of its memory over time, in bounded room. Points are a second apart at
 * first. When there is no room for more, every second one is dropped, and new ones come half as
 * often. So a JVM of any age has a history of all that was seen of it, up to about an hour. Pure.
 */
#pragma once

#include "base/array.h"
#include "base/clock.h"
#include "hotspot/counters.h"

#define MEMORY_HISTORY_MAX 240 /* points */
#define MEMORY_HISTORY_STEP_NS NSEC_PER_SEC
#define MEMORY_HISTORY_STEP_MAX_NS (16 * NSEC_PER_SEC) /* then the oldest point goes */
#define MEMORY_RATE_LEAST_NS (2 * NSEC_PER_SEC)        /* a rate is of no shorter time */
#define MEMORY_RATE_MOST_NS (60 * NSEC_PER_SEC)        /* nor of a longer one, nor an older one */

/* Numbers are COUNTERS_UNKNOWN where the JVM does not tell them. */
struct memory_point {
    uint64_t at_ns; /* CLOCK_MONOTONIC */
    uint64_t rss_bytes;
    int64_t heap_used, heap_committed, metaspace, code_cache; /* bytes */
    int64_t allocated;                                        /* as in struct counters, */
    uint64_t allocated_ns;                                    /* and when */
    int64_t collections, collection_ns;                       /* since its start */
    int64_t threads_live, threads_started;
};

struct memory_history {
    struct memory_point *points; /* owned; the oldest first */
    size_t count, room;
    uint64_t step_ns;         /* between two; 0: MEMORY_HISTORY_STEP_NS */
    uint64_t rss_ns;          /* when its caller last read rss_bytes */
    struct memory_point last; /* the newest of all that were seen; at_ns 0: none */
};

/* Returns what @c says, of a JVM that has @rss_bytes in memory. */
struct memory_point memory_point_of(const struct counters *c, uint64_t at_ns, uint64_t rss_bytes);
/* Returns whether a point of @at_ns would be kept. */
bool memory_history_due(const struct memory_history *h, uint64_t at_ns);
/* Notes @p, and keeps it if it is due. Without memory for it the history stays as it was. */
void memory_history_add(struct memory_history *h, const struct memory_point *p);
/* Gets how much the JVM has allocated a second lately, and over which time. False: it is not known,
 * or was not looked at within MEMORY_RATE_MOST_NS before @now_ns. */
bool memory_history_rate(const struct memory_history *h, uint64_t now_ns, double *ret_per_second,
                         double *ret_seconds);
/* Frees what it holds, and begins again. */
void memory_history_deinit(struct memory_history *h);
