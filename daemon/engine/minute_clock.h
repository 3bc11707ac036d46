/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall clock in the minutes of the history. It may be set, and CLOCK_MONOTONIC, which stamps
 * samples, stands while the system sleeps. So a minute ends when the system falls asleep, and each
 * minute has its own offset between the clocks: that at its end. Pure: callers pass the time.
 * Thread: the owner's.
 */
#pragma once

#include "base/macros.h"

#define MINUTE_CLOCK_KEPT                                                                          \
    80 /* minutes with a known offset; a JVM's end is asked for 70 minutes                         \
        */

struct clock_times {
    uint64_t monotonic_ns, boot_ns, real_ns; /* read in this order */
};

struct minute_clock {
    struct clock_times begun; /* begin of the minute under way */
    struct minute_offset {
        uint64_t begun_ns;  /* CLOCK_MONOTONIC */
        uint64_t offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC (wraps) */
    } past[MINUTE_CLOCK_KEPT];
    size_t ended; /* number of minutes that have ended */
};

/* Begins a minute. */
void minute_clock_begin(struct minute_clock *c, const struct clock_times *now);
/* Returns whether the minute is over: it has its length, the wall clock shows another minute, or
 * the system slept. */
bool minute_clock_is_over(const struct minute_clock *c, const struct clock_times *now);
/* Ends the minute. *ret_start_ns, *ret_end_ns: its times on the wall clock. *ret_jump_ns: by how
 * much that clock was set. */
void minute_clock_end(struct minute_clock *c, const struct clock_times *now, uint64_t *ret_start_ns,
                      uint64_t *ret_end_ns, int64_t *ret_jump_ns);
/* Returns the time on the wall clock that belongs to @monotonic_ns in its minute, which has ended.
 * Later steps of the wall clock do not change it. */
uint64_t minute_clock_real_of(const struct minute_clock *c, uint64_t monotonic_ns);
