/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params/param_parse.h"

#include "base/text.h"
#include "event/event_form.h"
#include "event/events.h"
#include "serve/params/time_text.h"

int param_refuse(const struct param *spec, struct span value, struct error *err)
{
    char show[QUERY_SHOW_MAX];

    return error_parameter(err, spec->name, -EINVAL, "%s=%s is not possible: %s takes %s",
                           spec->name, query_show(value, show), spec->name, spec->expects);
}

bool params_parse_pid(struct span text, int32_t *ret)
{
    uint64_t v;

    if (!span_parse_dec(text, &v) || v == 0 || v > INT32_MAX)
        return false;
    *ret = (int32_t)v;
    return true;
}

int param_pid(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    struct target_selector *t = &p->target;
    struct span rest = value, one;
    char show[QUERY_SHOW_MAX];

    if (value.p[value.n - 1] == ',')
        return param_refuse(spec, value, err);
    while (span_take_until(&rest, ',', &one)) {
        int32_t pid;

        if (!params_parse_pid(one, &pid)) {
            return error_parameter(err, spec->name, -EINVAL,
                                   "'%s' is not a process id: %s takes %s", query_show(one, show),
                                   spec->name, spec->expects);
        }
        for (size_t i = 0; i < t->pid_count; i++) {
            if (t->pids[i] == pid)
                return error_parameter(err, spec->name, -EINVAL,
                                       "process %d is named twice: name each once", (int)pid);
        }
        if (t->pid_count == BACKEND_PIDS_MAX) {
            error_remedy(err, "select them by container, pod or jvm, or leave pid out");
            return error_parameter(err, spec->name, -EINVAL, "pid takes at most %d processes",
                                   BACKEND_PIDS_MAX);
        }
        t->pids[t->pid_count++] = pid;
    }
    return 0;
}

int param_nspid(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    return params_parse_pid(value, &p->target.ns_pid) ? 0 : param_refuse(spec, value, err);
}

int param_text(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    if (value.n > 256)
        return param_refuse(spec, value, err);
    *(const char **)((char *)p + spec->offset) = value.p;
    return 0;
}

int param_jvm(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    _cleanup_(match_freep) struct match *m = NULL;
    int r = match_new(&value.p, 1, spec->name, &m, err);

    if (r == 0)
        p->target.jvm = value.p;
    return r;
}

/* Collects a pattern; all are compiled at the end. */
int param_pattern(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    bool include = strcmp(spec->name, "include") == 0;
    const char **patterns = include ? p->include : p->exclude;
    size_t *count = include ? &p->include_count : &p->exclude_count;

    if (*count == MATCH_PATTERNS_MAX) {
        error_remedy(err, "join expressions by '|'");
        return error_parameter(err, spec->name, -EINVAL, "%s may be given at most %d times",
                               spec->name, MATCH_PATTERNS_MAX);
    }
    patterns[(*count)++] = value.p;
    return 0;
}

int param_seconds(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    if (!value_scaled(value, NSEC_PER_SEC, &p->duration_ns) || p->duration_ns < NSEC_PER_SEC / 10 ||
        p->duration_ns > 3600 * NSEC_PER_SEC)
        return param_refuse(spec, value, err);
    return 0;
}

/* Takes @name as another event of @p. */
static int add_event(const struct param *spec, struct span name, struct params *p,
                     struct error *err)
{
    struct wanted_event *event = &p->events[p->event_count];
    char show[QUERY_SHOW_MAX];

    if (name.n == 0 || name.n >= sizeof(event->name))
        return param_refuse(spec, name, err);
    for (size_t i = 0; i < name.n; i++) {
        bool blank = name.p[i] == ' ' && i > span_find(name, '{');

        if ((name.p[i] <= ' ' && !blank) || name.p[i] == 0x7f)
            return param_refuse(spec, name, err);
    }
    for (size_t i = 0; i < p->event_count; i++) {
        if (events_same(name, span_of(p->events[i].name)))
            return error_parameter(err, spec->name, -EINVAL,
                                   "event '%s' is named twice: name each once, a tracepoint with "
                                   "one filter at most",
                                   query_show(name, show));
    }
    span_copy(name, event->name, sizeof(event->name));
    p->event_count++;
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
    p->event_count = 0;
    for (size_t i = 0; i < count && r == 0; i++)
        r = add_event(spec, names[i], p, err);
    span_copy(value, p->event, sizeof(p->event));
    return r;
}

