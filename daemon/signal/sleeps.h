/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the system slept. CLOCK_MONOTONIC stands then, so a time of it is further back on the wall
 * clock than it seems. Pure: callers pass the time. Thread: the owner's.
 */
#pragma once

#include "base/macros.h"

#define SLEEPS_KEPT 32                          /* later sleeps replace the oldest */
#define SLEEPS_LEAST_NS ((int64_t)NSEC_PER_SEC) /* the clocks are read one after the other */

struct sleeps {
    uint64_t offset_ns; /* CLOCK_BOOTTIME minus CLOCK_MONOTONIC */
    struct sleep_seen {
        uint64_t at_ns, slept_ns; /* CLOCK_MONOTONIC when it was noticed, and its length */
    } past[SLEEPS_KEPT];
    size_t count; /* number of sleeps that were noticed */
};

/* Begins. @offset_ns: CLOCK_BOOTTIME minus CLOCK_MONOTONIC. */
void sleeps_begin(struct sleeps *s, uint64_t offset_ns);
/* Notices a sleep since the last call, by the present @offset_ns. */
void sleeps_look(struct sleeps *s, uint64_t now_ns, uint64_t offset_ns);
/* Converts the past CLOCK_MONOTONIC time @at_ns to the wall clock, which is @real_ns at
 * @monotonic_ns. */
uint64_t sleeps_real_of(const struct sleeps *s, uint64_t at_ns, uint64_t monotonic_ns,
                        uint64_t real_ns);
