/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a schedule runs: run n starts at n * every + phase of the wall clock, counted from the
 * epoch. The phase is a hash of node and schedule. A restart keeps the times, and nodes of a fleet
 * do not sample in step. Pure: callers pass the time, and tests pass their own.
 */
#pragma once

#include "base/span.h"

#define TIMETABLE_LATE_MAX_NS NSEC_PER_SEC /* a run that cannot start by then is missed */
#define TIMETABLE_RETRY_NS (100 * NSEC_PER_MSEC)

/* Both clocks, read at the same time. */
struct clocks {
    uint64_t monotonic_ns, real_ns;
};

/* State of one schedule. */
struct slot {
    uint64_t every_ns, for_ns, phase_ns; /* phase_ns < every_ns */
    uint64_t next_ns;                    /* wall clock: next run */
    uint64_t started_ns;                 /* monotonic: last run; 0: none yet */
    uint64_t retry_ns;                   /* monotonic: earliest retry; 0: at once */
    uint64_t offset_ns;                  /* wall clock minus monotonic at the last call (wraps) */
};

/* Returns the phase, below @every_ns. It depends on the arguments alone, so that it is equal on
 * every machine and after a restart. */
uint64_t timetable_phase(struct span node, const char *name, uint64_t every_ns);

void slot_init(struct slot *s, uint64_t every_ns, uint64_t for_ns, uint64_t phase_ns,
               struct clocks now);
/* Returns true when a run is to start now; the caller then calls one of the three functions below.
 * *ret_missed: runs that passed since the last call and can no longer start, except during sleep of
 * the machine. A jump of the wall clock realigns the schedule. Runs are at least half a period (and
 * one duration) and at most two periods apart. */
bool slot_due(struct slot *s, struct clocks now, uint64_t *ret_missed);
/* Records that the due run has begun. */
void slot_started(struct slot *s, struct clocks now);
/* Skips the due run: there is nothing to capture, or no way to. */
void slot_skip(struct slot *s);
/* Delays the due run by 100 ms. It is missed once TIMETABLE_LATE_MAX_NS has passed. */
void slot_retry(struct slot *s, struct clocks now);
/* Returns the monotonic time at which to call slot_due() next. */
uint64_t slot_wake_ns(const struct slot *s, struct clocks now);
