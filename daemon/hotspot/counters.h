/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JVM counts about itself, out of the bytes of PerfMemory (the same as its hsperfdata file).
 * Its heap by generation and space, metaspace, collections, safepoints, threads, classes,
 * compiling. The JVM may say anything: all is bounded. Pure; thread: any.
 */
#pragma once

#include "base/span.h"

#define COUNTERS_UNKNOWN ((int64_t)-1)
#define COUNTERS_GENERATIONS_MAX 3 /* HotSpot has one or two; JDK 7 had three */
#define COUNTERS_SPACES_MAX 4      /* of one; HotSpot has one to three */
#define COUNTERS_COLLECTORS_MAX 6  /* two to four */
#define COUNTERS_NAME_MAX 64
#define COUNTERS_PLACES_MAX 160 /* HotSpot has about 90 */
#define COUNTERS_NO_CAUSE "No GC"

/* Bytes of a part of memory; COUNTERS_UNKNOWN where they are not told. */
struct counted_pool {
    char name[COUNTERS_NAME_MAX]; /* letters, digits, space, any of _-:.(); "": it does not exist */
    int64_t used, committed, max;
};

struct counted_generation {
    struct counted_pool whole;
    struct counted_pool spaces[COUNTERS_SPACES_MAX];
};

struct counted_collector {
    char name[COUNTERS_NAME_MAX]; /* as of a pool */
    int64_t count, time_ns;
    /* When the last one began and ended, after the VM's start; 0: there was none. */
    int64_t entry_ns, exit_ns;
};

/* Numbers are COUNTERS_UNKNOWN where the JVM does not tell them. */
struct counters {
    char policy[COUNTERS_NAME_MAX]; /* "GarbageFirst"; as the name of a pool */
    /* Why it collects now, COUNTERS_NO_CAUSE if it does not, and why it did the last time. */
    char cause[COUNTERS_NAME_MAX], last_cause[COUNTERS_NAME_MAX];
    int64_t vm_begin_ms; /* when it started, of CLOCK_REALTIME */
    struct counted_generation generations[COUNTERS_GENERATIONS_MAX];
    struct counted_pool metaspace, class_space;
    struct counted_collector collectors[COUNTERS_COLLECTORS_MAX];
    /* When threads go on, a safepoint's time is added to safepoint_ns: since JDK 13 without the
     * time until they had stopped. That is added to safepoint_sync_ns, when they have. */
    int64_t safepoints, safepoint_ns, safepoint_sync_ns, application_ns;
    int64_t threads_live, threads_daemon, threads_peak, threads_started;
    int64_t classes_loaded, classes_unloaded, shared_classes_loaded, shared_classes_unloaded;
    int64_t compiled, compile_ns;
    /* Bytes that Java threads have allocated on the heap, as far as looks met them
     * (hotspot/allocated.h). When the last look was, CLOCK_MONOTONIC; 0: never. */
    int64_t allocated;
    uint64_t allocated_ns;
    int64_t code_cache_committed, code_cache_max; /* bytes; not of these bytes: the VM's caller */
    uint32_t left_out; /* generations, spaces, collectors that found no room */
};

/* Where a JVM keeps them, as one reading found out: most entries are other counters. All zero:
 * nothing is known yet. */
struct counters_places {
    uint32_t entries; /* of all kinds that there were */
    uint32_t count;   /* that are read; more than COUNTERS_PLACES_MAX: too many to be kept */
    uint32_t at[COUNTERS_PLACES_MAX];
};

/* Reads @memory into *@ret. @places: of earlier bytes of the same JVM, renewed if they do not hold
 * any more; NULL: not kept. False: there are no counters, then *@ret is untouched. */
bool counters_parse(struct span memory, struct counters_places *places, struct counters *ret);
/* Returns the time of safepoints from the wish to stop until threads went on, in ns, of a JVM of
 * release @jdk. JDK 13 to 21 do not count what they clean up before the operation. */
int64_t counters_pause_ns(const struct counters *c, int jdk);

/* Returns by how much a counter rose; 0 where it is not told. */
static inline uint64_t counters_risen(int64_t before, int64_t now)
{
    return before == COUNTERS_UNKNOWN || now <= before ? 0 : (uint64_t)(now - before);
}
