/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long a ready thread waited for a processor because the machine itself was stopped. A
 * hypervisor stops a whole virtual machine now and then. A result that is late by this time counts
 * as punctual. See Standstill in tests/jvm/harness/proc.py.
 */
#pragma once

#include "base/clock.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define STEAL_TICK_NS (5 * NSEC_PER_MSEC)
#define STEAL_NOTED_NS (20 * NSEC_PER_MSEC) /* shorter delays may come from the scheduler */

struct steal_watch {
    pthread_t thread;
    atomic_bool ended;
    uint64_t began_ns, stood_ns;
};

static inline void *steal_run(void *cookie)
{
    struct steal_watch *w = cookie;
    uint64_t last_ns = clock_monotonic_ns();

    while (!w->ended) {
        uint64_t late_ns, now_ns;

        usleep(STEAL_TICK_NS / NSEC_PER_USEC);
        now_ns = clock_monotonic_ns();
        late_ns = now_ns - last_ns - STEAL_TICK_NS;
        w->stood_ns += late_ns > STEAL_NOTED_NS ? late_ns : 0;
        last_ns = now_ns;
    }
    return NULL;
}

static inline void steal_begin(struct steal_watch *w)
{
    *w = (struct steal_watch){ .began_ns = clock_monotonic_ns() };
    ck_assert_int_eq(pthread_create(&w->thread, NULL, steal_run, w), 0);
}

/* Returns the time since steal_begin() without stolen time. Call it once. */
static inline uint64_t steal_took_ns(struct steal_watch *w)
{
    uint64_t took_ns = clock_monotonic_ns() - w->began_ns;

    w->ended = true;
    pthread_join(w->thread, NULL);
    return took_ns > w->stood_ns ? took_ns - w->stood_ns : 0;
}
