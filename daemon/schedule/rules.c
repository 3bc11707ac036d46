/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/rules.h"

#include "base/text.h"
#include "event/events.h"

static void free_list(struct rule *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        matchers_clear(&list[i].match);
    free(list);
}

struct rules *rules_free(struct rules *r)
{
    if (!r)
        return NULL;
    free_list(r->schedules, r->schedule_count);
    free_list(r->triggers, r->trigger_count);
    free(r);
    return NULL;
}

static uint64_t event_period(const struct rule *rule, const struct event_info *event)
{
    return event && !event_is_timed(event)
               ? event->default_period
               : (NSEC_PER_SEC * 1000 + rule->millihz / 2) / rule->millihz;
}

struct capture_request rule_request(const struct rule *rule)
{
    struct capture_request req = {
        .target = { .matchers = rule->match.count ? &rule->match : NULL, .viewer = &VIEWER_WHOLE },
        .duration_ns = rule->for_ns,
        .symbols = rule->symbols,
        .context = rule->requests,
        .keep = true,
    };
    struct span names[EVENTS_AT_ONCE_MAX];

    events_split(span_of(rule->event), names, &req.event_count);
    for (size_t i = 0; i < req.event_count; i++) {
        struct wanted_event *event = &req.events[i];

        wanted_event_set(event, names[i]);
        event->period = event_period(rule, event->info);
    }
    return req;
}

const struct rule *rules_nearest_trigger(const struct rules *r, const char *name)
{
    const struct rule *best = NULL;
    unsigned least = 0;

    for (size_t i = 0; i < r->trigger_count; i++) {
        unsigned d = text_distance(span_of(name), span_of(r->triggers[i].name));

        if (!best || d < least) {
            best = &r->triggers[i];
            least = d;
        }
    }
    return best;
}
