/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a JVM's counters over its spaces and collectors. Pure; thread: any. */
#pragma once

#include "base/macros.h"

struct counters;

/* A number that the JVM does not have is COUNTERS_UNKNOWN. */
struct counter_sums {
    int64_t heap_used, heap_committed; /* bytes */
    int64_t heap_kept;                 /* used bytes of all spaces but eden */
    int64_t old_used, old_max;         /* bytes of the old generation, and its largest size */
    int64_t old_left; /* bytes that the last collection left in it; unknown if that was one
                       * of the young generation alone */
    int64_t metaspace_used, metaspace_committed;
    int64_t code_cache_committed, code_cache_max;
    int64_t collections, collection_ns; /* since the JVM's start */
    /* Collections that also free old objects: those of all collectors but the first. If there is
     * only one collector, all of its collections. */
    int64_t old_collections;
    int64_t safepoints, safepoint_sync_ns;
    int64_t classes_loaded, compiled, compile_ns;
    int64_t threads_live, threads_started;
    int64_t allocated;     /* as in struct counters */
    uint64_t allocated_ns; /* time of the last look, as in struct counters */
};

/* Adds up the counters @c. */
void counter_sums_of(const struct counters *c, struct counter_sums *ret);
