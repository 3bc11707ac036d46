/* SPDX-License-Identifier: Apache-2.0 */
#include "event/events.h"

#include "base/macros.h"
#include "event/event_form.h"

#include <string.h>

#define COST_SAMPLE "2 to 10 us of CPU time a sample"
/* Every one is looked at: a draw decides which one is sampled. */
#define COST_SOFTWARE "0.1 to 0.5 us for each on the whole machine, and " COST_SAMPLE
#define COST_HARDWARE "an interrupt and " COST_SAMPLE
#define COST_WAIT "about 0.1 us for each switch of its threads, and " COST_SAMPLE
/* The rest of the JVM's allocations costs nothing. */
#define COST_PROBE                                                                                 \
    "about 1 us for each buffer that a thread fills and each large object, and " COST_SAMPLE
#define COST_AGENT                                                                                 \
    "about 3 us for each object that the JVM draws, at most 1,000 a second, and " COST_SAMPLE
#define COST_MALLOC "about 1 us for each call of malloc in that process, and " COST_SAMPLE
#define COST_BLOCKS                                                                                \
    "1 to 2 us for each call of malloc and 1 us for each of free, in that process, "               \
    "and " COST_SAMPLE
/* A look at each tick, and a probe at each begin and end of a moment. */
#define COST_MOMENT                                                                                \
    "about 0.5 us for each tick of a busy processor, 3 us for each begin and end of a safepoint, " \
    "a collection or a compilation, and for each class, and " COST_SAMPLE
#define VALUED_SOFTWARE false
#define VALUED_HARDWARE false
#define VALUED_WAIT true
#define VALUED_PROBE true
#define VALUED_AGENT true
#define VALUED_MALLOC true
#define VALUED_BLOCKS true
#define VALUED_MOMENT true

static const struct event_info EVENTS[] = {
#define EVENT(id, name_, unit_, hz_, period_, type, config, description_)                          \
    { .kind = EVENT_##id,                                                                          \
      .name = (name_),                                                                             \
      .description = (description_),                                                               \
      .unit = (unit_),                                                                             \
      .default_hz = (hz_),                                                                         \
      .default_period = (period_),                                                                 \
      .cost = (hz_) > 0 && !VALUED_##type ? COST_SAMPLE : COST_##type,                             \
      .valued = VALUED_##type },
#include "event/events.def"
#undef EVENT
};

const struct event_info *events_table(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(EVENTS);
    return EVENTS;
}

/* By the first of the kinds behind EVENTS. */
static const struct event_info FORMS[] = {
    { .kind = EVENT_RAW,
      .name = "rNNN",
      .description = "an event of the processor by its number, from its manual",
      .unit = "count",
      .default_period = 100000,
      .cost = COST_HARDWARE },
    { .kind = EVENT_CACHE,
      .name = "CACHE-loads",
      .description = "accesses to a cache of the processor, or those that missed it",
      .unit = "count",
      .default_period = 100000,
      .cost = COST_HARDWARE },
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
      .single = true },
    { .kind = EVENT_FUNCTION,
      .name = "LIB:SYMBOL",
      .description = "calls of a function of a library, or of the program itself",
      .unit = "count",
      .default_period = 1,
      .cost = "about 1 us for each call in that process, and " COST_SAMPLE },
    { .kind = EVENT_BREAKPOINT,
      .name = "mem:ADDRESS",
      .description = "accesses to an address of the process, by a breakpoint of the processor",
      .unit = "count",
      .default_period = 1,
      .cost = "1 to 40 us for each access, of every process that has the address" },
};

const struct event_info *events_find(const char *name)
{
    struct event_form form;

    if (event_form_parse(span_of(name), &form, NULL) < 0)
        return NULL;
    if (form.kind < EVENT_KINDS)
        return &EVENTS[form.kind];
    return (size_t)form.kind - EVENT_KINDS < ARRAY_SIZE(FORMS) ? &FORMS[form.kind - EVENT_KINDS]
                                                               : NULL;
}

/* Whether the slash at @at of an event's name is none of a PMU's pair: "./node:main",
 * "mem:0x1000/8". */
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
        ret[(*ret_count)++] = (struct span){ list.p + begin, i - begin };
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
    for (size_t i = 0; i < count; i++) {
        if (span_eq_str(parts[i], name))
            return true;
    }
    return false;
}

const struct event_info *events_default(void)
{
    return &EVENTS[0];
}
