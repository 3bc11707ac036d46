/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params/params.h"

#include "base/clock.h"
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

static const struct value_name NAMES_OF_DIFFS[] = {
    { "html", DIFF_HTML },
    { "svg", DIFF_SVG },
    { "collapsed", DIFF_COLLAPSED },
    { "json", DIFF_JSON },
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

#define TEXT_OF(member) .parse = param_text, .offset = offsetof(struct params, target.member)
#define BOOL_OF(member) .parse = param_bool, .offset = offsetof(struct params, member)
#define NAME_OF(member, table)                                                                     \
    .parse = param_named, .offset = offsetof(struct params, member), .names = (table),             \
    .name_count = ARRAY_SIZE(table)
#define WORD_OF(member) .parse = param_text, .offset = offsetof(struct params, member)
#define NUMBER_OF(member, low, high)                                                               \
    .parse = param_number, .offset = offsetof(struct params, member), .least = (low), .most = (high)
#define EXPECTS_BOOL "0 or 1"
#define EXPECTS_SIDE "the id of a capture, or a range of time such as -10m..-5m"
#define EXPECTS_TIME                                                                               \
    "a time: now, -60s, -5m, -2h or -1d before now, or RFC 3339 such as 2026-01-31T23:59:00Z"

static const struct param PARAMS[PARAM_COUNT] = {
    [PARAM_PID] = { "pid", .parse = param_pid,
                    .expects = "process ids as the host sees them, each from 1 to 2147483647, such "
                               "as 4242 or 4242,4243" },
    [PARAM_CONTAINER] = { "container", TEXT_OF(container),
                          .expects = "a container's name, its id, or at least 6 digits of its id" },
    [PARAM_NSPID] = { "nspid", .parse = param_nspid,
                      .expects = "one process id as the container sees it, from 1 to 2147483647" },
    [PARAM_POD] = { "pod", TEXT_OF(pod), .expects = "the name or UID of a Kubernetes pod" },
    [PARAM_NAMESPACE] = { "namespace", TEXT_OF(pod_namespace),
                          .expects = "the name of a Kubernetes namespace" },
    [PARAM_JVM] = { "jvm", .parse = param_jvm,
                    .expects = "a regular expression on the main class or jar, as /api/v1/jvms "
                               "prints it" },
    [PARAM_SECONDS] = { "seconds", .parse = param_seconds,
                        .expects = "a number from 0.1 to 3600, such as 10 or 2.5; fractions have a "
                                   "point and no sign",
                        .first_counts = true },
    [PARAM_EVENT] = { "event", .parse = param_event,
                      .expects =
                          "the name of an event, such as cpu, or up to four with commas between "
                          "them; /api/v1/events lists them" },
    [PARAM_SYMBOLS] = { "symbols", NAME_OF(symbols, NAMES_OF_SYMBOLS),
                        .expects = "auto, agent, memory, perfmap or none" },
    [PARAM_SOURCE] = { "source", NAME_OF(source, NAMES_OF_SOURCES),
                       .expects =
                           "auto or probe, which are the same: probes in libjvm.so sample "
                           "what is allocated; agent: an agent in the JVM does; or malloc, for "
                           "event=nativemem" },
    [PARAM_FORCE] = { "force", BOOL_OF(force),
                      .expects = EXPECTS_BOOL " (1: event=malloc or nativelive also of processes "
                                              "that call malloc very often)" },
    [PARAM_HZ] = { "hz", .parse = param_hz,
                   .expects = "samples per second on each processor, from 1 to 10000, such as 99" },
    [PARAM_INTERVAL] = { "interval", .parse = param_interval,
                         .expects =
                             "what lies between two samples. Of CPU time a time with its unit "
                             "(us, ms or s), from 100us to 1s; of events that count, a number, "
                             "such as 32; of several events one for each, such as 10ms,32" },
    [PARAM_FILTER] = { "filter", .parse = param_filter,
                       .expects = "which events of a tracepoint to sample, as perf record --filter "
                                  "takes it: comparisons of its fields with && and || between "
                                  "them, of at most 180 characters without braces" },
    [PARAM_FORMAT] = { "format", .parse = param_format,
                       .expects = "the name of a format, such as html" },
    [PARAM_THREADS] = { "threads", BOOL_OF(view.threads),
                        .expects = EXPECTS_BOOL " (1: a frame per thread)" },
    [PARAM_USER] = { "user", BOOL_OF(view.no_user), .negate = true,
                     .expects = EXPECTS_BOOL " (0: without samples of user mode)" },
    [PARAM_KERNEL] = { "kernel", BOOL_OF(view.no_kernel), .negate = true,
                       .expects = EXPECTS_BOOL " (0: without samples of kernel mode)" },
    [PARAM_INCLUDE] = { "include", .parse = param_pattern,
                        .expects = "a regular expression on the names of frames (keep stacks that "
                                   "have one)",
                        .repeatable = true },
    [PARAM_EXCLUDE] = { "exclude", .parse = param_pattern,
                        .expects = "a regular expression on the names of frames (drop stacks that "
                                   "have one)",
                        .repeatable = true },
    [PARAM_DEPTH] = { "depth", .parse = param_depth,
                      .expects = "the number of frames to keep, from 1 to 100000" },
    [PARAM_NAMES] = { "names", NAME_OF(view.names, NAMES_OF_NAMES),
                      .expects = "full, simple, signature or merged" },
    [PARAM_LINES] = { "lines", BOOL_OF(view.lines),
                      .expects = EXPECTS_BOOL " (1: with line numbers)" },
    [PARAM_ANNOTATE] = { "annotate", BOOL_OF(view.annotate),
                         .expects = EXPECTS_BOOL " (1: with suffixes such as _[j])" },
    [PARAM_TOTAL] = { "total", BOOL_OF(view.total),
                      .expects = EXPECTS_BOOL " (1: weighed by value, not by samples)" },
    [PARAM_TITLE] = { "title", .parse = param_title, .expects = "a text of at most 200 bytes" },
    [PARAM_REVERSE] = { "reverse", BOOL_OF(reverse),
                        .expects = EXPECTS_BOOL " (1: opens with callers merged from the leaf)" },
    [PARAM_INVERTED] = { "inverted", BOOL_OF(inverted),
                         .expects = EXPECTS_BOOL " (1: opens with the root at the top)" },
    [PARAM_MINWIDTH] = { "minwidth", .parse = param_minwidth,
                         .expects =
                             "a part of the whole width in percent, from 0 to 100, such as 0.1" },
    [PARAM_WIDTH] = { "width", NUMBER_OF(width, PARAMS_WIDTH_MIN, PARAMS_WIDTH_MAX),
                      .expects =
                          "a whole number from 40 to 10000: columns of /top, pixels of svg" },
    [PARAM_TOP_ROWS] = { "top", NUMBER_OF(top, 1, PARAMS_TOP_MAX),
                         .expects = "a whole number of rows from 1 to 100000" },
    [PARAM_FROM] = { "from", .parse = param_range, .offset = offsetof(struct params, range.from_ns),
                     .expects = EXPECTS_TIME },
    [PARAM_TO] = { "to", .parse = param_range, .offset = offsetof(struct params, range.to_ns),
                   .expects = EXPECTS_TIME },
    [PARAM_LIMIT] = { "limit", NUMBER_OF(limit, 1, 1000),
                      .expects = "the captures of one page, from 1 to 1000" },
    [PARAM_CURSOR] = { "cursor", WORD_OF(cursor),
                       .expects = "what the page before gave as \"next\"" },
    [PARAM_STATE] = { "state", NAME_OF(state, NAMES_OF_STATES),
                      .expects = "any, running, done or failed" },
    [PARAM_SCHEDULE] = { "schedule", WORD_OF(schedule),
                         .expects = "the name of a schedule, as /api/v1/schedules prints it" },
    [PARAM_BUCKETS] = { "buckets", NUMBER_OF(buckets, 1, 2000),
                        .expects = "the number of buckets, from 1 to 2000" },
    [PARAM_BY] = { "by", NAME_OF(by, NAMES_OF_LINES), .expects = "jvm, category or jvm-category" },
    [PARAM_A] = { "a", WORD_OF(a), .expects = EXPECTS_SIDE },
    [PARAM_B] = { "b", WORD_OF(b), .expects = EXPECTS_SIDE },
    [PARAM_NORMALIZE] = { "normalize", BOOL_OF(absolute), .negate = true,
                          .expects = EXPECTS_BOOL " (0: samples as counted, not scaled)" },
    [PARAM_DIFF_FORMAT] = { "format", NAME_OF(diff_format, NAMES_OF_DIFFS),
                            .expects = "html, svg, collapsed or json" },
    [PARAM_ONCE] = { "once", BOOL_OF(once),
                     .expects = EXPECTS_BOOL " (1: one table, then the end)" },
    [PARAM_REFRESH] = { "interval", .parse = param_refresh,
                        .expects = "the time between two tables with its unit, from 100ms to 60s, "
                                   "such as 2s" },
    [PARAM_MAP_SYMBOLS] = { "symbols", NAME_OF(map_symbols, NAMES_OF_MAP_SYMBOLS),
                            .expects = "auto (which is memory), agent, memory or perfmap" },
    [PARAM_VIEW_STATE] = { "state", .parse = param_states,
                           .expects = "running, runnable or blocked, or several of them with "
                                      "commas between them" },
    [PARAM_IDLE] = { "idle", BOOL_OF(view.no_idle), .negate = true,
                     .expects = EXPECTS_BOOL " (0: without threads that wait for work)" },
    [PARAM_TICKET] = { "ticket", WORD_OF(ticket), .expects = "what flamed --login printed, whole" },
    [PARAM_MATCH] = { "match", WORD_OF(match),
                      .expects = "a part of an event's name or description, such as futex, or a "
                                 "pattern with * and ?, such as sched:*" },
    [PARAM_UNFOLD] = { "unfold", BOOL_OF(unfold),
                       .expects = EXPECTS_BOOL " (1: a line per range of inlined frames)" },
};

_Static_assert(sizeof(enum symbols_source) == sizeof(unsigned), "param_name() writes an unsigned");
_Static_assert(sizeof(enum alloc_source) == sizeof(unsigned), "as above");
_Static_assert(sizeof(enum captures_state) == sizeof(unsigned), "as above");
_Static_assert(sizeof(enum timeline_by) == sizeof(unsigned), "as above");
_Static_assert(sizeof(enum diff_format) == sizeof(unsigned), "as above");
_Static_assert(sizeof(enum view_names) == sizeof(unsigned), "param_name() writes an unsigned");

const char *param_name(enum param_id id)
{
    return PARAMS[id].name;
}

/* Says which parameter was probably meant, else which there are. */
static int refuse_unknown(struct span name, uint64_t allowed, struct error *err)
{
    const char *names[PARAM_COUNT], *near;
    char list[ERROR_REMEDY_MAX] = "", show[QUERY_SHOW_MAX];
    size_t count = 0;

    for (size_t i = 0; i < PARAM_COUNT; i++) {
        if (allowed & PARAM_BIT(i))
            names[count++] = PARAMS[i].name;
    }
    near = value_nearest(name, names, count);
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(list);

        snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "it takes ", names[i]);
    }
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

