/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that flamed can sample, by the names in requests and profiles. The rows come from
 * events.def. Pure; thread: any.
 */
#pragma once

#include "base/span.h"
#include "event/event_kind.h"

#include <stddef.h>

#define EVENTS_AT_ONCE_MAX 4 /* events in one capture */
#define EVENT_NAME_BYTES 256 /* room for mangled symbols and filters of tracepoints */

struct event_info {
    enum event_kind kind;
    const char *name;        /* such as "cpu" */
    const char *description; /* one sentence */
    const char *unit;        /* unit of values: "nanoseconds", "bytes" or "count" */
    double default_hz;       /* for an event that counts time; else 0 */
    uint64_t default_period; /* for other events; else 0 */
    const char *cost;        /* what sampling costs the machine; the end of a sentence */
    enum event_program program;
    enum event_source_kind source;
    uint32_t flags;       /* enum event_flag */
    uint32_t perf_type;   /* type of the perf event that runs the program; EVENT_PERF_NONE: none */
    uint64_t perf_config; /* config of that perf event, for perf_event_open(2) */
};
#define EVENT_PERF_NONE UINT32_MAX

/* How an event is sampled. */
enum event_way {
    EVENT_WAY_OWN,
    EVENT_WAY_AGENT,  /* alloc: by agents in JVMs instead of probes */
    EVENT_WAY_YIELDS, /* offcpu, lock: only waits of virtual threads, by probes */
};

/* An event that is sampled. */
struct event_ref {
    const struct event_info *info;
    const char *name; /* the name in the request; borrowed */
    enum event_way way;
};

/* Returns a reference to the event of a row of the table. */
static inline struct event_ref event_ref_of(const struct event_info *row)
{
    return (struct event_ref){ .info = row, .name = row->name };
}

/* Returns the table of *ret_count rows; static. */
const struct event_info *events_table(size_t *ret_count);
/* Returns the row of @kind, or the common properties of a form's names; static. Returns NULL if
 * there is no such kind. */
const struct event_info *events_row(uint32_t kind);
/* Returns the row of @name, with or without modifiers, or the common properties of its form
 * (event_form.h); static. Returns NULL if @name is no event. */
const struct event_info *events_find(const char *name);
/* Splits @list at its commas, but not at those between slashes, as in pmu/a=1,b=2/, or in braces.
 * The *ret_count parts point into @list and may be empty. Returns 0, or -E2BIG for more than
 * EVENTS_AT_ONCE_MAX parts. */
int events_split(struct span list, struct span ret[EVENTS_AT_ONCE_MAX], size_t *ret_count);
/* Returns whether @a and @b are the same event, with equal or different filters. */
bool events_same(struct span a, struct span b);
/* Returns whether @list has the event @name. */
bool events_listed(struct span list, const char *name);
/* Returns the event of a request without an event. The flight recorder samples this event, too. */
const struct event_info *events_default(void);
/* Returns whether the event counts time, so that requests can give a rate in samples per second. */
static inline bool event_is_timed(const struct event_info *info)
{
    return info->default_hz > 0;
}
/* Returns whether the value of event @name is an amount at the end of a capture. Other values grow
 * with the length of the capture. */
bool event_name_is_stock(const char *name);
/* Returns whether each sample has a value of its own. */
static inline bool event_is_valued(const struct event_info *info)
{
    return info->flags & EVENT_VALUED;
}
/* Returns whether a sample set of @event cannot run at the same time as a set of event @other. */
static inline bool event_excludes(const struct event_ref *event, const char *other)
{
    return event->info->flags & EVENT_SINGLE && events_same(span_of(event->name), span_of(other));
}
/* Returns whether a timer on each processor runs the event's program. */
bool event_has_timer(const struct event_info *info);
/* Returns whether an event that counts can be sampled at a rate in time. Allocation and malloc
 * cannot: they are sampled by bytes. */
bool event_may_be_paced(const struct event_info *info);
/* Returns the value of one occurrence that the kernel counts, in the event's unit. */
uint64_t event_worth(const struct event_info *info);
/* Returns whether an event of @kind may have @period. For alloc, the flight recorder may also use a
 * pace of samples in each process, but requests may not. */
bool event_period_valid(uint32_t kind, uint64_t period);
