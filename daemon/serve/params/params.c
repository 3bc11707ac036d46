/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params/params.h"

#include "base/clock.h"
#include "base/list.h"
#include "event/events.h"
#include "serve/params/param_parse.h"

static const struct value_name NAMES_OF_NAMES[] = {
    { "full", VIEW_NAMES_FULL },
    { "simple", VIEW_NAMES_SIMPLE },
    { "signature", VIEW_NAMES_SIGNATURE },
    { "merged", VIEW_NAMES_MERGED },
};

static const struct value_name NAMES_OF_STATES[] = {
    { "any", CAPTURES_ANY },
    { "running", CAPTURES_RUNNING },
    { "done", CAPTURES_DONE },
    { "failed", CAPTURES_FAILED },
};

static const struct value_name NAMES_OF_LINES[] = {
    { "jvm", TIMELINE_BY_JVM },
    { "category", TIMELINE_BY_CATEGORY },
    { "jvm-category", TIMELINE_BY_JVM_CATEGORY },
};

static const struct value_name NAMES_OF_GROUPS[] = {
    { "thread", VIEW_BY_THREAD },       { "pool", VIEW_BY_POOL },       { "state", VIEW_BY_STATE },
    { "operation", VIEW_BY_OPERATION }, { "trace", VIEW_BY_TRACE },     { "span", VIEW_BY_SPAN },
    { "service", VIEW_BY_SERVICE },     { "version", VIEW_BY_VERSION }, { "kind", VIEW_BY_KIND },
};

static const struct value_name NAMES_OF_DIFFS[] = {
    { "html", DIFF_HTML }, { "svg", DIFF_SVG },   { "collapsed", DIFF_COLLAPSED },
    { "json", DIFF_JSON }, { "text", DIFF_TEXT },
};

static const struct value_name NAMES_OF_LISTS[] = {
    { "json", LIST_JSON },
    { "text", LIST_TEXT },
};

static const struct value_name NAMES_OF_SYMBOLS[] = {
    { "auto", SYMBOLS_AUTO },       { "agent", SYMBOLS_AGENT }, { "memory", SYMBOLS_MEMORY },
    { "perfmap", SYMBOLS_PERFMAP }, { "none", SYMBOLS_NONE },
};

static const struct value_name NAMES_OF_SOURCES[] = {
    { "auto", ALLOC_SOURCE_AUTO },
    { "probe", ALLOC_SOURCE_PROBE },
    { "agent", ALLOC_SOURCE_AGENT },
    { "malloc", ALLOC_SOURCE_MALLOC },
};

static const struct value_name NAMES_OF_MAP_SYMBOLS[] = {
    { "auto", SYMBOLS_AUTO },
    { "agent", SYMBOLS_AGENT },
    { "memory", SYMBOLS_MEMORY },
    { "perfmap", SYMBOLS_PERFMAP },
};

#define TEXT_OF(member)                                                                            \
    .parse = param_text, .offset = offsetof(struct params, capture.target.member)
#define BOOL_OF(member) .parse = param_bool, .offset = offsetof(struct params, member)
#define NAME_OF(member, table)                                                                     \
    .parse = param_named, .offset = offsetof(struct params, member), .names = (table),             \
    .name_count = ARRAY_SIZE(table)
#define WORD_OF(member) .parse = param_text, .offset = offsetof(struct params, member)
#define NUMBER_OF(member, low, high)                                                               \
    .parse = param_number, .offset = offsetof(struct params, member), .least = (low), .most = (high)
#define PERIOD_OF(member, low, high)                                                               \
    .parse = param_period, .offset = offsetof(struct params, member), .least = (low), .most = (high)
#define TIME_OF(member) .parse = param_range, .offset = offsetof(struct params, member)
#define PATTERN_OF(member) .parse = param_pattern, .offset = offsetof(struct params, member)
#define EXPECTS_BOOL "0 or 1"
#define EXPECTS_SIDE                                                                               \
    "the id of a capture, or a range of time such as -10m..-5m, -2h/-1h50m or -5m (until now)"
