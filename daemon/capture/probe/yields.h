/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes where virtual threads leave their carriers and come back (source=probe of events of
 * waiting), only in JVMs of running captures. Hits are counted in a trial at first, and then while
 * the probes are installed. A JVM with too many hits loses its probes. Thread: the engine's.
 */
#pragma once

#include "capture/probe/probe_table.h"
#include "hotspot/hotspot.h"

#define YIELDS_MAX 32               /* JVMs at a time: the broker's limit */
#define YIELDS_PER_SECOND_MAX 50000 /* hits of probes; a yield has two or more */
#define YIELDS_TRIAL_NS (200 * NSEC_PER_MSEC)
/* Time from the decision until the probes are removed, for sampling the waits that have not
 * ended. */
#define YIELDS_CLOSING_NS (200 * NSEC_PER_MSEC)

struct yields_probe {
    struct probe_entry entry;    /* first */
    struct hotspot_yields at;    /* freeze 0: not found yet */
    uint64_t looked_ns;          /* CLOCK_MONOTONIC of the last look; 0: none yet */
    struct yields_counts counts; /* counts at that look */
    uint64_t since_ns; /* CLOCK_MONOTONIC from which on waits are sampled; 0: the trial goes on */
    uint64_t over_ns;  /* CLOCK_MONOTONIC when hits were too many; 0: they are not */
    uint32_t tries;    /* trials that were begun again */
    bool unread;       /* its frozen stacks are not described yet, so trials do not count */
};

extern const struct probe_kind YIELDS;

/* Returns the entry of process image @id; NULL: there is none. */
const struct yields_probe *yields_find(const struct probe_table *t, const struct proc_id *id);
/* Stores whether the frozen stacks of @id are described. Does nothing without an entry. */
void yields_described(struct probe_table *t, const struct proc_id *id, bool described);
/* Returns whether waits of @y are sampled now. */
static inline bool yields_stand(const struct yields_probe *y)
{
    return y && y->entry.asked.there && y->since_ns && !y->over_ns;
}
