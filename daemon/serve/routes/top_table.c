/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live table is redrawn in place: it starts at the top left corner, clears each line behind its
 * end, and clears the rest of the screen last. It never blanks the screen, so it does not flicker.
 * Names were cleaned when they were read (base/text.h), so none can move the cursor. They are cut
 * by columns.
 */
#include "serve/routes/top_table.h"

#include "base/cleanup.h"
#include "render/formats.h"

#define HOME "\x1b[H"
#define CLEAR_LINE "\x1b[K"
#define CLEAR_BELOW "\x1b[J"
#define TOP_NAME_BYTES 8192 /* bytes of the names of a group */
#define TOP_GROUPS_MAX 200
#define WARNINGS_SHOWN 2 /* warnings of the profile in a table */
#define FIXED_COLUMNS 31 /* columns before the name */

static void end_line(const struct top_opts *o, struct buf *out)
{
    buf_add_str(out, o->live ? CLEAR_LINE "\n" : "\n");
}

/* Returns the columns that terminals use for a character: 0 for combining, 2 for wide ones. */
static unsigned columns_of(uint32_t c)
{
    static const struct {
        uint32_t from, to;
        uint8_t columns;
    } RANGES[] = {
        { 0x300, 0x36f, 0 },     { 0x483, 0x489, 0 },     { 0x591, 0x5bd, 0 },
        { 0x610, 0x61a, 0 },     { 0x64b, 0x65f, 0 },     { 0x1100, 0x115f, 2 },
        { 0x1ab0, 0x1aff, 0 },   { 0x1dc0, 0x1dff, 0 },   { 0x200b, 0x200f, 0 },
        { 0x20d0, 0x20ff, 0 },   { 0x2e80, 0x303e, 2 },   { 0x3041, 0xa4cf, 2 },
        { 0xa960, 0xa97f, 2 },   { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },
        { 0xfe00, 0xfe0f, 0 },   { 0xfe20, 0xfe2f, 0 },   { 0xfe30, 0xfe6f, 2 },
        { 0xfeff, 0xfeff, 0 },   { 0xff00, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 },
        { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1faff, 2 },
        { 0x20000, 0x3fffd, 2 }, { 0xe0000, 0xe0fff, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(RANGES); i++) {
        if (c >= RANGES[i].from && c <= RANGES[i].to)
            return RANGES[i].columns;
    }
    return 1;
}

/* Returns the first character of @s (valid UTF-8); *ret_n: its bytes. */
static uint32_t first_char(struct span s, size_t *ret_n)
{
    unsigned char lead = (unsigned char)s.p[0];
    size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t c = n == 1 ? lead : lead & (0x7fu >> n);

    n = MIN(n, s.n);
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)s.p[i] & 0x3f);
    *ret_n = n;
    return c;
}

/* Appends @s cut to @columns; a cut text ends in an ellipsis. */
static void add_cut(struct buf *out, struct span s, size_t columns)
{
    size_t used = 0, fits = 0, at = 0, n;

    while (at < s.n) {
        unsigned w = columns_of(first_char(span_from(s, at), &n));

        if (used + w > columns)
            break;
        used += w;
        at += n;
        if (used + 1 <= columns)
            fits = at; /* leaves room for the ellipsis */
    }
    if (at == s.n) {
        buf_add_span(out, s);
        return;
    }
    buf_add(out, s.p, fits);
    if (columns)
        buf_add_str(out, "\u2026");
}