#define EXPECTS_TIME                                                                               \
    "a time: now, -60s, -5m, -1h50m or -1d before now, 03:12 or 2026-01-31T23:59 of this node's "  \
    "clock, "                                                                                      \
    "or RFC 3339 such as 2026-01-31T23:59:00Z"

#define PATTERN JSON({ "type" : "string", "format" : "regex", "minLength" : 1, "maxLength" : 1024 })

static const struct param PARAMS[PARAM_COUNT] = {
#define PARAM(id, ...) [PARAM_##id] = { __VA_ARGS__ },
#include "serve/params/params.def"
#undef PARAM
};

_Static_assert(sizeof(enum symbols_source) == sizeof(unsigned), "param_name() writes an unsigned");
_Static_assert(sizeof(enum alloc_source) == sizeof(unsigned), "as above");
_Static_assert(sizeof(enum captures_state) == sizeof(unsigned), "as above");
_Static_assert(sizeof(enum timeline_by) == sizeof(unsigned), "as above");
_Static_assert(sizeof(enum diff_format) == sizeof(unsigned), "as above");
_Static_assert(sizeof(enum view_names) == sizeof(unsigned), "param_name() writes an unsigned");

const struct param *param_row(enum param_id id)
{
    return &PARAMS[id];
}

const char *param_name(enum param_id id)
{
    return PARAMS[id].name;
}

bool param_takes_list(const char *name)
{
    for (size_t i = 0; i < PARAM_COUNT; i++) { /* two may have one name, on different routes */
        const struct param *p = &PARAMS[i];

        if ((p->parse == param_pid || p->parse == param_event || p->parse == param_states) &&
            strcmp(p->name, name) == 0)
            return true;
    }
    return false;
}

/* Writes the @count (at least 1) names of parameters that a route takes. A list without room ends
 * with a whole name. */
static void list_names(const char *const *names, size_t count, char ret[ERROR_REMEDY_MAX])
{
    static const char REST[] = ", ... (GET /openapi.json lists all)";
    size_t n = (size_t)snprintf(ret, ERROR_REMEDY_MAX, "it takes %s", names[0]);

    for (size_t i = 1; i < count; i++) {
        size_t more = strlen(names[i]) + 2 + (i + 1 < count ? strlen(REST) : 0);

        if (n + more >= ERROR_REMEDY_MAX) {
            snprintf(ret + n, ERROR_REMEDY_MAX - n, "%s", REST);
            return;
        }
        n += (size_t)snprintf(ret + n, ERROR_REMEDY_MAX - n, ", %s", names[i]);
    }
}

/* Refuses an unknown parameter: the sentence suggests the nearest name, the remedy lists
 * names. */
static int refuse_unknown(struct span name, param_set allowed, struct error *err)
{
    const char *names[PARAM_COUNT], *near;
    char list[ERROR_REMEDY_MAX], show[QUERY_SHOW_MAX];
    size_t count = 0;

    for (size_t i = 0; i < PARAM_COUNT; i++) {
        if (allowed & PARAM_BIT(i))
            names[count++] = PARAMS[i].name;
    }
    near = value_nearest(name, names, count);
    if (count)
        list_names(names, count, list);
    error_remedy(err, "%s", count ? list : "leave it out");
    query_show(name, show);
    if (near)
        return error_set(err, -EINVAL, "there is no parameter '%s' here: did you mean '%s'?", show,
                         near);
    if (count == 0)
        return error_set(err, -EINVAL, "there is no parameter '%s' here: this route takes none",
                         show);
    return error_set(err, -EINVAL, "there is no parameter '%s' here", show);
}

static int params_parse_one(const struct query_item *item, param_set allowed, struct params *p,
                            struct span *unknown, struct error *err)
{
    const struct param *spec = NULL;
    size_t id;

