/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of the parameters that select events, their rates and their sources. */
#include "serve/params/param_parse.h"

#include "event/event_form.h"
#include "event/events.h"

/* Adds the event @name to @p. */
static int add_event(const struct param *spec, struct span name, struct params *p,
                     struct error *err)
{
    struct wanted_event *event = &p->capture.events[p->capture.event_count];
    char show[QUERY_SHOW_MAX];

    if (name.n == 0 || name.n >= sizeof(event->name))
        return param_refuse(spec, name, err);
    for (size_t i = 0; i < name.n; i++) {
        bool blank = name.p[i] == ' ' && i > span_find(name, '{');

        if ((name.p[i] <= ' ' && !blank) || name.p[i] == 0x7f)
            return param_refuse(spec, name, err);
    }
    for (size_t i = 0; i < p->capture.event_count; i++) {
        if (events_same(name, span_of(p->capture.events[i].name)))
            return error_parameter(err, spec->name, -EINVAL,
                                   "event '%s' is named twice: name each once, a tracepoint with "
                                   "one filter at most",
                                   query_show(name, show));
    }
    wanted_event_set(event, name);
    p->capture.event_count++;
    return 0;
}

int param_event(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    struct span names[EVENTS_AT_ONCE_MAX];
    size_t count;
    int r = 0;

    if (events_split(value, names, &count) < 0) {
        error_remedy(err, "begin two captures");
        return error_parameter(err, spec->name, -EINVAL, "a capture takes at most %d events",
                               EVENTS_AT_ONCE_MAX);
    }
    p->capture.event_count = 0;
    for (size_t i = 0; i < count && r == 0; i++)
        r = add_event(spec, names[i], p, err);
    span_copy(value, p->events.names, sizeof(p->events.names));
    return r;
}

/* Rebuilds the list of names in @p->event from @p->events. */
static void list_events(struct params *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->capture.event_count; i++)
        n += (size_t)snprintf(p->events.names + n, sizeof(p->events.names) - n, "%s%s",
                              i ? "," : "", p->capture.events[i].name);
}

/* The event that samples native memory by calls of malloc, and the one that samples it by page
 * faults. */
#define OF_MALLOC "malloc"
#define OF_FAULTS "nativemem"

int param_set_source(struct params *p, struct error *err)
{
    bool found = false;

    if (p->capture.source == ALLOC_SOURCE_PROBE &&
        events_listed(span_of(p->events.names), "live") &&
        !events_listed(span_of(p->events.names), "alloc")) {
        error_remedy(
            err, "leave out source=, or ask for event=alloc, which shows all that is allocated");
        return error_parameter(err, "source", -EINVAL,
                               "event=live is sampled by an agent in the JVM, and in no other way");
    }
    if (p->capture.source != ALLOC_SOURCE_MALLOC)
        return 0;
    for (size_t i = 0; i < p->capture.event_count; i++)
        found |= strcmp(p->capture.events[i].name, OF_FAULTS) == 0;
    if (!found ||
        (p->capture.event_count > 1 && events_listed(span_of(p->events.names), OF_MALLOC)))
        return error_parameter(err, "source", -EINVAL,
                               "source=malloc says how event=" OF_FAULTS " is sampled: name that, "
                               "and event=" OF_MALLOC " not besides");
    for (size_t i = 0; i < p->capture.event_count; i++) {
        if (strcmp(p->capture.events[i].name, OF_FAULTS) == 0)
            wanted_event_set(&p->capture.events[i], span_of(OF_MALLOC));
    }
    list_events(p);
    return 0;
}

int param_hz(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    uint64_t millihz;

    if (!value_scaled(value, 1000, &millihz) || millihz < 1000 || millihz > PARAMS_HZ_MAX * 1000)
        return param_refuse(spec, value, err);
    p->events.timed_period = (NSEC_PER_SEC * 1000 + millihz / 2) / millihz;
    return 0;
}

int param_interval(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    struct span parts[EVENTS_AT_ONCE_MAX];
    size_t count;
    uint64_t v;

    if (events_split(value, parts, &count) < 0)
        return param_refuse(spec, value, err);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].n && !value_interval(parts[i], &v) && !value_count(parts[i], &v))
            return param_refuse(spec, value, err);
    }
    p->events.interval = value;
    return 0;
}

int param_filter(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    if (!event_is_filter(value))
        return param_refuse(spec, value, err);
    p->events.filter = value;
    return 0;
}

