/* SPDX-License-Identifier: Apache-2.0 */
/* The sets of samples that the events of a capture take. */
#include "capture/capture_impl.h"

static void capture_warn_rate(struct capture *c, const struct capture_event *event, uint64_t period)
{
    if (event_is_timed(event->info) || event_is_paced(period))
        record_warn(c->record,
                    "%d other rates are in use: a random share of the samples taken at %.6g Hz "
                    "was kept",
                    BROKER_SETS_MAX, 1e9 / (double)event_period_number(period));
    else
        record_warn(c->record,
                    "%d other rates are in use: a random share of the samples taken every %llu was "
                    "kept",
                    BROKER_SETS_MAX, (unsigned long long)period);
}

void capture_warn_rates(struct capture *c)
{
    for (size_t i = 0; i < c->event_count; i++) {
        const struct capture_event *event = &c->events[i];

        for (size_t k = 0; k < EVENT_SETS_MAX; k++) {
            if (event->sets[k].set != NO_SET && event->sets[k].period < event->period)
                capture_warn_rate(c, event, event->sets[k].period);
        }
    }
}

/* Replaces the ended set @before by @after, which samples every @period. @period 0: as before. */
static void change_set(struct capture *c, struct capture_event *event, uint32_t before,
                       uint32_t after, uint64_t period)
{
    struct event_set *set = event->sets;

    while (set < event->sets + EVENT_SETS_MAX && set->set != before)
        set++;
    if (set == event->sets + EVENT_SETS_MAX)
        return;
    set->set = after;
    if (c->state <= CAPTURE_RUNNING) {
        if (c->state == CAPTURE_RUNNING && event->ready)
            event->gap_ns = c->due_ns = clock_monotonic_ns();
        event->ready = false;
    }
    if (event->source->set_changed)
        event->source->set_changed(event);
    if (period) {
        set->period = period;
        capture_warn_rate(c, event, period);
    }
}

static void capture_change_set(struct capture *c, uint32_t before, uint32_t after, uint64_t period)
{
    for (size_t i = 0; i < c->event_count; i++)
        change_set(c, &c->events[i], before, after, period);
}

/* Takes a set for @event, which is sampled for an event of @c. If slower captures hold all sets, or
 * all that the caller of @c may have, the slowest set becomes faster for its users. So a caller
 * that holds all rates does not block the others. Returns 0, -EBUSY, -EINPROGRESS or -errno with
 * @err. */
static int take_set(struct captures *captures, struct capture *c, const struct event_ref *event,
                    uint64_t period, uint32_t *ret_set, uint64_t *ret_period, struct error *err)
{
    struct error refused = ERROR_NULL;
    bool may_arm = capture_may_add_set(captures, &c->caller, &refused);
    uint32_t before, after;
    int r = sample_sets_take(&captures->sets, captures->broker, event, period, may_arm, ret_set,
                             ret_period, err),
        faster;

    if (r != -EBUSY)
        return r;
    faster = sample_sets_speed_up(&captures->sets, captures->broker, captures->recording.sets,
                                  event, period, &before, &after, err);
    if (faster == -EBUSY) {
        if (err && !may_arm)
            *err = refused;
        return faster;
    }
    captures_filter_stopped(captures, before);
    for (struct capture *o = captures->running; o; o = o->next)
        capture_change_set(o, before, after, faster == 0 ? period : 0);
    return faster == 0 ? sample_sets_take(&captures->sets, captures->broker, event, period, may_arm,
                                          ret_set, ret_period, err)
                       : faster;
}

/* Takes @set of @sampled unless it is taken. Return: 0: it samples; else as take_set(). */
static int arm_set(struct captures *captures, struct capture *c, const struct capture_event *event,
                   const struct event_ref *sampled, struct event_set *set, struct error *err)
{
    int r = set->set == NO_SET
                ? take_set(captures, c, sampled, event->period, &set->set, &set->period, err)
                : 0;

    return r == 0 ? sample_sets_begun(&captures->sets, captures->broker, set->set, err) : r;
}

int capture_arm(struct captures *captures, struct capture *c, struct capture_event *event,
                struct error *err)
{
    struct event_ref sampled[EVENT_SETS_MAX] = { { .info = event->info, .name = event->name } };
    int r = 0;

    if (event->source->sets)
        event->source->sets(event, sampled);
    for (size_t i = 0; i < EVENT_SETS_MAX && r == 0; i++) {
        if (sampled[i].info)
            r = arm_set(captures, c, event, &sampled[i], &event->sets[i], err);
    }
    return r;
}

void capture_release_rates(struct captures *captures, struct capture *c)
{
    for (size_t i = 0; i < c->event_count; i++) {
        for (size_t k = 0; k < EVENT_SETS_MAX; k++) {
            struct event_set *set = &c->events[i].sets[k];

            if (set->set != NO_SET)
                sample_sets_release(&captures->sets, captures->broker, set->set);
            set->set = NO_SET;
        }
    }
}