static int params_parse_one(const struct query_item *item, uint64_t allowed, struct params *p,
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

/* What single values cannot tell. */
static int params_check_together(const struct params *p, struct error *err)
{
    if ((p->given & PARAM_BIT(PARAM_HZ)) && (p->given & PARAM_BIT(PARAM_INTERVAL)))
        return error_parameter(err, "interval", -EINVAL,
                               "hz and interval say the same thing in two ways: give one of them");
    if ((p->given & PARAM_BIT(PARAM_NSPID)) && !(p->given & PARAM_BIT(PARAM_CONTAINER))) {
        error_remedy(err, "name the container too, or use pid= with the id that the host sees");
        return error_parameter(err, "nspid", -EINVAL,
                               "nspid alone does not tell which container's process %d is meant",
                               (int)p->target.ns_pid);
    }
    if ((p->given & PARAM_BIT(PARAM_TO)) && !(p->given & PARAM_BIT(PARAM_FROM)) &&
        (p->given & PARAMS_SAMPLING))
        return error_parameter(err, "to", -EINVAL,
                               "to alone says no range to read: give from too, such as from=-60s");
    if (p->range.from_ns >= p->range.to_ns)
        return error_parameter(err, "from", -EINVAL, "from has to be before to, and it is not: %s",
                               p->given & PARAM_BIT(PARAM_TO) ? "exchange them, or widen the range"
                                                              : "it lies in the future");
    if (p->view.no_user && p->view.no_kernel)
        return error_parameter(err, "kernel", -EINVAL,
                               "user=0 with kernel=0 leaves nothing: set one of them to 1");
    return 0;
}

int params_parse(const struct query *q, uint64_t allowed, struct params *ret, struct span *unknown,
                 struct error *err)
{
    int r;

    *ret = (struct params){
        .duration_ns = PARAMS_SECONDS_DEFAULT * NSEC_PER_SEC,
        .timed_period = (NSEC_PER_SEC + PARAMS_HZ_DEFAULT / 2) / PARAMS_HZ_DEFAULT,
        .event_count = 1,
        .now_ns = clock_realtime_ns(),
        .range = { 0, UINT64_MAX },
        .refresh_ns = PARAMS_REFRESH_DEFAULT * NSEC_PER_SEC,
    };
    span_copy(span_of(events_default()->name), ret->event, sizeof(ret->event));
    span_copy(span_of(ret->event), ret->events[0].name, EVENT_NAME_BYTES);
    for (size_t i = 0; i < q->count; i++) {
        r = params_parse_one(&q->items[i], allowed, ret, unknown, err);
        if (r != 0)
            return r;
    }
    if (ret->include_count) {
        r = match_new(ret->include, ret->include_count, "include", &ret->view.include, err);
        if (r < 0)
            return r;
    }
    if (ret->exclude_count) {
        r = match_new(ret->exclude, ret->exclude_count, "exclude", &ret->view.exclude, err);
        if (r < 0)
            return r;
    }
    r = param_set_source(ret, err);
    if (r < 0)
        return r;
    ret->view.total_said = ret->given & PARAM_BIT(PARAM_TOTAL);
    r = param_put_filter(ret, err);
    if (r == 0)
        r = param_set_periods(ret, err);
    return r < 0 ? r : params_check_together(ret, err);
}

int params_set_event(struct params *p, const char *name)
{
    p->given &= ~(PARAM_BIT(PARAM_HZ) | PARAM_BIT(PARAM_INTERVAL) | PARAM_BIT(PARAM_FILTER));
    p->interval = p->filter = SPAN_NULL;
    p->event_count = 1;
    span_copy(span_of(name), p->event, sizeof(p->event));
    span_copy(span_of(name), p->events[0].name, sizeof(p->events[0].name));
    return param_set_periods(p, NULL);
}

bool params_enter_jvm(const struct params *p)
{
    return p->symbols == SYMBOLS_AGENT || p->symbols == SYMBOLS_PERFMAP ||
           p->map_symbols == SYMBOLS_AGENT || p->map_symbols == SYMBOLS_PERFMAP ||
           (p->source == ALLOC_SOURCE_AGENT && events_listed(span_of(p->event), "alloc")) ||
           events_listed(span_of(p->event), "live");
}

void params_deinit(struct params *p)
{
    p->view.include = match_free(p->view.include);
    p->view.exclude = match_free(p->view.exclude);
}
