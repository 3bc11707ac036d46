/* SPDX-License-Identifier: Apache-2.0 */
/* The table of events: one row per event, and nothing else in the tree lists them. */
#include "sample/sample.h"

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
