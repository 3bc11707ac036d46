/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that flamed can sample, as requests name them and profiles have them; the rows are
 * those of events.def. Pure; thread: any.
 */
#pragma once

#include "base/span.h"
#include "event/event_kind.h"

#include <stddef.h>

#define EVENTS_AT_ONCE_MAX 4 /* in one capture */
#define EVENT_NAME_BYTES 256 /* mangled symbols are long, and filters of tracepoints */

struct event_info {
    enum event_kind kind;
    const char *name;        /* "cpu" */
    const char *description; /* one sentence */
    const char *unit;        /* "nanoseconds", "bytes", "count": of values */
    double default_hz;       /* of "nanoseconds"; else 0 */
    uint64_t default_period; /* of what is no time; else 0 */
    const char *cost;        /* of the machine, a sentence's part */
    enum event_program program;
    enum event_source_kind source;
    uint32_t flags;     /* enum event_flag */
    uint32_t perf_type; /* this and the next: the event that calls the program on each processor, */
    uint64_t perf_config; /* as perf_event_open(2) takes it; EVENT_PERF_NONE: there is none */
};
#define EVENT_PERF_NONE UINT32_MAX

/* An event that is sampled. */
struct event_ref {
    const struct event_info *info;
    const char *name; /* as requested; borrowed */
    bool by_agent;    /* event alloc: by agents in JVMs, and not by probes */
};

/* Returns the event of a row of the table. */
static inline struct event_ref event_ref_of(const struct event_info *row)
{
    return (struct event_ref){ .info = row, .name = row->name };
}

/* Return: the table, static; *ret_count rows. */
const struct event_info *events_table(size_t *ret_count);
/* Return: the row of @kind, or what is true of all names of its form; static. NULL: there is no
 * such kind. */
const struct event_info *events_row(uint32_t kind);
/* Return: the row of that name, with or without modifiers, or what is true of all names of its form
 * (event_form.h); static. NULL where there is none. */
const struct event_info *events_find(const char *name);
/* Parts @list, names with commas between them; a comma between slashes, as in pmu/a=1,b=2/, or in
 * braces parts nothing. *ret_count parts, which point into @list and may be empty. 0; -E2BIG: more
 * than EVENTS_AT_ONCE_MAX. */
int events_split(struct span list, struct span ret[EVENTS_AT_ONCE_MAX], size_t *ret_count);
/* Returns whether @a and @b name one event, whatever their filters. */
bool events_same(struct span a, struct span b);
/* Returns whether @name is one of @list. */
bool events_listed(struct span list, const char *name);
/* Return: the event of a request that names none, which the flight recorder samples, too. */
const struct event_info *events_default(void);
/* Returns whether it counts time, so that its period may be told in samples per second. */
static inline bool event_is_timed(const struct event_info *info)
{
    return info->default_hz > 0;
}
/* Returns whether the value of event @name is a stock at the end of a capture. Else it grows
 * with the length of the capture. */
bool event_name_is_stock(const char *name);
/* Returns whether each of its samples has a value of its own. */
static inline bool event_is_valued(const struct event_info *info)
{
    return info->flags & EVENT_VALUED;
}
/* Returns whether no set of @event can run beside one of event @other. */
static inline bool event_excludes(const struct event_ref *event, const char *other)
{
    return event->info->flags & EVENT_SINGLE && events_same(span_of(event->name), span_of(other));
}
/* Returns whether a timer of each processor calls its program. */
bool event_has_timer(const struct event_info *info);
/* Returns whether samples of an event that counts may come at a pace. What is allocated, or asked
 * of malloc, is sampled as it takes up memory. */
bool event_may_be_paced(const struct event_info *info);
/* Returns what one of those that the kernel counts is worth, in the event's unit. */
uint64_t event_worth(const struct event_info *info);
/* Returns whether @period is one that an event of @kind may have. */
bool event_period_valid(uint32_t kind, uint64_t period);
