/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/events.h"

static const struct event_info EVENTS[] = {
    { .name = "cpu",
      .description = "CPU time, in user and kernel mode, by a timer on every CPU",
      .unit = "nanoseconds",
      .default_hz = 99 },
};

const struct event_info *events_table(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(EVENTS);
    return EVENTS;
}

const struct event_info *events_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(EVENTS); i++) {
        if (strcmp(EVENTS[i].name, name) == 0)
            return &EVENTS[i];
    }
    return NULL;
}

const struct event_info *events_default(void)
{
    return &EVENTS[0];
}

struct profile_event event_of(const struct event_info *info, uint64_t period)
{
    struct profile_event e = { .period = period, .valued = info->valued };

    snprintf(e.name, sizeof(e.name), "%s", info->name);
    snprintf(e.unit, sizeof(e.unit), "%s", info->unit);
    return e;
}
