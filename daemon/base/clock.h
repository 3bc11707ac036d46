/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, always in nanoseconds. Thread: any. */
#pragma once

#include "base/macros.h"

#include <pthread.h>
#include <time.h>

/* Returns the time of @clock in nanoseconds. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    if (clock_gettime(clock, &ts) < 0)
        return 0;
    return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Reads CLOCK_MONOTONIC, the clock of all samples and deadlines; perf and BPF stamp with it,
 * too. */
static inline uint64_t clock_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* Returns how many samples per second one sample every @period_ns makes, rounded to a thousandth; 0
 * if @period_ns is 0. */
static inline double clock_hz(uint64_t period_ns)
{
    return period_ns ? (double)(uint64_t)(1e12 / (double)period_ns + 0.5) / 1000 : 0.0;
}

/* Reads the wall clock. Use it only for times that a person reads. */
static inline uint64_t clock_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

/* Returns CLOCK_MONOTONIC at @real_ns of the wall clock; 0: before the system's start. A time to
 * come counts as now. */
static inline uint64_t clock_monotonic_of(uint64_t real_ns)
{
    uint64_t now_ns = clock_monotonic_ns(), now_real_ns = clock_realtime_ns();

    return now_ns - MIN(now_real_ns - MIN(real_ns, now_real_ns), now_ns);
}

/* Returns @ns as the struct that system calls need. */
static inline struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / NSEC_PER_SEC),
                              .tv_nsec = (long)(ns % NSEC_PER_SEC) };
}

/* Waits for @cond until @until_ns of CLOCK_MONOTONIC, with @lock held. Returns false if that time
 * has come. */
static inline bool clock_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
    struct timespec until = clock_timespec(until_ns);

    return pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &until) == 0;
}

/* Locks @lock, but waits no longer than until @until_ns of CLOCK_MONOTONIC. Returns whether it
 * locked. */
static inline bool clock_lock(pthread_mutex_t *lock, uint64_t until_ns)
{
    struct timespec until = clock_timespec(until_ns);

    return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &until) == 0;
}
