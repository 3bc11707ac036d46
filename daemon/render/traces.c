/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `traces`: the most frequent stacks, each leaf first, as async-profiler prints them.
 */
#include "base/cleanup.h"
#include "base/list.h"
#include "render/report.h"

struct trace {
    size_t row; /* the first row of the trace */
    struct view_sum weight;
};

static int trace_cmp(const void *a, const void *b, void *ctx)
{
    const struct view *v = ctx;
    const struct trace *x = a, *y = b;
    uint64_t m = report_weigh(v, x->weight), n = report_weigh(v, y->weight);

    if (m != n)
        return m < n ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Returns whether two rows have equal names. */
static bool rows_alike(const struct view *v, const struct view_row *a, const struct view_row *b)
{
    if (a->n != b->n)
        return false;
    return ALL_OF(i, a->n,
                  v->frames[v->stack[a->first + i]].name == v->frames[v->stack[b->first + i]].name);
}

/* Adds up rows with equal names, which are neighbours. Returns the number of traces. */
static size_t traces_add_up(const struct view *v, struct trace *traces)
{
    size_t n = 0;

    for (size_t i = 0; i < v->row_count; i++) {
        if (!i || !rows_alike(v, &v->rows[i - 1], &v->rows[i]))
            traces[n++] = (struct trace){ .row = i };
        traces[n - 1].weight.samples += v->rows[i].samples;
        traces[n - 1].weight.value += v->rows[i].value;
    }
    return n;
}

static void add_trace(const struct view *v, const struct trace *t, struct buf *out)
{
    const struct view_row *row = &v->rows[t->row];

    buf_printf(out, "\n--- %llu %s (%.2f%%), %llu sample%s\n", (unsigned long long)t->weight.value,
               report_unit(v),
               report_percent(report_weigh(v, t->weight), report_weigh(v, report_whole(v))),
               (unsigned long long)t->weight.samples, t->weight.samples == 1 ? "" : "s");
    if (!row->n)
        buf_add_str(out, "  [ 0] [unknown]\n");
    for (uint32_t i = 0; i < row->n; i++) {
        buf_printf(out, "  [%2u] ", i);
        buf_add_span(out, view_string(v, v->frames[v->stack[row->first + row->n - 1 - i]].name));
        buf_add_char(out, '\n');
    }
}

int render_traces(const struct view *v, const struct render_opts *o, struct buf *out,
                  struct error *err)
{
    _cleanup_free_ struct trace *traces = calloc(v->row_count + 1, sizeof(*traces));
    struct view_sum rest = { 0 };
    size_t n, top = report_top(o);

    if (!traces)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    n = traces_add_up(v, traces);
    qsort_r(traces, n, sizeof(*traces), trace_cmp, (void *)v);
    report_add_head(v, o, out);
    for (size_t i = 0; i < n && i < top; i++)
        add_trace(v, &traces[i], out);
    for (size_t i = top; i < n; i++) {
        rest.samples += traces[i].weight.samples;
        rest.value += traces[i].weight.value;
    }
    if (n > top)
        buf_printf(out, "\n--- %llu %s (%.2f%%), %llu samples in %zu more stacks\n",
                   (unsigned long long)rest.value, report_unit(v),
                   report_percent(report_weigh(v, rest), report_weigh(v, report_whole(v))),
                   (unsigned long long)rest.samples, n - top);
    return render_result(out, err);
}
