/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, always in nanoseconds. Thread: any. */
#pragma once

#include "base/macros.h"

#include <time.h>

/* Returns the time of @clock in nanoseconds. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    if (clock_gettime(clock, &ts) < 0)
        return 0;
    return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Reads the clock of every sample and of every deadline (perf and BPF time stamps are set to it).
 */
static inline uint64_t clock_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* Samples a second of one every @period_ns, as it was asked for: to a thousandth. 0: none. */
static inline double clock_hz(uint64_t period_ns)
{
    return period_ns ? (double)(uint64_t)(1e12 / (double)period_ns + 0.5) / 1000 : 0.0;
}

/* Wall clock: only for what a person reads. */
static inline uint64_t clock_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}