static void add_line(const struct top_opts *o, struct buf *out, const char *text)
{
    add_cut(out, span_of(text), o->width);
    end_line(o, out);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void add_header(const struct view *v, const struct top_opts *o, struct buf *out)
{
    const struct profile *p = v->profile;
    const struct profile_event *event = view_event(v);
    double seconds = p->end_ns > p->start_ns ? (double)(p->end_ns - p->start_ns) / 1e9 : 0.0;
    bool timed = strcmp(event->unit, "nanoseconds") == 0;
    const char *unit = strcmp(event->name, "cpu") == 0     ? "CPUs"
                       : timed                             ? "threads"
                       : strcmp(event->unit, "bytes") == 0 ? "bytes a second"
                                                           : "a second";
    double a_second = seconds > 0 ? (double)v->value / (timed ? 1e9 : 1.0) / seconds : 0.0;
    char text[512];
    int n;

    n = snprintf(text, sizeof(text), "flamed top \u00b7 %s \u00b7 %s \u00b7 ", p->target,
                 event->name);
    if (timed && event->period && n > 0 && (size_t)n < sizeof(text))
        snprintf(text + n, sizeof(text) - (size_t)n, "%.6g Hz \u00b7 %.1f s",
                 (double)NSEC_PER_SEC / (double)event->period, seconds);
    add_line(o, out, text);
    snprintf(text, sizeof(text),
             "%llu samples (%.*f %s), %llu lost, %llu with an unknown frame, %llu truncated",
             (unsigned long long)v->samples, timed ? 2 : 0, a_second, unit,
             (unsigned long long)p->lost, (unsigned long long)v->unknown,
             (unsigned long long)v->truncated);
    add_line(o, out, text);
    for (size_t i = 0; i < MIN(p->warning_count, (size_t)WARNINGS_SHOWN); i++)
        add_line(o, out, p->warnings[i]);
    if (p->warning_count > WARNINGS_SHOWN) {
        snprintf(text, sizeof(text), "%zu more warnings: /profile?format=summary has them",
                 p->warning_count - WARNINGS_SHOWN);
        add_line(o, out, text);
    }
    if (v->left_out[0])
        add_line(o, out, v->left_out);
    end_line(o, out);
    add_line(o, out, "   self    total  kind         name");
}

static bool has_groups(const struct view *v)
{
    return v->opts.by[0] || v->opts.threads;
}

/* Returns how many of @count groups a table of @rows rows shows. *ret_functions: the functions of
 * each. */
static size_t groups_shown(size_t rows, size_t count, size_t *ret_functions)
{
    size_t shown = MIN(count, CLAMP(rows / 2, (size_t)1, (size_t)TOP_GROUPS_MAX));

    *ret_functions = shown ? rows / shown - 1 : 0;
    return shown;
}

static void add_functions(const struct view *v, const struct top_opts *o,
                          const struct top_function *list, size_t count, struct buf *out)
{
    uint64_t whole = v->opts.total ? v->value : v->samples;

    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%6.2f%%  %6.2f%%  %-11.11s  ", percent(list[i].self, whole),
                   percent(list[i].total, whole), render_kind_name(list[i].kind));
        add_cut(out, view_string(v, list[i].name),
                o->width > FIXED_COLUMNS ? o->width - FIXED_COLUMNS : 1);
        end_line(o, out);
    }
}

/* Appends each group, and below it its hottest functions. 0 or -ENOMEM. */
static int add_groups(const struct view *v, const struct top_opts *o, struct buf *out)
{
    _cleanup_free_ struct top_group *groups = NULL;
    _cleanup_(top_sums_freep) struct top_sums *sums = NULL;
    _cleanup_buf_ struct buf line = BUF_UPTO(TOP_NAME_BYTES);
    uint64_t whole = v->opts.total ? v->value : v->samples;
    size_t count = 0, shown, functions;
    char text[64];
    int r = top_groups(v, &groups, &count) ?: top_sums_new(v, &sums);

    shown = r < 0 ? 0 : groups_shown(o->rows, count, &functions);
    for (size_t i = 0; i < shown && r == 0; i++) {
        _cleanup_free_ struct top_function *list = NULL;
        size_t n = 0;

        buf_clear(&line);
        buf_printf(&line, "         %6.2f%%  ", percent(groups[i].weight, whole));
        top_group_name(v, &groups[i], &line);
        add_cut(out, buf_span(&line), o->width);
        end_line(o, out);
        r = top_group_functions(sums, &groups[i], &list, &n);
        if (r == 0)
            add_functions(v, o, list, MIN(n, functions), out);
    }
    if (shown == TOP_GROUPS_MAX && count > shown) {
        snprintf(text, sizeof(text), "%zu smaller groups are left out", count - shown);
        add_line(o, out, text);
    }
    return r;
}

