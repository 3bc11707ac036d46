/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that something may take in the long run. It comes in as a share of all time and is saved up
 * to a limit; what was begun may overdraw it. Pure: callers pass the time. Thread: the owner's.
 */
#pragma once

#include "base/macros.h"

struct budget {
    uint64_t max_ns;    /* that can be saved up */
    unsigned share;     /* one part in so many comes in */
    int64_t left_ns;    /* below 0: overdrawn */
    uint64_t filled_ns; /* CLOCK_MONOTONIC */
};

static inline void budget_init(struct budget *b, unsigned share, uint64_t max_ns, uint64_t now_ns)
{
    *b = (struct budget){ max_ns, share, (int64_t)max_ns, now_ns };
}

/* Returns whether something may begin. */
static inline bool budget_has(struct budget *b, uint64_t now_ns)
{
    uint64_t in = (now_ns - b->filled_ns) / b->share;

    if (in) { /* what is too little to count stays for the next time */
        b->left_ns = MIN(b->left_ns + (int64_t)MIN(in, b->max_ns * 2), (int64_t)b->max_ns);
        b->filled_ns = now_ns;
    }
    return b->left_ns > 0;
}

/* Takes @took_ns from the budget, which may become negative. */
static inline void budget_spend(struct budget *b, uint64_t took_ns)
{
    /* Never so deep that it takes long to get out of it. */
    b->left_ns = MAX(b->left_ns - (int64_t)MIN(took_ns, b->max_ns * 2), -(int64_t)b->max_ns / 4);
}
