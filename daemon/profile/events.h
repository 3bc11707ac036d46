/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that flamed can sample: one row per event, and nothing else in the tree lists them.
 * Pure; thread: any.
 */
#pragma once

#include "profile/profile.h"

struct event_info {
    const char *name;        /* "cpu" */
    const char *description; /* one sentence */
    const char *unit;        /* "nanoseconds", "bytes", "count": of values */
    double default_hz;
    bool valued; /* each sample has a value of its own; else it is worth a period */
};

/* Return: the table, static; *ret_count rows. */
const struct event_info *events_table(size_t *ret_count);
/* Return: the row of that name, NULL where there is none. */
const struct event_info *events_find(const char *name);
/* Return: the event of a request that names none, which the flight recorder samples, too. */
const struct event_info *events_default(void);
/* Return: the event as profiles have it, sampled every @period of its unit. */
struct profile_event event_of(const struct event_info *info, uint64_t period);