    for (id = 0; id < PARAM_COUNT; id++) {
        if ((allowed & PARAM_BIT(id)) && span_eq_str(item->name, PARAMS[id].name)) {
            spec = &PARAMS[id];
            break;
        }
    }
    if (!spec && (allowed & PARAMS_LENIENT))
        return 0;
    if (!spec) {
        *unknown = item->name;
        return refuse_unknown(item->name, allowed, err);
    }
    if ((p->given & PARAM_BIT(id)) && !spec->repeatable) {
        if (spec->first_counts)
            return 0;
        if (id == PARAM_PID)
            error_remedy(err, "write several processes as one list: pid=4242,4243");
        return error_parameter(err, spec->name, -EINVAL, "%s is given twice: it can be given once",
                               spec->name);
    }
    p->given |= PARAM_BIT(id);
    if (item->value.n == 0)
        return error_parameter(err, spec->name, -EINVAL, "%s has no value: it takes %s", spec->name,
                               spec->expects);
    if (item->truth && spec->parse != param_bool)
        return error_parameter(err, spec->name, -EINVAL, "%s is not true or false: it takes %s",
                               spec->name, spec->expects);
    return spec->parse(spec, item->value, p, err);
}

static bool params_has_event(const struct params *p, const char *name)
{
    return ANY_OF(i, p->capture.event_count, strcmp(p->capture.events[i].name, name) == 0);
}

/* Checks the parameters against each other. @allowed: those that the route takes. */
static int params_check_together(const struct params *p, param_set allowed, struct error *err)
{
    if ((p->given & PARAM_BIT(PARAM_HZ)) && (p->given & PARAM_BIT(PARAM_INTERVAL)))
        return error_parameter(err, "interval", -EINVAL,
                               "hz and interval say the same thing in two ways: give one of them");
    if ((p->given & PARAM_BIT(PARAM_NSPID)) && !(p->given & PARAM_BIT(PARAM_CONTAINER))) {
        error_remedy(err, "name the container too, or use pid= with the id that the host sees");
        return error_parameter(err, "nspid", -EINVAL,
                               "nspid alone does not say in which container process %d is",
                               (int)p->capture.target.ns_pid);
    }
    if ((p->given & PARAM_BIT(PARAM_AT)) &&
        (p->given & (PARAM_BIT(PARAM_FROM) | PARAM_BIT(PARAM_TO))))
        return error_parameter(err, "at", -EINVAL,
                               "at is a minute by itself: give at, or from and to");
    if ((p->given & PARAM_BIT(PARAM_AT)) && p->range.from_ns > p->now_ns)
        return error_parameter(err, "at", -EINVAL, "at lies in the future: give a time before now");
    if ((p->given & PARAM_BIT(PARAM_TO)) && !(p->given & PARAM_BIT(PARAM_FROM)) &&
        (allowed & PARAMS_SAMPLING))
        return error_parameter(err, "to", -EINVAL,
                               "to alone says no range to read: give from too, such as from=-60s");
    if (p->range.from_ns >= p->range.to_ns)
        return error_parameter(err, "from", -EINVAL, "from has to be before to, and it is not: %s",
                               p->given & PARAM_BIT(PARAM_TO) ? "exchange them, or widen the range"
                                                              : "it lies in the future");
    if ((p->given & PARAM_BIT(PARAM_OVER)) && !p->calls.count)
        return error_parameter(err, "over", -EINVAL,
                               "over says how long a call has to last: give calls too, a regular "
                               "expression on the names of methods");
    if (p->calls.count && !params_has_event(p, CALLS_EVENT))
        return error_parameter(err, "calls", -EINVAL,
                               "calls are found in samples of event=" CALLS_EVENT
                               ": name that, or leave event away");
    if (p->view.by[0] && p->view.threads)
        return error_parameter(
            err, "by", -EINVAL,
            "by and threads=1 both say what the root is: give by=thread besides the others");
    if (p->view.no_user && p->view.no_kernel)
        return error_parameter(err, "kernel", -EINVAL,
                               "user=0 with kernel=0 leaves nothing: set one of them to 1");
    return 0;
}

