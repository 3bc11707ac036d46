/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM's counters added up over spaces and collectors. Pure; thread: any. */
#pragma once

#include "base/macros.h"

struct counters;

/* Numbers are COUNTERS_UNKNOWN where the JVM does not tell them. */
struct counter_sums {
    int64_t heap_used, heap_committed; /* bytes */
    int64_t heap_kept;                 /* of it in use without eden */
    int64_t metaspace_used, metaspace_committed;
    int64_t code_cache_committed, code_cache_max;
    int64_t collections, collection_ns; /* since its start */
    /* Of them those that free what is old, too: all but the first kind, or all of a collector that
     * has one kind. */
    int64_t old_collections;
    int64_t safepoints, safepoint_sync_ns;
    int64_t classes_loaded, compiled, compile_ns;
    int64_t threads_live, threads_started;
    int64_t allocated;     /* as in struct counters, */
    uint64_t allocated_ns; /* and when */
};

/* Adds them up. */
void counter_sums_of(const struct counters *c, struct counter_sums *ret);
