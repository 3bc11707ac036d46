/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations of a JVM's safepoints, as histograms. The JVM counts safepoints as they begin, and
 * their time as they end. Pure; thread: any.
 */
#pragma once

#include "hotspot/counters.h"

#define PAUSES_BOUNDS 11

extern const uint64_t PAUSES_BOUNDS_NS[PAUSES_BOUNDS];

/* Counts by duration. The sum of counts and sum_ns equal those of the JVM, without open
 * safepoints. */
struct pause_histogram {
    uint64_t counts[PAUSES_BOUNDS + 1]; /* for each bound; the last count: above all bounds */
    uint64_t sum_ns;
    /* Open safepoints: begun, but in no bucket yet. Their number; their time so far; whether one of
     * them has ended; looks since without a change. */
    uint64_t open, open_ns;
    bool ended;
    unsigned quiet_looks;
};

struct pauses {
    struct pause_histogram whole, reach; /* from request to resume; from request to stop */
};

/* Adds the counts of a JVM of release @jdk between two looks. A single safepoint between the looks
 * counts with its own time; several count with their mean. */
void pauses_add(struct pauses *p, const struct counters *before, const struct counters *now,
                int jdk);
