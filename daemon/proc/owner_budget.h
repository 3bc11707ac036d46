/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long flamed and its broker wait for an owner (proc_owner()). Each has a budget. So none can
 * hold them for more than a share of their time by answering slowly.
 */
#pragma once

#include "base/budget.h"

#define PATIENCE_SHARE 20 /* one part in so many of all time */
/* So much at once: a starting JVM wants a hundred files. Each takes milliseconds on a machine with
 * ten times more runnable threads than processors. */
#define PATIENCE_AT_ONCE_NS UINT64_C(4000000000)
#define PATIENCE_OWNERS_MAX 64 /* the one that was asked for longest ago goes */

struct patience_owner {
    uint64_t key; /* 0: free */
    uint64_t used_ns;
    struct budget budget;
};

struct patience {
    uint64_t at_once_ns; /* 0: PATIENCE_AT_ONCE_NS */
    struct patience_owner owners[PATIENCE_OWNERS_MAX];
};

/* The budget of @key, as proc_owner() tells it. Points into @p until the next call. */
struct budget *patience_of(struct patience *p, uint64_t key, uint64_t now_ns);
