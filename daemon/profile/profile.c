/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a published profile. */
#include "profile/profile.h"

#include "base/list.h"

#include <stdatomic.h>

static atomic_size_t counted_bytes; /* of all profiles that are counted */

void profile_count(struct profile *p)
{
    p->hold.counted_bytes = profile_bytes(p);
    atomic_fetch_add_explicit(&counted_bytes, p->hold.counted_bytes, memory_order_relaxed);
}

size_t profile_counted_bytes(void)
{
    return atomic_load_explicit(&counted_bytes, memory_order_relaxed);
}

struct profile *profile_ref(struct profile *p)
{
    if (p)
        __atomic_add_fetch((unsigned *)&p->hold.refs, 1, __ATOMIC_RELAXED);
    return p;
}

struct profile *profile_unref(struct profile *p)
{
    if (!p || __atomic_sub_fetch((unsigned *)&p->hold.refs, 1, __ATOMIC_ACQ_REL) > 0)
        return NULL;
    atomic_fetch_sub_explicit(&counted_bytes, p->hold.counted_bytes, memory_order_relaxed);
    intern_free(p->strings);
    free(p->modules);
    free(p->functions);
    free(p->routes);
    free(p->frames);
    free(p->stacks);
    free(p->processes);
    free(p->threads);
    free(p->samples);
    free(p->moments);
    free(p->contexts);
    for (size_t i = 0; i < p->warning_count; i++)
        free(p->warnings[i]);
    free(p);
    return NULL;
}

uint32_t profile_find_event(const struct profile *p, const struct profile_event *e)
{
    for (uint32_t i = 0; i < p->event_count; i++)
        if (strcmp(p->events[i].name, e->name) == 0 && strcmp(p->events[i].unit, e->unit) == 0)
            return i;
    return PROFILE_EVENTS_MAX;
}

bool profile_age(const struct profile *p, uint32_t event, uint32_t frame, uint64_t *ret_age)
{
    const struct event_info *info =
        event < p->event_count ? events_find(p->events[event].name) : NULL;

    return info && info->flags & EVENT_OBJECTS &&
           span_parse_dec(intern_get(p->strings, p->functions[p->frames[frame].function].name),
                          ret_age);
}

bool profile_has_event(const struct profile *p, const char *name)
{
    return ANY_OF(i, p->event_count, strcmp(p->events[i].name, name) == 0);
}

uint32_t profile_add_event(struct profile *p, const struct profile_event *e)
{
    uint32_t i = profile_find_event(p, e);

    if (i < PROFILE_EVENTS_MAX) {
        p->events[i].period = MIN(p->events[i].period, e->period);
        p->events[i].valued |= e->valued;
        return i;
    }
    if (p->event_count == PROFILE_EVENTS_MAX)
        return PROFILE_EVENTS_MAX;
    p->events[p->event_count] = *e;
    return p->event_count++;
}

void profile_event_names(const struct profile *p, char ret[PROFILE_EVENT_NAMES_BYTES])
{
    size_t n = 0;

    ret[0] = '\0';
    for (uint32_t i = 0; i < p->event_count && n < PROFILE_EVENT_NAMES_BYTES; i++)
        n += (size_t)snprintf(ret + n, PROFILE_EVENT_NAMES_BYTES - n, "%s%s", i ? "," : "",
                              p->events[i].name);
}

size_t profile_bytes(const struct profile *p)
{
    return sizeof(*p) + intern_bytes(p->strings) + p->module_count * sizeof(*p->modules) +
           p->function_count * sizeof(*p->functions) +
           (p->routes ? p->function_count * sizeof(*p->routes) : 0) +
           p->frame_count * sizeof(*p->frames) + p->stack_count * sizeof(*p->stacks) +
           p->process_count * sizeof(*p->processes) + p->thread_count * sizeof(*p->threads) +
           p->sample_count * sizeof(*p->samples) + p->moment_count * sizeof(*p->moments) +
           p->context_count * sizeof(*p->contexts);
}

void profile_shift(struct profile *p, uint64_t start_ns)
{
    uint64_t by = start_ns - p->start_ns; /* may wrap; so do the additions below */

    for (size_t i = 0; i < p->sample_count; i++)
        p->samples[i].time_ns += by;
    for (size_t i = 0; i < p->moment_count; i++) {
        p->moments[i].start_ns += by;
        p->moments[i].end_ns += by;
    }
    p->start_ns += by;
    p->end_ns += by;
    p->start_realtime_ns = start_ns;
}

struct profile_event profile_event_of(const struct event_info *info, uint64_t period)
{
    bool paced = event_is_paced(period);
    struct profile_event e = { .period = paced ? 0 : period,
                               .valued = event_is_valued(info) || paced };

    snprintf(e.name, sizeof(e.name), "%s", info->name);
    snprintf(e.unit, sizeof(e.unit), "%s", info->unit);
    return e;
}
