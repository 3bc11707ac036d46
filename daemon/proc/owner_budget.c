/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/owner_budget.h"

/* Returns how full the budget of @o is; a free one is the fullest. */
static int64_t level(struct owner_budget *o, uint64_t now_ns)
{
    if (!o->key)
        return INT64_MAX;
    budget_has(&o->budget, now_ns);
    return o->budget.left_ns;
}

struct budget *owner_budget_of(struct owner_budgets *p, uint64_t key, uint64_t now_ns)
{
    struct owner_budget *fullest = &p->owners[0];

    for (size_t i = 0; i < OWNER_BUDGETS_MAX; i++) {
        struct owner_budget *o = &p->owners[i];

        if (o->key == key)
            return &o->budget;
    }
    for (size_t i = 1; i < OWNER_BUDGETS_MAX; i++) {
        if (level(&p->owners[i], now_ns) > level(fullest, now_ns))
            fullest = &p->owners[i];
    }
    fullest->key = key;
    budget_init(&fullest->budget, p->share ? p->share : OWNER_BUDGET_SHARE,
                p->at_once_ns ? p->at_once_ns : OWNER_BUDGET_AT_ONCE_NS, now_ns);
    return &fullest->budget;
}
