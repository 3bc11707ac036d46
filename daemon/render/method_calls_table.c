/* SPDX-License-Identifier: Apache-2.0 */
#include "render/method_calls_table.h"

#include "profile/method_calls.h"
#include "render/report.h"

#define CALLS_ROWS 20 /* rows of the text table */

static void add_number(struct buf *out, const char *name, uint64_t n)
{
    buf_printf(out, ",\"%s\":%llu", name, (unsigned long long)n);
}

static void add_row(const struct method_calls *c, const struct method_calls_row *row,
                    struct buf *out)
{
    buf_add_str(out, "{\"name\":");
    render_add_json_string(out, method_calls_name(c, row));
    add_number(out, "count", row->count);
    add_number(out, "cut", row->cut);
    if (row->count) {
        add_number(out, "p50", row->p50_ns);
        add_number(out, "p99", row->p99_ns);
    }
    add_number(out, "longest", row->longest_ns);
    if (row->longest_cut)
        buf_add_str(out, ",\"longest_cut\":true");
    add_number(out, "total", row->total_ns);
    buf_add_char(out, '}');
}

void render_add_calls(const struct view *v, struct buf *out)
{
    const struct method_calls *c = v->calls;

    if (!c)
        return;
    buf_printf(out, ",\"calls\":{\"interval\":%llu", (unsigned long long)c->period_ns);
    add_number(out, "over", c->over_ns);
    buf_add_str(out, ",\"methods\":[");
    for (size_t i = 0; i < c->row_count; i++) {
        if (i)
            buf_add_char(out, ',');
        add_row(c, &c->rows[i], out);
    }
    buf_add_char(out, ']');
    add_number(out, "methods_left_out", c->methods_left_out);
    add_number(out, "calls_left_out", c->calls_left_out);
    add_number(out, "virtual_left_out", c->virtual_left_out);
    buf_add_char(out, '}');
}

/* Adds @ns in ms; "-" if not @known. */
static void add_ms(uint64_t ns, bool known, const char *mark, struct buf *out)
{
    if (known)
        buf_printf(out, "  %9.1f%s", (double)ns / NSEC_PER_MSEC, mark);
    else
        buf_printf(out, "  %9s%s", "-", mark);
}

void report_add_calls(const struct view *v, struct buf *out)
{
    const struct method_calls *c = v->calls;

    if (!c)
        return;
    report_add_label(out, "Calls");
    buf_printf(out, "by samples every %.6g ms", (double)c->period_ns / NSEC_PER_MSEC);
    if (c->over_ns)
        buf_printf(out, "; shown are samples of those over %.6g ms",
                   (double)c->over_ns / NSEC_PER_MSEC);
    buf_add_str(out, "\n\n    calls      cut     p50 ms     p99 ms  longest ms  method\n"
                     " --------  -------  ---------  ---------  ----------  ---\n");
    for (size_t i = 0; i < c->row_count && i < CALLS_ROWS; i++) {
        const struct method_calls_row *row = &c->rows[i];

        buf_printf(out, "%9llu  %7llu", (unsigned long long)row->count,
                   (unsigned long long)row->cut);
        add_ms(row->p50_ns, row->count, "", out);
        add_ms(row->p99_ns, row->count, "", out);
        add_ms(row->longest_ns, true, row->longest_cut ? "+  " : "   ", out);
        buf_add_span(out, method_calls_name(c, row));
        buf_add_char(out, '\n');
    }
    if (c->row_count > CALLS_ROWS)
        buf_printf(out, "[%zu more methods]\n", c->row_count - CALLS_ROWS);
}

size_t report_call_count(const struct view *v)
{
    return v->calls ? v->calls->row_count : 0;
}

void report_add_call(const struct view *v, size_t i, struct buf *out)
{
    const struct method_calls *c = v->calls;
    const struct method_calls_row *row = &c->rows[i];

    buf_add_span(out, method_calls_name(c, row));
    buf_printf(out, ": %llu calls, %llu more that are cut", (unsigned long long)row->count,
               (unsigned long long)row->cut);
    if (row->count)
        buf_printf(out, "; p50 %.1f ms, p99 %.1f ms", (double)row->p50_ns / NSEC_PER_MSEC,
                   (double)row->p99_ns / NSEC_PER_MSEC);
    buf_printf(out, "; longest %.1f ms%s", (double)row->longest_ns / NSEC_PER_MSEC,
               row->longest_cut ? " or more" : "");
}
