/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params.h"

#include "base/text.h"
#include "serve/values.h"

struct param {
    const char *name;
    int (*parse)(const struct param *spec, struct span value, struct params *p, struct error *err);
    const char *expects; /* after "takes": what a good value is */
    size_t offset;       /* of the member that generic parsers write */
    bool negate;         /* booleans: the member is the opposite */
    bool first_counts;   /* may be repeated: only the first is read */
    bool repeatable;     /* may be repeated: each is read */
    const struct value_name *names;
    size_t name_count;
};

static const struct value_name NAMES_OF_NAMES[] = {
    { "full", VIEW_NAMES_FULL },
    { "simple", VIEW_NAMES_SIMPLE },
    { "signature", VIEW_NAMES_SIGNATURE },
};

static const struct value_name NAMES_OF_SYMBOLS[] = {
    { "auto", SYMBOLS_AUTO },       { "agent", SYMBOLS_AGENT }, { "memory", SYMBOLS_MEMORY },
    { "perfmap", SYMBOLS_PERFMAP }, { "none", SYMBOLS_NONE },
};

static int refuse(const struct param *spec, struct span value, struct error *err)
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

static int parse_pid(const struct param *spec, struct span value, struct params *p,
                     struct error *err)
{
    struct target_selector *t = &p->target;
    struct span rest = value, one;
    char show[QUERY_SHOW_MAX];

    if (value.p[value.n - 1] == ',')
        return refuse(spec, value, err);
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

static int parse_nspid(const struct param *spec, struct span value, struct params *p,
                       struct error *err)
{
    return params_parse_pid(value, &p->target.ns_pid) ? 0 : refuse(spec, value, err);
}

static int parse_text(const struct param *spec, struct span value, struct params *p,
                      struct error *err)
{
    if (value.n > 256)
        return refuse(spec, value, err);
    *(const char **)((char *)p + spec->offset) = value.p;
    return 0;
}

static int parse_jvm(const struct param *spec, struct span value, struct params *p,
                     struct error *err)
{
    _cleanup_(match_freep) struct match *m = NULL;
    int r = match_new(&value.p, 1, spec->name, &m, err);

    if (r == 0)
        p->target.jvm = value.p;
    return r;
}

/* Collects a pattern; all are compiled at the end. */
static int parse_pattern(const struct param *spec, struct span value, struct params *p,
                         struct error *err)
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

static int parse_seconds(const struct param *spec, struct span value, struct params *p,
                         struct error *err)
{
    if (!value_scaled(value, NSEC_PER_SEC, &p->duration_ns) || p->duration_ns < NSEC_PER_SEC / 10 ||
        p->duration_ns > 3600 * NSEC_PER_SEC)
        return refuse(spec, value, err);
    return 0;
}

static int parse_event(const struct param *spec, struct span value, struct params *p,
                       struct error *err)
{
    if (value.n >= sizeof(p->event))
        return refuse(spec, value, err);
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] <= ' ' || value.p[i] == 0x7f)
            return refuse(spec, value, err);
    }
    span_copy(value, p->event, sizeof(p->event));
    return 0;
}

static int parse_hz(const struct param *spec, struct span value, struct params *p,
                    struct error *err)
{
    uint64_t millihz;

    if (!value_scaled(value, 1000, &millihz) || millihz < 1000 || millihz > PARAMS_HZ_MAX * 1000)
        return refuse(spec, value, err);
    p->period_ns = (NSEC_PER_SEC * 1000 + millihz / 2) / millihz;
    return 0;
}

static int parse_interval(const struct param *spec, struct span value, struct params *p,
                          struct error *err)
{
    if (!value_interval(value, &p->period_ns) || p->period_ns < NSEC_PER_SEC / PARAMS_HZ_MAX ||
        p->period_ns > NSEC_PER_SEC)
        return refuse(spec, value, err);
    return 0;
}

static int parse_format(const struct param *spec, struct span value, struct params *p,
                        struct error *err)
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

static int parse_name(const struct param *spec, struct span value, struct params *p,
                      struct error *err)
{
    unsigned v;

