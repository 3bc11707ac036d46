/* SPDX-License-Identifier: Apache-2.0 */
#include "push/series.h"

#include "base/clock.h"
#include "base/list.h"

void series_init(struct series *s)
{
    s->key = fingerprint_key_new();
    s->count = 0;
    shares_init(&s->shares, SERIES_MAX);
}

/* Frees the places of services that had no samples for too long. The clock may have been set. */
static void expire(struct series *s, uint64_t now_ns)
{
    for (size_t i = s->count; i > 0; i--) {
        struct series_place *p = &s->places[i - 1];
        uint64_t apart_ns = now_ns > p->last_ns ? now_ns - p->last_ns : p->last_ns - now_ns;

        if (apart_ns <= SERIES_KEPT_NS)
            continue;
        shares_give(&s->shares, p->owner, 1);
        *p = s->places[--s->count];
    }
}

bool series_admit(struct series *s, uint64_t owner, struct span name, uint64_t now_ns)
{
    uint64_t print = fingerprint(&s->key, name);
    struct series_place *known = FIRST_OF(i, s->places, s->count, s->places[i].print == print);

    if (known) {
        known->last_ns = now_ns;
        return true;
    }
    expire(s, now_ns);
    if (s->count == SERIES_MAX || !shares_take(&s->shares, owner, 1))
        return false;
    s->places[s->count++] = (struct series_place){ print, owner, now_ns };
    return true;
}