/* Writes the names of @p's events as a list again. */
static void list_events(struct params *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->event_count; i++)
        n += (size_t)snprintf(p->event + n, sizeof(p->event) - n, "%s%s", i ? "," : "",
                              p->events[i].name);
}

/* Of native memory, the event that is sampled by calls of malloc. */
#define OF_MALLOC "malloc"
#define OF_FAULTS "nativemem"

int param_set_source(struct params *p, struct error *err)
{
    bool found = false;

    if (p->source == ALLOC_SOURCE_PROBE && events_listed(span_of(p->event), "live") &&
        !events_listed(span_of(p->event), "alloc")) {
        error_remedy(err, "leave source= away, or ask for event=alloc, which shows all that is "
                          "allocated");
        return error_parameter(err, "source", -EINVAL,
                               "event=live is sampled by an agent in the JVM, and in no other way");
    }
    if (p->source != ALLOC_SOURCE_MALLOC)
        return 0;
    for (size_t i = 0; i < p->event_count; i++)
        found |= strcmp(p->events[i].name, OF_FAULTS) == 0;
    if (!found || (p->event_count > 1 && events_listed(span_of(p->event), OF_MALLOC)))
        return error_parameter(err, "source", -EINVAL,
                               "source=malloc says how event=" OF_FAULTS " is sampled: name that, "
                               "and event=" OF_MALLOC " not besides");
    for (size_t i = 0; i < p->event_count; i++) {
        if (strcmp(p->events[i].name, OF_FAULTS) == 0)
            span_copy(span_of(OF_MALLOC), p->events[i].name, sizeof(p->events[i].name));
    }
    list_events(p);
    return 0;
}

int param_hz(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    uint64_t millihz;

    if (!value_scaled(value, 1000, &millihz) || millihz < 1000 || millihz > PARAMS_HZ_MAX * 1000)
        return param_refuse(spec, value, err);
    p->timed_period = (NSEC_PER_SEC * 1000 + millihz / 2) / millihz;
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
    p->interval = value;
    return 0;
}

int param_filter(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    if (!event_is_filter(value))
        return param_refuse(spec, value, err);
    p->filter = value;
    return 0;
}

int param_put_filter(struct params *p, struct error *err)
{
    char *point = NULL;
    size_t points = 0;

    if (!p->filter.n)
        return 0;
    for (size_t i = 0; i < p->event_count; i++) {
        const struct event_info *event = events_find(p->events[i].name);

        if (event && event->kind == EVENT_TRACEPOINT) {
            point = p->events[i].name;
            points++;
        }
    }
    if (points != 1 || strchr(point, '{')) {
        error_remedy(err, "of several tracepoints each can have its own behind its name, in "
                          "braces: sched:sched_switch{prev_prio < 100}");
        return error_parameter(err, "filter", -EINVAL,
                               "filter takes one tracepoint without a filter, and event=%s has %s",
                               p->event,
                               points == 0   ? "no tracepoint"
                               : points == 1 ? "a filter"
                                             : "several");
    }
    if (strlen(point) + p->filter.n + 2 >= EVENT_NAME_BYTES)
        return error_parameter(err, "filter", -EINVAL,
                               "the tracepoint's name and its filter have at most %d characters",
                               EVENT_NAME_BYTES - 3);
    snprintf(point + strlen(point), EVENT_NAME_BYTES - strlen(point), "{%.*s}", (int)p->filter.n,
             p->filter.p);
    list_events(p);
    return 0;
}

/* Reads @text, the interval of @event, into *ret; without a text *ret stays as it is. */
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
                               name, (unsigned long long)event_worth(event->kind),
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

/* hz is of the events that count time; if there is none, of all, which @p's then have as a pace. */
static int set_paces(struct params *p, struct error *err)
{
    for (size_t i = 0; i < p->event_count; i++) {
        const struct event_info *event = events_find(p->events[i].name);

        if (!event_may_be_paced(event->kind))
            return error_parameter(err, "hz", -EINVAL,
                                   "event=%s has no rate: give interval=, so many %s between two "
                                   "samples (default %llu)",
                                   p->events[i].name, event->unit,
                                   (unsigned long long)event->default_period);
        p->events[i].period = EVENT_PACED | p->timed_period;
    }
    return 0;
}

