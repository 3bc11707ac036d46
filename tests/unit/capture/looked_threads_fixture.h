/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over made threads, and sums of the time by place. */
#pragma once

#include "fixed_seed.h"
#include "suite.h"

#include "base/clock.h"
#include "capture/looked_threads.h"

#define MS NSEC_PER_MSEC
#define OWNER 1

/* Time that was put, by the tag of the place. */
struct sums {
    uint64_t ns[4][LOOKED_STATES];
    unsigned calls;
};

static inline void put(void *cookie, const struct looked_thread *t, enum looked_state state,
                       uint64_t ns)
{
    struct sums *s = cookie;

    s->ns[t->stack][state] += ns;
    s->calls++;
}

static inline uint64_t pass_of(struct looked_threads *l, uint64_t ms, double weight,
                               const struct looks_entry *e)
{
    uint64_t ns;

    looked_threads_begin(l, ms * MS, weight, 1, 0);
    ns = looked_threads_take(l, e, OWNER);
    looked_threads_end(l);
    return ns;
}

/* Runs one pass over thread 7 alone, at @ms. */
static inline uint64_t pass(struct looked_threads *l, uint64_t ms, double weight,
                            enum looks_found found, bool runnable, uint64_t ran_ms,
                            uint64_t queued_ms)
{
    struct looks_entry e = { .host_pid = 5,
                             .host_tid = 7,
                             .ran_ns = ran_ms * MS,
                             .queued_ns = queued_ms * MS,
                             .found = (uint8_t)found,
                             .runnable = runnable };

    return pass_of(l, ms, weight, &e);
}

/* Delivers the stack of thread 7: it is @stack, since @ns. */
static inline void place(struct looked_threads *l, uint32_t stack, enum looked_state state,
                         uint64_t ns)
{
    struct looked_thread *t = looked_threads_find(l, 7);

    ck_assert_ptr_nonnull(t);
    t->stack = stack;
    t->placed = true;
    t->place_ns[state] += ns;
}

static inline struct looked_threads looked(struct sums *s)
{
    return (struct looked_threads){ .put = put, .cookie = s };
}
