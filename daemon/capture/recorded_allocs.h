/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations for the flight recorder (recorder_alloc): a set of event alloc at a pace, and probes
 * in libjvm.so of JVMs that use CPU time. No agent. A JVM loses its probes
 * for a while if they are hit too often. Captures share the probes. Thread: the engine's.
 */
#pragma once

#include "base/error.h"
#include "base/places.h"
#include "discover/discover.h"

#define RECORDED_ALLOCS_HZ 20   /* samples a second that a JVM has on average, at most */
#define RECORDED_ALLOCS_MAX 128 /* JVMs at a time: half of the broker's limit */
#define RECORDED_ALLOCS_AFTER_NS (5 * NSEC_PER_SEC) /* a JVM gets probes after this time */
#define RECORDED_ALLOCS_LOOK_NS (2 * NSEC_PER_SEC)  /* between two looks at the hits of a JVM */
/* Hits of the probes of a JVM. Each takes about 1 us of its CPU time, so all take 1 % of a
 * processor. */
#define RECORDED_ALLOCS_HITS_MAX 10000 /* a second */
#define RECORDED_ALLOCS_REST_NS                                                                    \
    (600 * NSEC_PER_SEC) /* length of a rest without probes, after too many hits */

#define RECORDED_RESTS_MAX 1024 /* number of last rests that are stored */

struct captures;

/* A time (CLOCK_MONOTONIC) in which a JVM rests, that is, has no probes. The JVM may have ended
 * before. */
struct recorded_rest {
    struct proc_id id;
    uint64_t from_ns, to_ns;
};

/* A JVM of the recorder. */
struct recorded_alloc {
    struct proc_id id;
    uint64_t payer;           /* process_payer() */
    uint64_t since_ns;        /* CLOCK_MONOTONIC when it got its place */
    uint64_t looked_ns, hits; /* time of the last look, hits at that look; 0: none yet */
    uint64_t per_second;      /* hits a second before that look */
    uint64_t rests_ns;        /* CLOCK_MONOTONIC, end of its rest; 0: it does not rest */
    bool seen;                /* the current reconciliation wants it */
};

struct recorded_allocs {
    bool on;
    bool runs;            /* the set samples */
    uint32_t set;         /* number of the set while it samples */
    uint64_t again_ns;    /* CLOCK_MONOTONIC of the next try to start the set */
    struct error problem; /* why the set does not run; code 0: no reason is known */
    struct recorded_alloc jvms[RECORDED_ALLOCS_MAX];
    size_t count;
    struct places places; /* owners' shares of `jvms` */
    /* JVMs that rest and have lost their place; a new one replaces the oldest. */
    struct recorded_alloc resting[RECORDED_ALLOCS_MAX];
    size_t oldest;
    uint64_t left_out; /* JVMs without a place, at the last reconciliation */
    uint64_t rested;   /* how often a JVM lost its probes for too many hits */
    struct recorded_rest rests[RECORDED_RESTS_MAX]; /* a new one replaces the oldest */
};

/* Begins a reconciliation: starts the set if it does not run. This and the following functions do
 * nothing if @c records no allocations. */
void recorded_allocs_begin(struct captures *c, uint64_t now_ns);
/* Keeps the probes of @p, or requests them, before CLOCK_MONOTONIC @until_ns. */
void recorded_allocs_want(struct captures *c, struct process *p, uint64_t now_ns,
                          uint64_t until_ns);
/* Ends the reconciliation, and frees the places of JVMs that were not wanted. */
void recorded_allocs_end(struct captures *c);
/* Returns whether the samples of @set are the recorder's allocations. */
static inline bool recorded_allocs_have(const struct recorded_allocs *a, uint32_t set)
{
    return a->runs && a->set == set;
}
/* Returns whether allocations of JVM @id are recorded now. */
bool recorded_allocs_of(const struct recorded_allocs *a, const struct proc_id *id);
/* Sets @err to why allocations of JVM @p are not recorded. Returns 0 if they are. */
int recorded_allocs_why(const struct captures *c, const struct process *p, struct error *err);
