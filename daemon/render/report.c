/* SPDX-License-Identifier: Apache-2.0 */
#include "render/report.h"

#include "render/method_calls_table.h"

void report_add_label(struct buf *out, const char *label)
{
    buf_printf(out, "%-20s: ", label);
}

/* Adds " (12.34%)" of the view's samples, and a line break. */
static void add_share(const struct view *v, uint64_t samples, struct buf *out)
{
    buf_printf(out, "%llu (%.2f%%)\n", (unsigned long long)samples,
               report_percent(samples, v->samples));
}

const char *report_unit_name(const char *unit)
{
    return !strcmp(unit, "nanoseconds") ? "ns" : !strcmp(unit, "count") ? "events" : unit;
}

const char *report_unit(const struct view *v)
{
    return report_unit_name(view_event(v)->unit);
}

double report_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

size_t report_top(const struct render_opts *o)
{
    return o && o->top ? o->top : RENDER_TOP_DEFAULT;
}

uint64_t report_weigh(const struct view *v, struct view_sum w)
{
    return render_weight(v, w.samples, w.value);
}

struct view_sum report_whole(const struct view *v)
{
    return (struct view_sum){ v->samples, v->value };
}

void report_add_columns(const struct view *v, struct view_sum w, struct buf *out)
{
    buf_printf(out, "%14llu  %6.2f%%  %9llu  ", (unsigned long long)w.value,
               report_percent(report_weigh(v, w), report_weigh(v, report_whole(v))),
               (unsigned long long)w.samples);
}

void report_add_table_head(const struct view *v, const char *title, struct buf *out)
{
    buf_printf(out, "%14s  percent    samples  %s\n", report_unit(v), title);
    buf_add_str(out, "  ------------  -------  ---------  ---\n");
}

void report_add_rest(const struct view *v, size_t count, struct view_sum w, const char *what,
                     struct buf *out)
{
    if (!count)
        return;
    report_add_columns(v, w, out);
    buf_printf(out, "[%zu more %s]\n", count, what);
}

static void add_event(const struct profile_event *event, struct buf *out)
{
    report_add_label(out, "Event");
    buf_add_str(out, event->name);
    if (!event->period)
        buf_add_char(out, '\n');
    else if (!strcmp(event->unit, "nanoseconds"))
        buf_printf(out, ", every %.6g ms (%.6g Hz)\n", (double)event->period / 1e6,
                   (double)NSEC_PER_SEC / (double)event->period);
    else
        buf_printf(out, ", every %llu %s\n", (unsigned long long)event->period,
                   !strcmp(event->unit, "bytes") ? "bytes" : "events");
}

/* Appends the names of the events that @v does not show. */
static void add_other_events(const struct view *v, struct buf *out)
{
    const struct profile *p = v->profile;
    const char *before = "";

    if (p->event_count < 2)
        return;
    report_add_label(out, "Other events");
    for (uint32_t i = 0; i < p->event_count; i++) {
        if (&p->events[i] == view_event(v))
            continue;
        buf_printf(out, "%s%s", before, p->events[i].name);
        before = ", ";
    }
    buf_add_str(out, ": not shown here; event=NAME selects one of a capture\n");
}

static void add_time(const struct profile *p, struct buf *out)
{
    time_t seconds = (time_t)(p->start_realtime_ns / NSEC_PER_SEC);
    uint64_t duration_ns = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0;
    char text[32];
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
        return;
    report_add_label(out, "Time");
    buf_printf(out, "%s, %.3f s\n", text, (double)duration_ns / 1e9);
}

/* Appends the number of safepoints, their duration, and the longest one. */
static void add_pauses(const struct profile *p, struct buf *out)
{
    uint64_t count = 0, all_ns = 0, reach_ns = 0, longest_ns = 0;
    const struct profile_moment *longest = NULL;

    for (size_t i = 0; i < p->moment_count; i++) {
        const struct profile_moment *m = &p->moments[i];
        uint64_t ns = m->end_ns - m->start_ns;

        if (m->kind != MOMENT_IS_SAFEPOINT)
            continue;
        count++;
        all_ns += ns;
        reach_ns += m->reach_ns;
        if (!longest || ns > longest_ns) {
            longest = m;
            longest_ns = ns;
        }
    }
    if (!longest)
        return;
    report_add_label(out, "Safepoints");
    buf_printf(out, "%llu, %.3f ms, %.3f ms of them to stop all threads; the longest %.3f ms",
               (unsigned long long)count, (double)all_ns / 1e6, (double)reach_ns / 1e6,
               (double)longest_ns / 1e6);
    if (longest->name) {
        buf_add_str(out, ", ");
        buf_add_span(out, intern_get(p->strings, longest->name));
    }
    buf_add_char(out, '\n');
}

/* Appends the JVMs' counters, and their durations. */
static void add_counts(const struct profile *p, struct buf *out)
{
    static const struct {
        enum profile_moment_kind kind;
        const char *label;
    } LINES[] = { { MOMENT_COUNTS_COLLECTIONS, "Collections" },
                  { MOMENT_COUNTS_COMPILATIONS, "Compilations" },
                  { MOMENT_COUNTS_CLASSES_LOADED, "Classes loaded" } };

    for (size_t k = 0; k < ARRAY_SIZE(LINES); k++) {
        uint64_t count = 0, ns = 0;

        for (size_t i = 0; i < p->moment_count; i++) {
            if (p->moments[i].kind != LINES[k].kind)
                continue;
            count += p->moments[i].count;
            ns += p->moments[i].reach_ns;
        }
        if (!count)
            continue;
        report_add_label(out, LINES[k].label);
        buf_printf(out, "%llu", (unsigned long long)count);
        if (ns)
            buf_printf(out, ", %.3f ms", (double)ns / 1e6);
        buf_add_char(out, '\n');
    }
}

void report_add_head(const struct view *v, const struct render_opts *o, struct buf *out)
{
    const struct profile *p = v->profile;

    buf_add_str(out, "--- Execution profile ---\n");
    if (o && o->title && *o->title) {
        report_add_label(out, "Title");
        buf_printf(out, "%s\n", o->title);
    }
    if (p->target[0]) {
        report_add_label(out, "Target");
        buf_printf(out, "%s\n", p->target);
    }
    add_event(view_event(v), out);
    add_other_events(v, out);
    add_time(p, out);
    if (p->symbols[0]) {
        report_add_label(out, "Symbols");
        buf_printf(out, "%s\n", p->symbols);
    }
    add_pauses(p, out);
    add_counts(p, out);
    report_add_label(out, "Total samples");
    buf_printf(out, "%llu\n", (unsigned long long)v->samples);
    report_add_label(out, "unknown");
    add_share(v, v->unknown, out);
    report_add_label(out, "truncated");
    add_share(v, v->truncated, out);
    if (v->inferred || v->unsure) {
        report_add_label(out, "leaf");
        buf_printf(out, "inferred for %.2f%%, unsure for %.2f%%\n",
                   report_percent(v->inferred, v->samples), report_percent(v->unsure, v->samples));
    }
    report_add_label(out, "lost");
    buf_printf(out, "%llu\n", (unsigned long long)p->lost);
    for (size_t i = 0; i < v->warning_count; i++) {
        report_add_label(out, "warning");
        buf_printf(out, "%s\n", v->warnings[i]);
    }
    report_add_calls(v, out);
}
