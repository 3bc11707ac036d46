/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long flamed and its broker wait for an owner (proc_owner()). Each owner has a budget, so a
 * slow one takes at most a share of their time.
 */
#pragma once

#include "base/budget.h"

#define OWNER_BUDGET_SHARE 20 /* in this many ns a budget gains 1 ns; the default */
/* The highest level of a budget. flamed opens a hundred files for a starting JVM. Each takes
 * milliseconds on a machine with ten times more runnable threads than processors. */
#define OWNER_BUDGET_AT_ONCE_NS UINT64_C(4000000000)
/* At this limit the fullest budget is dropped: a slow owner has its own back later, not before. */
#define OWNER_BUDGETS_MAX 64

struct owner_budget {
    uint64_t key; /* 0: free */
    struct budget budget;
};

struct owner_budgets {
    uint64_t at_once_ns; /* 0: OWNER_BUDGET_AT_ONCE_NS */
    unsigned share;      /* 0: OWNER_BUDGET_SHARE */
    struct owner_budget owners[OWNER_BUDGETS_MAX];
};

/* Returns the budget of @key, a result of proc_owner(). It points into @p until the next call. */
struct budget *owner_budget_of(struct owner_budgets *p, uint64_t key, uint64_t now_ns);