    if (!value_named(value, spec->names, spec->name_count, &v))
        return refuse(spec, value, err);
    memcpy((char *)p + spec->offset, &v, sizeof(v)); /* an enum of ours */
    return 0;
}

static int parse_bool(const struct param *spec, struct span value, struct params *p,
                      struct error *err)
{
    if (value.n != 1 || (value.p[0] != '0' && value.p[0] != '1'))
        return refuse(spec, value, err);
    *(bool *)((char *)p + spec->offset) = (value.p[0] == '1') != spec->negate;
    return 0;
}

static int parse_depth(const struct param *spec, struct span value, struct params *p,
                       struct error *err)
{
    uint64_t v;

    if (!span_parse_dec(value, &v) || v < 1 || v > PARAMS_DEPTH_MAX)
        return refuse(spec, value, err);
    p->view.depth = v;
    return 0;
}

static int parse_title(const struct param *spec, struct span value, struct params *p,
                       struct error *err)
{
    _cleanup_buf_ struct buf clean = BUF_NULL;

    if (value.n > PARAMS_TITLE_MAX)
        return refuse(spec, value, err);
    buf_init(&clean, (size_t)PARAMS_TITLE_MAX * 3);
    text_clean(value, TEXT_UTF8, PARAMS_TITLE_MAX, &clean);
    span_copy(buf_span(&clean), p->title, sizeof(p->title));
    return 0;
}

static int parse_minwidth(const struct param *spec, struct span value, struct params *p,
                          struct error *err)
{
    struct span number = value;
    uint64_t millionths;

    if (span_ends_with(number, "%"))
        number.n--;
    if (!value_scaled(number, 1000000, &millionths) || millionths > 100000000)
        return refuse(spec, value, err);
    p->minwidth = (double)millionths / 1e6;
    return 0;
}

#define TEXT_OF(member) .parse = parse_text, .offset = offsetof(struct params, target.member)
#define BOOL_OF(member) .parse = parse_bool, .offset = offsetof(struct params, member)
#define NAME_OF(member, table)                                                                     \
    .parse = parse_name, .offset = offsetof(struct params, member), .names = (table),              \
    .name_count = ARRAY_SIZE(table)
#define EXPECTS_BOOL "0 or 1"

