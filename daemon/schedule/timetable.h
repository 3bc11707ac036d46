/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a schedule runs. Times are aligned to the epoch: run n is at n * every + phase of the wall
 * clock. The phase follows from the node and the name. So a restart keeps the rhythm, and a fleet
 * does not sample in step. Pure: callers pass the time, so that tests make their own.
 */
#pragma once

#include "base/span.h"

#define TIMETABLE_LATE_MAX_NS NSEC_PER_SEC /* a run that cannot begin by then is missed */
#define TIMETABLE_RETRY_NS (100 * NSEC_PER_MSEC)

/* Both clocks at one moment. */
struct clocks {
    uint64_t monotonic_ns, real_ns;
};

/* One schedule's place in time. */
struct slot {
    uint64_t every_ns, for_ns, phase_ns; /* phase_ns < every_ns */
    uint64_t next_ns;                    /* wall clock of the next run */
    uint64_t started_ns;                 /* monotonic: of the last run; 0: none yet */
    uint64_t retry_ns;                   /* monotonic: not before; 0: at once */
    uint64_t offset_ns;                  /* wall clock less monotonic, as last seen (wraps) */
};

/* Returns the same for the same node, name and period, on every machine and at any time; <
 * @every_ns. */
uint64_t timetable_phase(struct span node, const char *name, uint64_t every_ns);

void slot_init(struct slot *s, uint64_t every_ns, uint64_t for_ns, uint64_t phase_ns,
               struct clocks now);
/* Returns true when a run is to begin now; then one of the three below follows. *ret_missed: how
 * many runs have passed since that can no longer begin (not those of a machine that slept). After a
 * jump of the wall clock the rhythm is found again at once. Runs are then never nearer than half a
 * period (or than the length of one), nor further apart than two. */
bool slot_due(struct slot *s, struct clocks now, uint64_t *ret_missed);
/* It has begun. */
void slot_started(struct slot *s, struct clocks now);
/* There is nothing to begin, or no way to: the next one comes in its turn. */
void slot_skip(struct slot *s);
/* It could not begin yet: asked again in 100 ms, until it is too late. */
void slot_retry(struct slot *s, struct clocks now);
/* Monotonic time of the next question that slot_due() should be asked. */
uint64_t slot_wake_ns(const struct slot *s, struct clocks now);
