/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that flamed can sample, as requests name them and profiles have them; the rows are
 * those of events.def. Pure; thread: any.
 */
#pragma once

#include "event/event_kind.h"

#include <stddef.h>

struct event_info {
    enum event_kind kind;
    const char *name;        /* "cpu" */
    const char *description; /* one sentence */
    const char *unit;        /* "nanoseconds", "bytes", "count": of values */
    double default_hz;       /* of "nanoseconds"; else 0 */
    uint64_t default_period; /* of what is no time; else 0 */
    const char *cost;        /* of the machine, a sentence's part */
    bool valued;             /* each sample has a value of its own; else it is worth a period */
};

/* Return: the table, static; *ret_count rows. */
const struct event_info *events_table(size_t *ret_count);
/* Return: the row of that name, NULL where there is none. */
const struct event_info *events_find(const char *name);
/* Return: the event of a request that names none, which the flight recorder samples, too. */
const struct event_info *events_default(void);
/* Whether it counts time, so that its period may be told in samples per second. */
static inline bool event_is_timed(const struct event_info *info)
{
    return info->default_hz > 0;
}
