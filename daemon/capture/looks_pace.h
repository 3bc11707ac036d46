/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the cost of passes over threads (looks.h): how often passes come, and how many stacks each
 * walks. Pure.
 */
#pragma once

#include "base/clock.h"

/* Passes take 0.08 % of a processor at most, on average over their interval, unless the interval
 * has reached 4 s. Walks take a 400th on average, in all threads, and at once as much as 40 s
 * allow. */
#define LOOKS_PASS_SHARE 1250
#define LOOKS_MEAN_MIN_NS NSEC_PER_SEC
#define LOOKS_MEAN_MAX_NS (4 * NSEC_PER_SEC)
#define LOOKS_WALKS_SHARE 400
#define LOOKS_WALKS_AT_ONCE_NS (100 * NSEC_PER_MSEC)
#define LOOKS_WALKS_OWED_NS (20 * NSEC_PER_MSEC) /* a larger debt is dropped */
#define LOOKS_WALKS_MAX 1000                     /* stacks walked in one pass */
/* A pass walks for this time on average. If a pass ended by time, the same threads would be left
 * out each time. */
#define LOOKS_WALKS_NS (50 * NSEC_PER_MSEC)

/* The work of a pass. own_ns does not include walks. */
struct looks_work {
    uint64_t ns, own_ns; /* length of the pass; processor time of its thread */
    uint64_t walks;
    uint64_t walks_own_ns, walks_readers_ns; /* processor time of walks, by thread */
};

struct looks_pace {
    double budget_ns;   /* processor time that walks may take now */
    double walk_ns;     /* length of the pass for each walk, by the last passes; 0: unknown */
    double walk_cpu_ns; /* processor time of a walk; 0: unknown */
    double pass_ns;     /* processor time of a pass; 0: unknown */
};

void looks_pace_init(struct looks_pace *p);
/* Returns how many stacks may be walked now. 0: walks have used up their budget. @since_ns: time
 * since the last pass. */
double looks_pace_walks(struct looks_pace *p, uint64_t since_ns);
/* Updates the estimates from the work of a pass. */
void looks_pace_learn(struct looks_pace *p, const struct looks_work *work);
/* Returns the time until the next pass. The time is random, so that passes do not run in step with
 * threads that wait by a clock. @chance: a random number. */
uint64_t looks_pace_next(const struct looks_pace *p, uint64_t chance);