int top_table(const struct view *v, const struct top_opts *o, struct buf *out)
{
    _cleanup_free_ struct top_function *list = NULL;
    bool grouped = has_groups(v);
    size_t count = 0;
    int r = grouped ? 0 : top_functions(v, &list, &count);

    if (r < 0)
        return r;
    if (o->live)
        buf_add_str(out, HOME);
    add_header(v, o, out);
    if (grouped)
        r = add_groups(v, o, out);
    else
        add_functions(v, o, list, MIN(count, o->rows), out);
    if (v->samples == 0)
        add_line(o, out,
                 v->profile->total == 0 && strcmp(view_event(v)->name, "cpu") == 0
                     ? "(no samples: the target used no CPU time)"
                     : "(no samples)");
    if (o->live)
        buf_add_str(out, CLEAR_BELOW);
    return r;
}

/* Returns the first @count of @list as a new reference. */
static json_t *functions_json(const struct view *v, const struct top_function *list, size_t count)
{
    uint64_t whole = v->opts.total ? v->value : v->samples;
    json_t *functions = json_array();

    for (size_t i = 0; i < count; i++) {
        struct span name = view_string(v, list[i].name);

        json_array_append_new(
            functions,
            json_pack("{s:s%, s:s, s:I, s:I, s:f, s:f}", "name", name.p, name.n, "kind",
                      render_kind_name(list[i].kind), "self", (json_int_t)list[i].self, "total",
                      (json_int_t)list[i].total, "self_percent", percent(list[i].self, whole),
                      "total_percent", percent(list[i].total, whole)));
    }
    return functions;
}

/* Returns one group as a new reference; NULL: out of memory. */
static json_t *group_json(const struct view *v, struct top_sums *sums, const struct top_group *g,
                          size_t functions)
{
    _cleanup_free_ struct top_function *list = NULL;
    _cleanup_buf_ struct buf name = BUF_UPTO(TOP_NAME_BYTES);
    size_t count = 0;

    if (top_group_functions(sums, g, &list, &count) < 0)
        return NULL;
    top_group_name(v, g, &name);
    return json_pack("{s:s%, s:I, s:f, s:o}", "name", name.p ? name.p : "", name.n, "total",
                     (json_int_t)g->weight, "total_percent",
                     percent(g->weight, v->opts.total ? v->value : v->samples), "functions",
                     functions_json(v, list, MIN(count, functions)));
}

/* Adds the greatest groups to @to, and how many others there are. 0 or -ENOMEM. */
static int put_groups(const struct view *v, size_t rows, json_t *to)
{
    _cleanup_free_ struct top_group *groups = NULL;
    _cleanup_(top_sums_freep) struct top_sums *sums = NULL;
    size_t count = 0, shown, functions;
    json_t *list = json_array();
    int r = top_groups(v, &groups, &count) ?: top_sums_new(v, &sums);

    shown = r < 0 ? 0 : groups_shown(rows, count, &functions);
    for (size_t i = 0; i < shown && r == 0; i++)
        r = json_array_append_new(list, group_json(v, sums, &groups[i], functions)) < 0 ? -ENOMEM
                                                                                        : 0;
    return json_object_set_new(to, "groups", list) < 0 ||
                   json_object_set_new(to, "groups_left_out",
                                       json_integer((json_int_t)(count - shown))) < 0
               ? -ENOMEM
               : r;
}

json_t *top_json(const struct view *v, size_t rows)
{
    _cleanup_free_ struct top_function *list = NULL;
    const struct profile *p = v->profile;
    size_t count = 0;
    json_t *ret, *warnings;

    if (top_functions(v, &list, &count) < 0)
        return NULL;
    warnings = json_array();
    for (size_t i = 0; i < v->warning_count; i++)
        json_array_append_new(warnings, json_string(v->warnings[i]));
    ret = json_pack("{s:s, s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:o, s:o}", "target", p->target,
                    "event", view_event(v)->name, "hz", profile_event_hz(view_event(v)), "seconds",
                    p->end_ns > p->start_ns ? (double)(p->end_ns - p->start_ns) / 1e9 : 0.0,
                    "samples", (json_int_t)v->samples, "lost", (json_int_t)p->lost, "unknown",
                    (json_int_t)v->unknown, "truncated", (json_int_t)v->truncated, "warnings",
                    warnings, "functions", functions_json(v, list, MIN(count, rows)));
    if (ret && has_groups(v) && put_groups(v, rows, ret) < 0) {
        json_decref(ret);
        return NULL;
    }
    return ret;
}
