/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/owner_budget.h"

struct budget *patience_of(struct patience *p, uint64_t key, uint64_t now_ns)
{
    struct patience_owner *oldest = &p->owners[0];

    for (size_t i = 0; i < PATIENCE_OWNERS_MAX; i++) {
        struct patience_owner *o = &p->owners[i];

        if (o->key == key) {
            o->used_ns = now_ns;
            return &o->budget;
        }
        if (o->used_ns < oldest->used_ns)
            oldest = o;
    }
    *oldest = (struct patience_owner){ .key = key, .used_ns = now_ns };
    budget_init(&oldest->budget, PATIENCE_SHARE,
                p->at_once_ns ? p->at_once_ns : PATIENCE_AT_ONCE_NS, now_ns);
    return &oldest->budget;
}