/* Makes @name the only event of @p. */
static void name_event(struct params *p, const char *name)
{
    p->capture.event_count = 1;
    span_copy(span_of(name), p->events.names, sizeof(p->events.names));
    wanted_event_set(&p->capture.events[0], span_of(name));
}

/* Compiles the patterns of the parameter @name, if there are any. */
static int compile(const struct pattern_params *patterns, const char *name, struct match **ret,
                   struct error *err)
{
    return patterns->count ? match_new(patterns->text, patterns->count, name, ret, err) : 0;
}

int params_parse(const struct query *q, param_set allowed, struct params *ret, struct span *unknown,
                 struct error *err)
{
    int r;

    *ret = (struct params){
        .capture.duration_ns = PARAMS_SECONDS_DEFAULT * NSEC_PER_SEC,
        .events.timed_period = (NSEC_PER_SEC + PARAMS_HZ_DEFAULT / 2) / PARAMS_HZ_DEFAULT,
        .now_ns = clock_realtime_ns(),
        .range = { 0, UINT64_MAX },
        .refresh_ns = PARAMS_REFRESH_DEFAULT * NSEC_PER_SEC,
    };
    name_event(ret, events_default()->name);
    for (size_t i = 0; i < q->count; i++) {
        r = params_parse_one(&q->items[i], allowed, ret, unknown, err);
        if (r != 0)
            return r;
    }
    if (ret->calls.count && !(ret->given & PARAM_BIT(PARAM_EVENT)))
        name_event(ret, CALLS_EVENT);
    r = compile(&ret->include, "include", &ret->view.include, err) ?:
        compile(&ret->exclude, "exclude", &ret->view.exclude, err) ?:
        compile(&ret->operation, "operation", &ret->view.operation, err) ?:
        compile(&ret->calls, "calls", &ret->view.calls, err) ?: param_set_source(ret, err);
    if (r < 0)
        return r;
    if (ret->view.by[0] == VIEW_BY_THREAD && !ret->view.by[1]) { /* by=thread alone is threads=1 */
        ret->view.threads = true;
        ret->view.by[0] = VIEW_BY_NONE;
    }
    ret->view.total_said = ret->given & PARAM_BIT(PARAM_TOTAL);
    r = param_put_filter(ret, err) ?: param_set_periods(ret, err);
    return r < 0 ? r : params_check_together(ret, allowed, err);
}

int params_set_event(struct params *p, const char *name)
{
    p->given &= ~(PARAM_BIT(PARAM_HZ) | PARAM_BIT(PARAM_INTERVAL) | PARAM_BIT(PARAM_FILTER));
    p->events.interval = p->events.filter = SPAN_NULL;
    name_event(p, name);
    return param_set_periods(p, NULL);
}

bool params_want_context(const struct params *p)
{
    for (size_t i = 0; i < VIEW_BY_MAX; i++) {
        if (p->view.by[i] == VIEW_BY_OPERATION || p->view.by[i] == VIEW_BY_TRACE ||
            p->view.by[i] == VIEW_BY_SPAN)
            return true;
    }
    if (p->picture.format && p->picture.format->contexts)
        return true;
    return p->given & (PARAM_BIT(PARAM_OPERATION) | PARAM_BIT(PARAM_TRACE) | PARAM_BIT(PARAM_SPAN) |
                       PARAM_BIT(PARAM_SPANS));
}

bool params_enter_jvm(const struct params *p)
{
    return p->capture.symbols == SYMBOLS_AGENT || p->capture.symbols == SYMBOLS_PERFMAP ||
           p->map_symbols == SYMBOLS_AGENT || p->map_symbols == SYMBOLS_PERFMAP ||
           (p->capture.source == ALLOC_SOURCE_AGENT &&
            events_listed(span_of(p->events.names), "alloc")) ||
           events_listed(span_of(p->events.names), "live");
}

void params_deinit(struct params *p)
{
    p->view.include = match_free(p->view.include);
    p->view.exclude = match_free(p->view.exclude);
    p->view.operation = match_free(p->view.operation);
    p->view.calls = match_free(p->view.calls);
}
