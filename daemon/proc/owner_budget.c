/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/owner_budget.h"

struct budget *owner_budget_of(struct owner_budgets *p, uint64_t key, uint64_t now_ns)
{
    struct owner_budget *oldest = &p->owners[0];

    for (size_t i = 0; i < OWNER_BUDGETS_MAX; i++) {
        struct owner_budget *o = &p->owners[i];

        if (o->key == key) {
            o->used_ns = now_ns;
            return &o->budget;
        }
        if (o->used_ns < oldest->used_ns)
            oldest = o;
    }
    *oldest = (struct owner_budget){ .key = key, .used_ns = now_ns };
    budget_init(&oldest->budget, p->share ? p->share : OWNER_BUDGET_SHARE,
                p->at_once_ns ? p->at_once_ns : OWNER_BUDGET_AT_ONCE_NS, now_ns);
    return &oldest->budget;
}