int param_put_filter(struct params *p, struct error *err)
{
    char *point = NULL;
    size_t points = 0;

    if (!p->events.filter.n)
        return 0;
    for (size_t i = 0; i < p->capture.event_count; i++) {
        const struct event_info *event = p->capture.events[i].info;

        if (event && event->kind == EVENT_TRACEPOINT) {
            point = p->capture.events[i].name;
            points++;
        }
    }
    if (points != 1 || strchr(point, '{')) {
        error_remedy(err, "of several tracepoints each can have its own behind its name, in "
                          "braces: sched:sched_switch{prev_prio < 100}");
        return error_parameter(err, "filter", -EINVAL,
                               "filter takes one tracepoint without a filter, and event=%s has %s",
                               p->events.names,
                               points == 0   ? "no tracepoint"
                               : points == 1 ? "a filter"
                                             : "several");
    }
    if (strlen(point) + p->events.filter.n + 2 >= EVENT_NAME_BYTES)
        return error_parameter(err, "filter", -EINVAL,
                               "the tracepoint's name and its filter have at most %d characters",
                               EVENT_NAME_BYTES - 3);
    snprintf(point + strlen(point), EVENT_NAME_BYTES - strlen(point), "{%.*s}",
             (int)p->events.filter.n, p->events.filter.p);
    list_events(p);
    return 0;
}

/* Parses @text, the interval of @event, into *ret; an empty @text leaves *ret unchanged. */
static int set_interval(const struct event_info *event, const char *name, struct span text,
                        uint64_t *ret, struct error *err)
{
    bool timed = event_is_timed(event), bytes = strcmp(event->unit, "bytes") == 0;

    if (!text.n || ((timed   ? value_interval(text, ret)
                     : bytes ? value_bytes(text, ret)
                             : value_count(text, ret)) &&
                    event_period_valid(event->kind, *ret)))
        return 0;
    if (bytes)
        return error_parameter(err, "interval", -EINVAL,
                               "interval of event=%s takes bytes between two samples, as a "
                               "multiple of %llu, such as %lluk",
                               name, (unsigned long long)event_worth(event),
                               (unsigned long long)event->default_period / 1024);
    if (timed)
        return error_parameter(err, "interval", -EINVAL,
                               "interval of event=%s takes the time between samples with its "
                               "unit (us, ms or s), from 100us to 1s, such as 10ms",
                               name);
    return error_parameter(err, "interval", -EINVAL,
                           "interval of event=%s takes a number from 1 to 10^12, of %s between two "
                           "samples, such as %llu",
                           name, name, (unsigned long long)event->default_period);
}

/* Sets hz as the pace of every event of @p. Only for lists without an event that counts time: in
 * other lists, hz applies to those events alone. */
static int set_paces(struct params *p, struct error *err)
{
    for (size_t i = 0; i < p->capture.event_count; i++) {
        struct wanted_event *wanted = &p->capture.events[i];
        const struct event_info *event = wanted->info;

        if (!event_may_be_paced(event))
            return error_parameter(err, "hz", -EINVAL,
                                   "event=%s has no rate: give interval=, so many %s between two "
                                   "samples (default %llu)",
                                   wanted->name, event->unit,
                                   (unsigned long long)event->default_period);
        wanted->period = EVENT_PACED | p->events.timed_period;
    }
    return 0;
}

int param_set_periods(struct params *p, struct error *err)
{
    struct span intervals[EVENTS_AT_ONCE_MAX] = { 0 };
    size_t count = 0;
    bool timed = false;
    int r = 0;

    if (p->events.interval.n && (events_split(p->events.interval, intervals, &count) < 0 ||
                                 count != p->capture.event_count))
        return error_parameter(err, "interval", -EINVAL,
                               "there are %zu intervals for %zu events: give one for each, in "
                               "their order, with commas between them",
                               count, p->capture.event_count);
    for (size_t i = 0; i < p->capture.event_count && r == 0; i++) {
        struct wanted_event *wanted = &p->capture.events[i];
        const struct event_info *event = wanted->info;

        wanted->period = p->events.timed_period;
        timed |= !event || event_is_timed(event);
        if (!event)
            continue; /* unknown event: events_find() reports the error later */
        if (!event_is_timed(event))
            wanted->period = event->default_period;
        else if (!(p->given & PARAM_BIT(PARAM_HZ)))
            wanted->period = (uint64_t)(1e9 / event->default_hz);
        r = set_interval(event, wanted->name, intervals[i], &wanted->period, err);
    }
    return r == 0 && !timed && p->given & PARAM_BIT(PARAM_HZ) ? set_paces(p, err) : r;
}
