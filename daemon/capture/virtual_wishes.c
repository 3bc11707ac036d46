/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/virtual_wishes.h"

#include <math.h>

static uint64_t owner_of(const void *table, size_t i)
{
    const struct virtual_wishes *w = table;

    return w->of[i].owner;
}

static struct virtual_wish *wish_of(struct virtual_wishes *w, const struct proc_id *id,
                                    uint64_t owner)
{
    size_t at = w->count;

    for (uint32_t i = 0; i < w->count; i++) {
        if (proc_id_equal(&w->of[i].id, id))
            return &w->of[i];
    }
    if (w->count == VIRTUAL_JVMS_MAX) {
        at = places_find(&w->places, owner, w->count, owner_of, w);
        if (at == w->count)
            return NULL;
        places_give(&w->places, w->of[at].owner);
    } else {
        w->count++;
    }
    places_take(&w->places, owner);
    w->of[at] = (struct virtual_wish){ .id = *id, .owner = owner };
    return &w->of[at];
}

const struct virtual_wish *virtual_wishes_add(struct virtual_wishes *w, const struct proc_id *id,
                                              uint64_t owner, uint32_t set, bool locks,
                                              uint64_t now_ns)
{
    struct virtual_wish *wish = wish_of(w, id, owner);

    if (!wish)
        return NULL;
    if (locks)
        wish->lock_sets |= 1U << set;
    else
        wish->sets |= 1U << set;
    wish->wished_ns = now_ns;
    return wish;
}

void virtual_wishes_load(struct virtual_wishes *w, const struct proc_id *id, double *ret_runnable,
                         double *ret_mounted)
{
    *ret_runnable = *ret_mounted = (double)NAN;
    for (uint32_t i = 0; i < w->count; i++) {
        struct virtual_wish *wish = &w->of[i];

        if (!wish->looks || !proc_id_equal(&wish->id, id))
            continue;
        if (wish->runnable > 0 || !wish->untracked)
            *ret_runnable = wish->runnable / wish->looks;
        *ret_mounted = wish->mounted / wish->looks;
        wish->runnable = wish->mounted = 0;
        wish->looks = 0;
    }
}

void virtual_wishes_age(struct virtual_wishes *w, uint64_t renewed_ns)
{
    for (uint32_t i = 0; i < w->count;) {
        if (renewed_ns - MIN(w->of[i].wished_ns, renewed_ns) <= VIRTUAL_WISH_NS) {
            i++;
            continue;
        }
        places_give(&w->places, w->of[i].owner);
        w->of[i] = w->of[--w->count];
    }
}
