/* SPDX-License-Identifier: Apache-2.0 */
#include "store/events.h"

#include <jansson.h>

char *events_format(const struct profile *p)
{
    json_t *list;
    char *text;

    if (p->event_count <= 1 && !p->events[0].valued)
        return strdup("");
    list = json_array();
    for (uint32_t i = 0; i < p->event_count; i++) {
        const struct profile_event *e = &p->events[i];

        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:I, s:b}", "name", e->name, "unit", e->unit,
                                        "period", (json_int_t)e->period, "valued", e->valued));
    }
    text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

static bool parse_event(json_t *item, struct profile_event *ret)
{
    const char *name, *unit;
    json_int_t period;
    int valued;

    if (json_unpack(item, "{s:s, s:s, s:I, s:b}", "name", &name, "unit", &unit, "period", &period,
                    "valued", &valued) < 0)
        return false;
    if (strlen(name) >= sizeof(ret->name) || strlen(unit) >= sizeof(ret->unit) || period < 0)
        return false;
    *ret = (struct profile_event){ .period = (uint64_t)period, .valued = valued };
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    snprintf(ret->unit, sizeof(ret->unit), "%s", unit);
    return true;
}

int events_parse(const char *text, struct profile *meta)
{
    json_t *list = json_loads(text, 0, NULL);
    struct profile_event events[PROFILE_EVENTS_MAX] = { 0 };
    size_t n = json_array_size(list);
    bool right = n > 0 && n <= PROFILE_EVENTS_MAX;

    for (size_t i = 0; i < n && right; i++)
        right = parse_event(json_array_get(list, i), &events[i]);
    json_decref(list);
    if (!right)
        return -EBADMSG;
    memcpy(meta->events, events, sizeof(events));
    meta->event_count = (uint32_t)n;
    return 0;
}