int param_set_periods(struct params *p, struct error *err)
{
    struct span intervals[EVENTS_AT_ONCE_MAX] = { 0 };
    size_t count = 0;
    bool timed = false;
    int r = 0;

    if (p->interval.n &&
        (events_split(p->interval, intervals, &count) < 0 || count != p->event_count))
        return error_parameter(err, "interval", -EINVAL,
                               "there are %zu intervals for %zu events: give one for each, in "
                               "their order, with commas between them",
                               count, p->event_count);
    for (size_t i = 0; i < p->event_count && r == 0; i++) {
        const struct event_info *event = events_find(p->events[i].name);

        p->events[i].period = p->timed_period;
        timed |= !event || event_is_timed(event);
        if (!event)
            continue; /* the search for it refuses it */
        if (!event_is_timed(event))
            p->events[i].period = event->default_period;
        else if (!(p->given & PARAM_BIT(PARAM_HZ)))
            p->events[i].period = (uint64_t)(1e9 / event->default_hz);
        r = set_interval(event, p->events[i].name, intervals[i], &p->events[i].period, err);
    }
    return r == 0 && !timed && p->given & PARAM_BIT(PARAM_HZ) ? set_paces(p, err) : r;
}

int param_states(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    struct span rest = value, one;
    unsigned state;

    if (value.p[value.n - 1] == ',')
        return param_refuse(spec, value, err);
    while (span_take_until(&rest, ',', &one)) {
        for (state = STATE_RUNNING; state < STATE_COUNT; state++) {
            if (span_eq_str(one, STATE_NAMES[state]))
                break;
        }
        if (state == STATE_COUNT || p->view.states & STATE_BIT(state))
            return param_refuse(spec, value, err);
        p->view.states |= STATE_BIT(state);
    }
    return 0;
}

int param_format(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    const struct render_format *formats;
    char list[160] = "", show[QUERY_SHOW_MAX];
    size_t count;

    p->format = render_format_find(value);
    if (p->format)
        return 0;
    formats = render_formats(&count);
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(list);

        snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", formats[i].name);
    }
    return error_parameter(err, spec->name, -EINVAL,
                           "format=%s is not possible: this version writes %s",
                           query_show(value, show), list);
}

int param_named(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    unsigned v;

    if (!value_named(value, spec->names, spec->name_count, &v))
        return param_refuse(spec, value, err);
    memcpy((char *)p + spec->offset, &v, sizeof(v)); /* an enum of ours */
    return 0;
}

int param_bool(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    if (value.n != 1 || (value.p[0] != '0' && value.p[0] != '1'))
        return param_refuse(spec, value, err);
    *(bool *)((char *)p + spec->offset) = (value.p[0] == '1') != spec->negate;
    return 0;
}

int param_depth(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    uint64_t v;

    if (!span_parse_dec(value, &v) || v < 1 || v > PARAMS_DEPTH_MAX)
        return param_refuse(spec, value, err);
    p->view.depth = v;
    return 0;
}

int param_title(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    _cleanup_buf_ struct buf clean = BUF_NULL;

    if (value.n > PARAMS_TITLE_MAX)
        return param_refuse(spec, value, err);
    buf_init(&clean, (size_t)PARAMS_TITLE_MAX * 3);
    text_clean(value, TEXT_UTF8, PARAMS_TITLE_MAX, &clean);
    span_copy(buf_span(&clean), p->title, sizeof(p->title));
    return 0;
}

int param_minwidth(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    struct span number = value;
    uint64_t millionths;

    if (span_ends_with(number, "%"))
        number.n--;
    if (!value_scaled(number, 1000000, &millionths) || millionths > 100000000)
        return param_refuse(spec, value, err);
    p->minwidth = (double)millionths / 1e6;
    return 0;
}

int param_range(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    bool from = spec->offset == offsetof(struct params, range.from_ns);
    uint64_t t;

    if (!time_parse(value, p->now_ns, &t))
        return param_refuse(spec, value, err);
    if (from)
        p->range.from_ns = t;
    else
        p->range.to_ns = t;
    return 0;
}

/* A whole number from spec->least to spec->most. */
int param_number(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    uint64_t v;

    if (!span_parse_dec(value, &v) || v < spec->least || v > spec->most)
        return param_refuse(spec, value, err);
    *(size_t *)((char *)p + spec->offset) = (size_t)v;
    return 0;
}

int param_refresh(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    if (!value_interval(value, &p->refresh_ns) || p->refresh_ns < NSEC_PER_SEC / 10 ||
        p->refresh_ns > 60 * NSEC_PER_SEC)
        return param_refuse(spec, value, err);
    return 0;
}
