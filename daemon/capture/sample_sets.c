/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/sample_sets.h"

#include "base/buf.h"
#include "base/list.h"
#include "event/events.h"

static int start_set(struct broker *b, const struct event_ref *event, uint64_t period,
                     uint32_t *ret_set, struct error *err)
{
    int r = event->way == EVENT_WAY_YIELDS
                ? broker_sample_yields(b, event->name, period, ret_set, err)
                : broker_sample_start(b, event->name, period, ret_set, err);

    if (r != 0 || event->way != EVENT_WAY_AGENT)
        return r;
    r = broker_sample_agents(b, *ret_set, err);
    if (r != 0)
        broker_sample_stop(b, *ret_set, NULL);
    return r;
}

/* Returns whether @s samples @event in the way that @event has. */
static bool is_of(const struct rate_set *s, const struct event_ref *event, uint64_t period)
{
    return s->users && strcmp(s->event, event->name) == 0 && s->way == event->way &&
           event_is_paced(s->period) == event_is_paced(period);
}

static struct rate_set *sample_sets_faster(struct sample_sets *r, const struct event_ref *event,
                                           uint64_t period)
{
    struct rate_set *best = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(r->sets); i++) {
        struct rate_set *s = &r->sets[i];

        if (is_of(s, event, period) && s->period <= period && (!best || s->period > best->period))
            best = s;
    }
    return best;
}

/* Returns whether @event is sampled, and a second set of it is impossible. */
static bool sample_sets_alone(const struct sample_sets *r, const struct event_ref *event)
{
    return ANY_OF(i, ARRAY_SIZE(r->sets),
                  r->sets[i].users && event_excludes(event, r->sets[i].event));
}

static struct rate_set *sample_sets_free(struct sample_sets *r)
{
    return FIRST_OF(i, r->sets, ARRAY_SIZE(r->sets), !r->sets[i].users);
}

int sample_sets_take(struct sample_sets *r, struct broker *b, const struct event_ref *event,
                     uint64_t period, bool may_arm, uint32_t *ret_set, uint64_t *ret_period,
                     struct error *err)
{
    struct rate_set *s = sample_sets_faster(r, event, period),
                    *unused = may_arm ? sample_sets_free(r) : NULL;
    int k;

    if ((!s || s->period != period) && unused && !sample_sets_alone(r, event)) {
        k = start_set(b, event, period, &unused->set, err);
        if (k < 0)
            return k;
        s = unused;
        snprintf(s->event, sizeof(s->event), "%s", event->name);
        s->way = event->way;
        s->period = period;
        s->begun = false;
    }
    if (!s && !may_arm)
        return -EBUSY;
    if (!s && sample_sets_alone(r, event)) {
        error_remedy(err,
                     "wait until the other capture has ended, or use its hz, interval and filter");
        return error_set(err, -EBUSY,
                         "another capture samples %s in another way: by hz and not by interval, or "
                         "the reverse, or with another filter; only one way at a time is possible",
                         event->name);
    }
    if (!s) {
        error_set(err, -EBUSY,
                  "%d other events and rates are being sampled already, which is the limit; none "
                  "of them is this event at this rate or a higher one",
                  BROKER_SETS_MAX);
        error_remedy(err, "use the rate of a running capture, or wait until one has ended");
        return -EBUSY;
    }
    s->users++;
    *ret_set = s->set;
    *ret_period = s->period;
    return 0;
}

int sample_sets_speed_up(struct sample_sets *r, struct broker *b, uint32_t but,
                         const struct event_ref *event, uint64_t period, uint32_t *ret_before,
                         uint32_t *ret_after, struct error *err)
{
    struct rate_set *slowest = NULL;
    int k;

    for (size_t i = 0; i < ARRAY_SIZE(r->sets); i++) {
        struct rate_set *s = &r->sets[i];

        if (is_of(s, event, period) && !(but & 1u << s->set) &&
            (!slowest || s->period > slowest->period))
            slowest = s;
    }
    if (!slowest)
        return -EBUSY;
    *ret_before = *ret_after = slowest->set;
    broker_sample_stop(b, slowest->set, NULL);
    k = start_set(b, event, period, &slowest->set, err);
    if (k == 0) {
        slowest->period = period;
    } else if (start_set(b, event, slowest->period, &slowest->set, NULL) < 0) {
        *slowest = (struct rate_set){ 0 };
        *ret_after = NO_SET;
        return k;
    }
    slowest->begun = false;
    *ret_after = slowest->set;
    return k;
}

static struct rate_set *find_used(struct sample_sets *r, uint32_t set)
{
    return FIRST_OF(i, r->sets, ARRAY_SIZE(r->sets), r->sets[i].users && r->sets[i].set == set);
}

int sample_sets_begun(struct sample_sets *r, struct broker *b, uint32_t set, struct error *err)
{
    struct rate_set *s = find_used(r, set);
    int k = !s || s->begun ? 0 : broker_sample_begun(b, set, err);

    if (s)
        s->begun = k == 0;
    return k;
}

void sample_sets_release(struct sample_sets *r, struct broker *b, uint32_t set)
{
    struct rate_set *s = find_used(r, set);

    if (s && --s->users == 0) {
        broker_sample_stop(b, set, NULL);
        *s = (struct rate_set){ 0 };
    }
}

bool sample_sets_dropped(int proc_fd, uint64_t period_ns, uint64_t *ret_allowed_hz)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(64);
    uint64_t hz = (NSEC_PER_SEC + period_ns - 1) / period_ns, allowed_hz;

    if (buf_read_at(&text, proc_fd, "sys/kernel/perf_event_max_sample_rate") < 0 ||
        !span_parse_dec(span_trim(buf_span(&text)), &allowed_hz) || hz <= allowed_hz)
        return false;
    *ret_allowed_hz = allowed_hz;
    return true;
}

size_t sample_sets_used(const struct sample_sets *r)
{
    size_t used = 0;

    for (size_t i = 0; i < ARRAY_SIZE(r->sets); i++)
        used += r->sets[i].users > 0;
    return used;
}
