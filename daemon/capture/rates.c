/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/rates.h"

static struct rate_set *rates_faster(struct rates *r, uint64_t period_ns)
{
    struct rate_set *best = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(r->sets); i++) {
        struct rate_set *s = &r->sets[i];

        if (s->users && s->period_ns <= period_ns && (!best || s->period_ns > best->period_ns))
            best = s;
    }
    return best;
}

static struct rate_set *rates_free(struct rates *r)
{
    for (size_t i = 0; i < ARRAY_SIZE(r->sets); i++) {
        if (!r->sets[i].users)
            return &r->sets[i];
    }
    return NULL;
}

int rates_take(struct rates *r, struct broker *b, uint64_t period_ns, uint32_t *ret_set,
               uint64_t *ret_period_ns, struct error *err)
{
    struct rate_set *s = rates_faster(r, period_ns), *unused = rates_free(r);
    int k;

    if ((!s || s->period_ns != period_ns) && unused) {
        k = broker_sample_start(b, period_ns, &unused->set, err);
        if (k < 0)
            return k;
        s = unused;
        s->period_ns = period_ns;
    }
    if (!s) {
        error_set(err, -EBUSY, "%d other sampling rates are in use, all lower than this one",
                  BROKER_SETS_MAX);
        error_remedy(err, "use the rate of a running capture, or wait until one has ended");
        return -EBUSY;
    }
    s->users++;
    *ret_set = s->set;
    *ret_period_ns = s->period_ns;
    return 0;
}

void rates_release(struct rates *r, struct broker *b, uint32_t set)
{
    for (size_t i = 0; i < ARRAY_SIZE(r->sets); i++) {
        struct rate_set *s = &r->sets[i];

        if (s->users && s->set == set) {
            if (--s->users == 0) {
                broker_sample_stop(b, set, NULL);
                s->period_ns = 0;
            }
            return;
        }
    }
}

size_t rates_used(const struct rates *r)
{
    size_t used = 0;

    for (size_t i = 0; i < ARRAY_SIZE(r->sets); i++)
        used += r->sets[i].users > 0;
    return used;
}
