/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that an activity may take in the long run. The budget fills with a share of all time, up
 * to a limit; an activity that has begun may overdraw it. Pure: callers pass the time. Thread: the
 * owner's.
 */
#pragma once

#include "base/macros.h"

struct budget {
    uint64_t max_ns;    /* highest level of the budget */
    unsigned share;     /* in this many ns the budget gains 1 ns */
    int64_t left_ns;    /* below 0: overdrawn */
    uint64_t filled_ns; /* CLOCK_MONOTONIC */
};

static inline void budget_init(struct budget *b, unsigned share, uint64_t max_ns, uint64_t now_ns)
{
    *b = (struct budget){ max_ns, share, (int64_t)max_ns, now_ns };
}

/* Returns whether the activity may begin. */
static inline bool budget_has(struct budget *b, uint64_t now_ns)
{
    uint64_t in = (now_ns - b->filled_ns) / b->share;

    if (in) { /* a rest of less than 1 ns stays for the next call */
        b->left_ns = MIN(b->left_ns + (int64_t)MIN(in, b->max_ns * 2), (int64_t)b->max_ns);
        b->filled_ns = now_ns;
    }
    return b->left_ns > 0;
}

/* Takes @took_ns from the budget, which may become negative. */
static inline void budget_spend(struct budget *b, uint64_t took_ns)
{
    /* The debt is bounded, so that the budget recovers soon. */
    b->left_ns = MAX(b->left_ns - (int64_t)MIN(took_ns, b->max_ns * 2), -(int64_t)b->max_ns / 4);
}

/* Does the same without a bound of the debt, so that the activity keeps to its share. */
static inline void budget_spend_all(struct budget *b, uint64_t took_ns)
{
    b->left_ns -= (int64_t)MIN(took_ns, (uint64_t)INT64_MAX / 4);
}
