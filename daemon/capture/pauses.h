/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the safepoints of a JVM took, as histograms. The JVM counts how many have begun, and the
 * time of those that are over. Pure; thread: any.
 */
#pragma once

#include "hotspot/counters.h"

#define PAUSES_BOUNDS 11

extern const uint64_t PAUSES_BOUNDS_NS[PAUSES_BOUNDS];

/* Numbers by duration. Their sum and sum_ns are the JVM's, but for those that go on. */
struct pause_histogram {
    uint64_t counts[PAUSES_BOUNDS + 1]; /* the last: above all bounds */
    uint64_t sum_ns;
    /* Begun and in no bucket yet; their time so far; whether any of them is over; looks at which
     * nothing was new since. */
    uint64_t open, open_ns;
    bool ended;
    unsigned quiet_looks;
};

struct pauses {
    struct pause_histogram whole, reach; /* from the wish to stop until all go on; have stopped */
};

/* Adds what a JVM of release @jdk counted between two looks. A safepoint that is alone between two
 * looks counts as what it took. Of several, each counts as their mean. */
void pauses_add(struct pauses *p, const struct counters *before, const struct counters *now,
                int jdk);
