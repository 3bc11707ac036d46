/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes over threads (looks.h) may cost: how often they come, and how many stacks each walks.
 * Pure.
 */
#pragma once

#include "base/clock.h"

/* Passes take 0.08 % of a processor at most, by their mean interval, unless that reached 4 s.
 * Walks take a 400th on average, in all threads, and as much at once as in 40 s. */
#define LOOKS_PASS_SHARE 1250
#define LOOKS_MEAN_MIN_NS NSEC_PER_SEC
#define LOOKS_MEAN_MAX_NS (4 * NSEC_PER_SEC)
#define LOOKS_WALKS_SHARE 400
#define LOOKS_WALKS_AT_ONCE_NS (100 * NSEC_PER_MSEC)
#define LOOKS_WALKS_OWED_NS (20 * NSEC_PER_MSEC) /* more is forgiven, as after the first pass */
#define LOOKS_WALKS_MAX 1000                     /* stacks walked per pass */
/* A pass walks for this long on average. An end by time would leave out the same threads each
 * time. */
#define LOOKS_WALKS_NS (50 * NSEC_PER_MSEC)

/* The work of a pass. Times of walks are not in own_ns. */
struct looks_work {
    uint64_t ns, own_ns; /* its length; processor time of the thread that makes it */
    uint64_t walks;
    uint64_t walks_own_ns, walks_readers_ns; /* processor time of walks, by thread */
};

struct looks_pace {
    double budget_ns;   /* processor time that walks may take now */
    double walk_ns;     /* length of a pass for each walk, by the last passes; 0: not known */
    double walk_cpu_ns; /* processor time of a walk; 0: not known */
    double pass_ns;     /* processor time of a pass; 0: not known */
};

void looks_pace_init(struct looks_pace *p);
/* Returns how many stacks may be walked now. 0: walks are in debt. @since_ns: time since the last
 * pass. */
double looks_pace_walks(struct looks_pace *p, uint64_t since_ns);
/* Learns from the work of a pass. */
void looks_pace_learn(struct looks_pace *p, const struct looks_work *work);
/* Returns the time until the next pass. It is random, so that threads that wait by a clock are not
 * met in step. @chance: a random number. */
uint64_t looks_pace_next(const struct looks_pace *p, uint64_t chance);
