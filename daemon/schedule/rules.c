/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/rules.h"

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

/* How many letters must be put in, taken out or changed to make @b of @a (Levenshtein). */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[RULE_NAME_MAX + 1];
    size_t n = strlen(b);

    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 1; *a; i++, a++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            unsigned changed = diagonal + (*a != b[j - 1]);

            diagonal = row[j];
            row[j] = MIN(MIN(row[j], row[j - 1]) + 1, changed);
        }
    }
    return row[n];
}

const struct rule *rules_nearest_trigger(const struct rules *r, const char *name)
{
    const struct rule *best = NULL;
    unsigned least = 0;

    for (size_t i = 0; i < r->trigger_count; i++) {
        unsigned d = distance(name, r->triggers[i].name);

        if (!best || d < least) {
            best = &r->triggers[i];
            least = d;
        }
    }
    return best;
}
