/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/virtual_wishes.h"

#include "base/clock.h"

static struct virtual_wish *wish_of(struct virtual_wishes *w, const struct proc_id *id)
{
    for (uint32_t i = 0; i < w->count; i++) {
        if (proc_id_equal(&w->of[i].id, id))
            return &w->of[i];
    }
    if (w->count == VIRTUAL_JVMS_MAX)
        return NULL;
    w->of[w->count] = (struct virtual_wish){ .id = *id };
    return &w->of[w->count++];
}

const struct virtual_wish *virtual_wishes_add(struct virtual_wishes *w, const struct proc_id *id,
                                              uint32_t set, bool locks, uint64_t now_ns)
{
    struct virtual_wish *wish = wish_of(w, id);

    if (!wish)
        return NULL;
    if (locks)
        wish->lock_sets |= 1U << set;
    else
        wish->sets |= 1U << set;
    wish->wished_ns = now_ns;
    return wish;
}

void virtual_wishes_age(struct virtual_wishes *w, uint64_t now_ns)
{
    for (uint32_t i = 0; i < w->count;) {
        if (now_ns - MIN(w->of[i].wished_ns, now_ns) > VIRTUAL_WISH_NS)
            w->of[i] = w->of[--w->count];
        else
            i++;
    }
}
