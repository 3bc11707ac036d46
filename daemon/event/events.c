/* SPDX-License-Identifier: Apache-2.0 */
#include "event/events.h"

#include "base/list.h"
#include "base/macros.h"
#include "event/event_form.h"

#include <linux/perf_event.h>
#include <unistd.h>

/* Costs that several rows have. */
#define COST_SAMPLE "2 to 10 us of CPU time a sample"
/* The cost of an event whose program runs for each occurrence and samples some at random. */
#define COST_SOFTWARE "0.1 to 0.5 us for each on the whole machine, and " COST_SAMPLE
#define COST_HARDWARE "an interrupt and " COST_SAMPLE
#define COST_SWITCH "about 0.1 us for each switch of its threads, and " COST_SAMPLE

#define PERF_TYPE_NONE EVENT_PERF_NONE
#define PERF_COUNT_NONE 0

static const struct event_info EVENTS[] = {
#define EVENT(id, name_, unit_, hz_, period_, program_, source_, type, config, flags_, cost_,      \
              description_)                                                                        \
    { .kind = EVENT_##id,                                                                          \
      .name = (name_),                                                                             \
      .description = (description_),                                                               \
      .unit = (unit_),                                                                             \
      .default_hz = (hz_),                                                                         \
      .default_period = (period_),                                                                 \
      .cost = cost_,                                                                               \
      .program = PROGRAM_##program_,                                                               \
      .source = SOURCE_##source_,                                                                  \
      .flags = (flags_),                                                                           \
      .perf_type = PERF_TYPE_##type,                                                               \
      .perf_config = PERF_COUNT_##config },
#include "event/events.def"
};

const struct event_info *events_table(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(EVENTS);
    return EVENTS;
}

/* Indexed by kind. The first element is the first kind after the rows. */
static const struct event_info FORMS[] = {
    { .kind = EVENT_RAW,
      .name = "rNNN",
      .description = "an event of the processor by its number, from its manual",
      .unit = "count",
      .default_period = 100000,
      .cost = COST_HARDWARE,
      .perf_type = PERF_TYPE_RAW },
    { .kind = EVENT_CACHE,
      .name = "CACHE-loads",
      .description = "accesses to a cache of the processor, or those that missed it",
      .unit = "count",
      .default_period = 100000,
      .cost = COST_HARDWARE,
      .perf_type = PERF_TYPE_HW_CACHE },
    { .kind = EVENT_PMU,
      .name = "PMU/TERM=N/",
      .description = "an event of the processor by the names that the kernel has for it",
      .unit = "count",
      .default_period = 100000,
      .cost = COST_HARDWARE },
    { .kind = EVENT_TRACEPOINT,
      .name = "GROUP:NAME",
      .description = "a tracepoint of the kernel",
      .unit = "count",
      .default_period = 1,
      .cost = COST_SOFTWARE,
      .program = PROGRAM_POINTS,
      .flags = EVENT_COSTS_ALL | EVENT_SINGLE,
      .perf_type = PERF_TYPE_TRACEPOINT },
    { .kind = EVENT_FUNCTION,
      .name = "LIB:SYMBOL",
      .description = "calls of a function of a library, or of the program itself",
      .unit = "count",
      .default_period = 1,
      .cost = "about 1 us for each call in that process, and " COST_SAMPLE,
      .program = PROGRAM_ALLOC,
      .source = SOURCE_CALLS,
      .flags = EVENT_PROBES | EVENT_CALLS,
      .perf_type = EVENT_PERF_NONE },
    { .kind = EVENT_BREAKPOINT,
      .name = "mem:ADDRESS",
      .description = "accesses to an address of the process, by a breakpoint of the processor",
      .unit = "count",
      .default_period = 1,
      .cost = "1 to 40 us for each access, of every process that has the address",
      .flags = EVENT_COSTS_ALL,
      .perf_type = PERF_TYPE_BREAKPOINT },
};

const struct event_info *events_row(uint32_t kind)
{
    if (kind < EVENT_KINDS)
        return &EVENTS[kind];
    return kind - EVENT_KINDS < ARRAY_SIZE(FORMS) ? &FORMS[kind - EVENT_KINDS] : NULL;
}

const struct event_info *events_find(const char *name)
{
    struct event_form form;

    return event_form_parse(span_of(name), &form, NULL) < 0 ? NULL : events_row(form.kind);
}

bool event_name_is_stock(const char *name)
{
    const struct event_info *info = events_find(name);

    return info && info->flags & (EVENT_OBJECTS | EVENT_BLOCKS);
}

bool event_has_timer(const struct event_info *info)
{
    return info->perf_type == PERF_TYPE_SOFTWARE && info->perf_config == PERF_COUNT_SW_CPU_CLOCK;
}

bool event_may_be_paced(const struct event_info *info)
{
    return !event_is_timed(info) && !event_is_valued(info);
}

uint64_t event_worth(const struct event_info *info)
{
    return info->flags & EVENT_PAGES ? (uint64_t)sysconf(_SC_PAGESIZE) : 1;
}

bool event_period_valid(uint32_t kind, uint64_t period)
{
    const struct event_info *info = events_row(kind);
    uint64_t number = event_period_number(period);
    bool paced = event_is_paced(period);

    if (!info || (paced && !event_may_be_paced(info) && kind != EVENT_ALLOC))
        return false;
    if (event_is_timed(info) || paced)
        return number >= EVENT_PERIOD_MIN_NS && number <= EVENT_PERIOD_MAX_NS;
    return period > 0 && period <= EVENT_PERIOD_MAX_COUNT && period % event_worth(info) == 0;
}

/* Returns whether the slash at @at of an event's name is a single one, as in "./node:main" and
 * "mem:0x1000/8", and not one of a PMU's pair. */
static bool is_single_slash(struct span name, size_t at)
{
    return (at == 1 && name.p[0] == '.') || span_starts_with(name, "mem:");
}

bool events_same(struct span a, struct span b)
{
    return span_eq((struct span){ a.p, span_find(a, '{') },
                   (struct span){ b.p, span_find(b, '{') });
}

int events_split(struct span list, struct span ret[EVENTS_AT_ONCE_MAX], size_t *ret_count)
{
    size_t begin = 0;
    bool slashes = false, braces = false;

    *ret_count = 0;
    for (size_t i = 0; i <= list.n; i++) {
        if (i < list.n && (list.p[i] == '{' || list.p[i] == '}'))
            braces = list.p[i] == '{';
        else if (i < list.n && !braces && list.p[i] == '/' &&
                 !is_single_slash(span_from(list, begin), i - begin))
            slashes = !slashes;
        if (i < list.n && (slashes || braces || list.p[i] != ','))
            continue;
        if (*ret_count == EVENTS_AT_ONCE_MAX)
            return -E2BIG;
        ret[*ret_count] = span_from(list, begin);
        ret[(*ret_count)++].n = i - begin;
        begin = i + 1;
    }
    return 0;
}

bool events_listed(struct span list, const char *name)
{
    struct span parts[EVENTS_AT_ONCE_MAX];
    size_t count;

    if (events_split(list, parts, &count) < 0)
        return false;
    return ANY_OF(i, count, span_eq_str(parts[i], name));
}

const struct event_info *events_default(void)
{
    return &EVENTS[0];
}
