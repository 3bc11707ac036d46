/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params/param_parse.h"

#include "base/text.h"
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
    struct target_selector *t = &p->capture.target;
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
    return params_parse_pid(value, &p->capture.target.ns_pid) ? 0 : param_refuse(spec, value, err);
}

int param_text(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    if (value.n > PARAMS_TEXT_MAX)
        return param_refuse(spec, value, err);
    *(const char **)((char *)p + spec->offset) = value.p;
    return 0;
}

int param_jvm(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    _cleanup_(match_freep) struct match *m = NULL;
    int r = match_new(&value.p, 1, spec->name, &m, err);

    if (r == 0)
        p->capture.target.jvm = value.p;
    return r;
}

/* Takes an id of 16 hexadecimal digits from @value. */
static bool take_id(struct span *value, uint64_t *ret)
{
    struct span digits = { value->p, 16 };

    if (value->n < digits.n || !span_take_hex(&digits, ret) || digits.n)
        return false;
    *value = span_from(*value, 16);
    return true;
}

int param_trace(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    struct span rest = value;
    uint64_t high = 0, low = 0;

    if ((value.n == 32 && !take_id(&rest, &high)) || !take_id(&rest, &low) || rest.n ||
        !(high | low))
        return param_refuse(spec, value, err);
    p->view.trace_high = high;
    p->view.trace_low = low;
    return 0;
}

int param_span(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    struct span rest = value;

    if (!take_id(&rest, &p->view.span) || rest.n || !p->view.span)
        return param_refuse(spec, value, err);
    return 0;
}

/* Collects a pattern; params_parse() compiles all of them. */
int param_pattern(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    struct pattern_params *patterns = (struct pattern_params *)((char *)p + spec->offset);

    if (patterns->count == MATCH_PATTERNS_MAX) {
        error_remedy(err, "join expressions by '|'");
        return error_parameter(err, spec->name, -EINVAL, "%s may be given at most %d times",
                               spec->name, MATCH_PATTERNS_MAX);
    }
    patterns->text[patterns->count++] = value.p;
    return 0;
}

int param_by(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    unsigned v;
    size_t i;

    if (!value_named(value, spec->names, spec->name_count, &v)) {
        error_remedy(err, "give by= once for each of several: they are frames in that order");
        return param_refuse(spec, value, err);
    }
    for (i = 0; p->view.by[i]; i++) { /* no duplicates, so there is room */
        if (p->view.by[i] == v)
            return error_parameter(err, spec->name, -EINVAL, "by=%.*s is given twice: give it once",
                                   (int)value.n, value.p);
    }
    p->view.by[i] = (uint8_t)v;
    return 0;
}

int param_seconds(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    if (!value_scaled(value, NSEC_PER_SEC, &p->capture.duration_ns) ||
        p->capture.duration_ns < NSEC_PER_SEC / 10 || p->capture.duration_ns > 3600 * NSEC_PER_SEC)
        return param_refuse(spec, value, err);
    return 0;
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

    p->picture.format = render_format_find(value);
    if (p->picture.format)
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
    memcpy((char *)p + spec->offset, &v, sizeof(v)); /* the member is an enum of the size of
                                                      * unsigned */
    return 0;
}

int param_bool(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    if (value.n != 1 || (value.p[0] != '0' && value.p[0] != '1'))
        return param_refuse(spec, value, err);
    *(bool *)((char *)p + spec->offset) = (value.p[0] == '1') != spec->negate;
    return 0;
}

int param_title(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    _cleanup_buf_ struct buf clean = BUF_UPTO((size_t)PARAMS_TITLE_MAX * 3);

    if (value.n > PARAMS_TITLE_MAX)
        return param_refuse(spec, value, err);
    text_clean(value, TEXT_UTF8, PARAMS_TITLE_MAX, &clean);
    span_copy(buf_span(&clean), p->picture.title, sizeof(p->picture.title));
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
    p->picture.minwidth = (double)millionths / 1e6;
    return 0;
}

int param_range(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    uint64_t *ret_ns = (uint64_t *)((char *)p + spec->offset);

    return time_parse(value, p->now_ns, ret_ns) ? 0 : param_refuse(spec, value, err);
}

int param_at(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    uint64_t t;

    if (!time_parse(value, p->now_ns, &t))
        return param_refuse(spec, value, err);
    p->range.from_ns = t - t % (60 * NSEC_PER_SEC);
    p->range.to_ns = p->range.from_ns + 60 * NSEC_PER_SEC;
    return 0;
}

/* Parses a whole number from spec->least to spec->most. */
int param_number(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    uint64_t v;

    if (!span_parse_dec(value, &v) || v < spec->least || v > spec->most)
        return param_refuse(spec, value, err);
    *(size_t *)((char *)p + spec->offset) = (size_t)v;
    return 0;
}

/* Parses a time with its unit, from spec->least to spec->most nanoseconds. */
int param_period(const struct param *spec, struct span value, struct params *p, struct error *err)
{
    uint64_t *ret_ns = (uint64_t *)((char *)p + spec->offset);

    if (!value_interval(value, ret_ns) || *ret_ns < spec->least || *ret_ns > spec->most)
        return param_refuse(spec, value, err);
    return 0;
}
