/* SPDX-License-Identifier: Apache-2.0 */
#include "base/places.h"

#include "base/macros.h"

void places_take(struct places *p, uint64_t owner)
{
    /* With a seed, owners cannot choose the owner that they share a counter with. */
    if (!p->shares.seed)
        shares_init(&p->shares, /* max= */ 0);
    shares_force(&p->shares, owner, 1);
    p->most = MAX(p->most, shares_used(&p->shares, owner));
}

void places_give(struct places *p, uint64_t owner)
{
    shares_give(&p->shares, owner, 1);
}

size_t places_find(struct places *p, uint64_t owner, size_t n,
                   uint64_t (*owner_of)(const void *table, size_t i), const void *table)
{
    uint64_t least = shares_used(&p->shares, owner) + 2, most = 0;
    size_t found = n;
    bool all = true;

    if (p->most < least) /* spares the loop, so that many owners without success cost little */
        return n;
    for (size_t i = 0; i < n; i++) {
        uint64_t whose = owner_of(table, i), has = whose ? shares_used(&p->shares, whose) : 0;

        all &= whose != 0;
        if (whose && has >= most) {
            most = has;
            found = i;
        }
    }
    if (all)
        p->most = most;
    return most >= least ? found : n;
}