static const struct param PARAMS[PARAM_COUNT] = {
    [PARAM_PID] = { "pid", .parse = parse_pid,
                    .expects = "process ids as the host sees them, each from 1 to 2147483647, such "
                               "as 4242 or 4242,4243" },
    [PARAM_CONTAINER] = { "container", TEXT_OF(container),
                          .expects = "a container's name, its id, or at least 6 digits of its id" },
    [PARAM_NSPID] = { "nspid", .parse = parse_nspid,
                      .expects = "one process id as the container sees it, from 1 to 2147483647" },
    [PARAM_POD] = { "pod", TEXT_OF(pod), .expects = "the name or UID of a Kubernetes pod" },
    [PARAM_NAMESPACE] = { "namespace", TEXT_OF(pod_namespace),
                          .expects = "the name of a Kubernetes namespace" },
    [PARAM_JVM] = { "jvm", .parse = parse_jvm,
                    .expects = "a regular expression on the main class or jar, as /api/v1/jvms "
                               "prints it" },
    [PARAM_SECONDS] = { "seconds", .parse = parse_seconds,
                        .expects = "a number from 0.1 to 3600, such as 10 or 2.5; fractions have a "
                                   "point and no sign",
                        .first_counts = true },
    [PARAM_EVENT] = { "event", .parse = parse_event,
                      .expects = "the name of an event, such as cpu; /api/v1/events lists them" },
    [PARAM_SYMBOLS] = { "symbols", NAME_OF(symbols, NAMES_OF_SYMBOLS),
                        .expects = "auto, agent, memory, perfmap or none" },
    [PARAM_HZ] = { "hz", .parse = parse_hz,
                   .expects = "samples per second of CPU time, from 1 to 10000, such as 99" },
    [PARAM_INTERVAL] = { "interval", .parse = parse_interval,
                         .expects = "the CPU time between samples with its unit (us, ms or s), "
                                    "from 100us to "
                                    "1s, such as 10ms" },
    [PARAM_FORMAT] = { "format", .parse = parse_format,
                       .expects = "the name of a format, such as html" },
    [PARAM_THREADS] = { "threads", BOOL_OF(view.threads),
                        .expects = EXPECTS_BOOL " (1: a frame per thread)" },
    [PARAM_USER] = { "user", BOOL_OF(view.no_user), .negate = true,
                     .expects = EXPECTS_BOOL " (0: without samples of user mode)" },
    [PARAM_KERNEL] = { "kernel", BOOL_OF(view.no_kernel), .negate = true,
                       .expects = EXPECTS_BOOL " (0: without samples of kernel mode)" },
    [PARAM_INCLUDE] = { "include", .parse = parse_pattern,
                        .expects = "a regular expression on the names of frames (keep stacks that "
                                   "have one)",
                        .repeatable = true },
    [PARAM_EXCLUDE] = { "exclude", .parse = parse_pattern,
                        .expects = "a regular expression on the names of frames (drop stacks that "
                                   "have one)",
                        .repeatable = true },
    [PARAM_DEPTH] = { "depth", .parse = parse_depth,
                      .expects = "the number of frames to keep, from 1 to 100000" },
    [PARAM_NAMES] = { "names", NAME_OF(view.names, NAMES_OF_NAMES),
                      .expects = "full, simple or signature" },
    [PARAM_LINES] = { "lines", BOOL_OF(view.lines),
                      .expects = EXPECTS_BOOL " (1: with line numbers)" },
    [PARAM_ANNOTATE] = { "annotate", BOOL_OF(view.annotate),
                         .expects = EXPECTS_BOOL " (1: with suffixes such as _[j])" },
    [PARAM_TOTAL] = { "total", BOOL_OF(view.total),
                      .expects = EXPECTS_BOOL " (1: weighed by value, not by samples)" },
    [PARAM_TITLE] = { "title", .parse = parse_title, .expects = "a text of at most 200 bytes" },
    [PARAM_REVERSE] = { "reverse", BOOL_OF(reverse),
                        .expects = EXPECTS_BOOL " (1: opens with callers merged from the leaf)" },
    [PARAM_INVERTED] = { "inverted", BOOL_OF(inverted),
                         .expects = EXPECTS_BOOL " (1: opens with the root at the top)" },
    [PARAM_MINWIDTH] = { "minwidth", .parse = parse_minwidth,
                         .expects =
                             "a part of the whole width in percent, from 0 to 100, such as 0.1" },
};

_Static_assert(sizeof(enum symbols_source) == sizeof(unsigned), "parse_name() writes an unsigned");
_Static_assert(sizeof(enum view_names) == sizeof(unsigned), "parse_name() writes an unsigned");

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
    if (p->view.no_user && p->view.no_kernel)
        return error_parameter(err, "kernel", -EINVAL,
                               "user=0 with kernel=0 leaves nothing: set one of them to 1");
    if (p->symbols == SYMBOLS_AGENT || p->symbols == SYMBOLS_PERFMAP) {
        error_remedy(err, "use symbols=memory, which names Java code without touching the JVM");
        return error_parameter(err, "symbols", BACKEND_CONFLICT,
                               "symbols=%s needs to load or run something in the JVM, which is not "
                               "built into this version",
                               p->symbols == SYMBOLS_AGENT ? "agent" : "perfmap");
    }
    return 0;
}

int params_parse(const struct query *q, uint64_t allowed, struct params *ret, struct span *unknown,
                 struct error *err)
{
    int r;

    *ret = (struct params){
        .duration_ns = PARAMS_SECONDS_DEFAULT * NSEC_PER_SEC,
        .period_ns = (NSEC_PER_SEC + PARAMS_HZ_DEFAULT / 2) / PARAMS_HZ_DEFAULT,
        .event = "cpu",
    };
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
    return params_check_together(ret, err);
}

void params_deinit(struct params *p)
{
    p->view.include = match_free(p->view.include);
    p->view.exclude = match_free(p->view.exclude);
}
