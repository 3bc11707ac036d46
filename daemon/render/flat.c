/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `flat`: the methods that ran themselves, hottest first, in async-profiler's columns.
 */
#include "base/cleanup.h"
#include "render/report.h"

struct method {
    uint32_t name; /* string of the view; "": a sample without any frame */
    struct view_sum self;
};

static int method_cmp(const void *a, const void *b, void *ctx)
{
    const struct view *v = ctx;
    const struct method *x = a, *y = b;
    uint64_t m = report_weigh(v, x->self), n = report_weigh(v, y->self);
    struct span s, t;
    int r;

    if (m != n)
        return m < n ? 1 : -1;
    s = view_string(v, x->name);
    t = view_string(v, y->name);
    r = memcmp(s.p, t.p, MIN(s.n, t.n)); /* names are distinct: so is the order */
    return r ? r : (s.n > t.n) - (s.n < t.n);
}

/* Methods by name, unsorted; their number, or -ENOMEM. */
static int64_t flat_add_up(const struct view *v, struct method **ret)
{
    uint32_t names = intern_count(v->strings);
    _cleanup_free_ struct method *methods = calloc((size_t)names + 1, sizeof(*methods));
    int64_t n = 0;

    if (!methods)
        return -ENOMEM;
    for (size_t i = 0; i < v->row_count; i++) {
        const struct view_row *row = &v->rows[i];
        uint32_t name = row->n ? v->frames[v->stack[row->first + row->n - 1]].name : 0;

        methods[name].name = name;
        methods[name].self.samples += row->samples;
        methods[name].self.value += row->value;
    }
    for (uint32_t i = 0; i < names; i++)
        if (methods[i].self.samples || methods[i].self.value)
            methods[n++] = methods[i];
    *ret = TAKE_PTR(methods);
    return n;
}

int render_flat(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err)
{
    _cleanup_free_ struct method *methods = NULL;
    struct view_sum rest = { 0 };
    size_t top = report_top(o), n;
    int64_t r = flat_add_up(v, &methods);

    if (r < 0)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    n = (size_t)r;
    qsort_r(methods, n, sizeof(*methods), method_cmp, (void *)v);
    report_add_head(v, o, out);
    buf_add_char(out, '\n');
    report_add_table_head(v, "top", out);
    for (size_t i = 0; i < n && i < top; i++) {
        struct span name = view_string(v, methods[i].name);

        report_add_columns(v, methods[i].self, out);
        buf_add_span(out, name.n ? name : SPAN("[unknown]"));
        buf_add_char(out, '\n');
    }
    for (size_t i = top; i < n; i++) {
        rest.samples += methods[i].self.samples;
        rest.value += methods[i].self.value;
    }
    report_add_rest(v, n > top ? n - top : 0, rest, "methods", out);
    return render_result(out, err);
}
