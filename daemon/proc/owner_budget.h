/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long flamed and its broker wait for an owner (proc_owner()). Each has a budget. So none can
 * hold them for more than a share of their time by answering slowly.
 */
#pragma once

#include "base/budget.h"

#define OWNER_BUDGET_SHARE 20 /* one part in so many of all time */
/* So much at once: a starting JVM wants a hundred files. Each takes milliseconds on a machine with
 * ten times more runnable threads than processors. */
#define OWNER_BUDGET_AT_ONCE_NS UINT64_C(4000000000)
#define OWNER_BUDGETS_MAX 64 /* the one that was asked for longest ago goes */

struct owner_budget {
    uint64_t key; /* 0: free */
    uint64_t used_ns;
    struct budget budget;
};

struct owner_budgets {
    uint64_t at_once_ns; /* 0: OWNER_BUDGET_AT_ONCE_NS */
    struct owner_budget owners[OWNER_BUDGETS_MAX];
};

/* Returns the budget of @key, as proc_owner() returns it. Points into @p until the next call. */
struct budget *owner_budget_of(struct owner_budgets *p, uint64_t key, uint64_t now_ns);
