/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters that a JVM keeps about itself, parsed from the bytes of PerfMemory (also in its
 * hsperfdata file). They cover its heap by generation and space, metaspace, collections,
 * safepoints, threads, classes and compiling. The bytes are foreign, so all reads are bounded.
 * Pure; thread: any.
 */
#pragma once

#include "base/span.h"

#define COUNTERS_UNKNOWN ((int64_t)-1)
#define COUNTERS_GENERATIONS_MAX 3 /* HotSpot has one or two; JDK 7 had three */
#define COUNTERS_SPACES_MAX 4      /* spaces of one generation; HotSpot has one to three */
#define COUNTERS_COLLECTORS_MAX 6  /* HotSpot has two to four */
#define COUNTERS_NAME_MAX 64
#define COUNTERS_PLACES_MAX 160 /* HotSpot has about 90 */
#define COUNTERS_NO_CAUSE "No GC"

/* A part of memory, in bytes; a number that is unknown is COUNTERS_UNKNOWN. */
struct counted_pool {
    char name[COUNTERS_NAME_MAX]; /* letters, digits, space, any of _-:.(); "": no such pool */
    int64_t used, committed, max;
};

struct counted_generation {
    struct counted_pool whole;
    struct counted_pool spaces[COUNTERS_SPACES_MAX];
};

struct counted_collector {
    char name[COUNTERS_NAME_MAX]; /* characters as in struct counted_pool */
    int64_t count, time_ns;
    /* Begin and end of the last collection, after the VM's start; 0: none yet. */
    int64_t entry_ns, exit_ns;
};

/* Counters of one JVM. A number that the JVM does not have is COUNTERS_UNKNOWN. */
struct counters {
    char policy[COUNTERS_NAME_MAX]; /* "GarbageFirst"; characters as in struct counted_pool */
    /* cause: of the running collection, COUNTERS_NO_CAUSE if none runs. last_cause: of the last
     * collection. */
    char cause[COUNTERS_NAME_MAX], last_cause[COUNTERS_NAME_MAX];
    int64_t vm_begin_ms; /* start of the VM, CLOCK_REALTIME */
    struct counted_generation generations[COUNTERS_GENERATIONS_MAX];
    struct counted_pool metaspace, class_space;
    struct counted_collector collectors[COUNTERS_COLLECTORS_MAX];
    /* A safepoint's time is added to safepoint_ns when threads resume. Since JDK 13, the time until
     * all threads had stopped is added to safepoint_sync_ns instead, as soon as they have
     * stopped. */
    int64_t safepoints, safepoint_ns, safepoint_sync_ns, application_ns;
    int64_t threads_live, threads_daemon, threads_peak, threads_started;
    int64_t classes_loaded, classes_unloaded, shared_classes_loaded, shared_classes_unloaded;
    int64_t compiled, compile_ns;
    /* Bytes that Java threads have allocated on the heap, as far as looks saw them
     * (hotspot/allocated.h). allocated_ns: CLOCK_MONOTONIC of the last look; 0: never. */
    int64_t allocated;
    uint64_t allocated_ns;
    int64_t code_cache_committed, code_cache_max; /* bytes; set by hotspot_vm_counters() only */
    uint32_t left_out; /* generations, spaces and collectors beyond the limits */
};

/* Places of the known counters in a JVM's memory, from an earlier reading. They save reading the
 * other entries, which are the most. All zero: nothing is known yet. */
struct counters_places {
    uint32_t entries; /* number of entries of all kinds */
    uint32_t count;   /* number of known counters; above COUNTERS_PLACES_MAX: too many to keep */
    uint32_t at[COUNTERS_PLACES_MAX];
};

/* Parses @memory into *@ret. @places: from an earlier reading of the same JVM, renewed if no longer
 * valid; NULL: not kept. Returns false, with *@ret untouched, if @memory has no counters. */
bool counters_parse(struct span memory, struct counters_places *places, struct counters *ret);
/* Returns the total time of safepoints in ns, from the request to stop until threads resumed, for
 * JDK release @jdk. JDK 13 to 21 do not count cleanup before the operation. */
int64_t counters_pause_ns(const struct counters *c, int jdk);

/* Returns how many classes were loaded so far, with shared ones; COUNTERS_UNKNOWN: unknown. */
int64_t counters_loaded(const struct counters *c);

/* Returns the rise of a counter; 0 if the counter was unknown, or did not rise. */
static inline uint64_t counters_risen(int64_t before, int64_t now)
{
    return before == COUNTERS_UNKNOWN || now <= before ? 0 : (uint64_t)(now - before);
}
