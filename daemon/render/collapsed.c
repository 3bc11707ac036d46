/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `collapsed`: a line "root;...;leaf N" for each distinct stack of names, sorted by its
 * bytes. What flamegraph.pl and its many readers take: so no ';' and no line break inside a name.
 */
#include "base/cleanup.h"
#include "render/formats.h"

struct line {
    struct span stack; /* points into the buffer of all stacks */
    uint64_t weight;
};

static int line_cmp(const void *a, const void *b)
{
    struct span x = ((const struct line *)a)->stack, y = ((const struct line *)b)->stack;
    int r = memcmp(x.p, y.p, MIN(x.n, y.n));

    return r ? r : (x.n > y.n) - (x.n < y.n);
}

static void add_name(struct buf *out, struct span name)
{
    size_t from = 0;

    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] != ';' && name.p[i] != '\n' && name.p[i] != '\r')
            continue;
        buf_add(out, name.p + from, i - from);
        buf_add_char(out, '_');
        from = i + 1;
    }
    buf_add_span(out, span_from(name, from));
}

static void add_stack(const struct view *v, const struct view_row *row, struct buf *out)
{
    if (!row->n) /* a sample without a frame still counts */
        buf_add_str(out, "[unknown]");
    for (uint32_t i = 0; i < row->n; i++) {
        if (i)
            buf_add_char(out, ';');
        add_name(out, view_string(v, v->frames[v->stack[row->first + i]].name));
    }
}

/* Adds up neighbours with equal stacks and writes the lines. */
static void add_lines(const struct line *lines, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        uint64_t weight = 0;
        size_t from = i;

        for (; i < n && !line_cmp(&lines[from], &lines[i]); i++)
            weight += lines[i].weight;
        if (!weight)
            continue;
        buf_add_span(out, lines[from].stack);
        buf_add_char(out, ' ');
        buf_add_u64(out, weight);
        buf_add_char(out, '\n');
    }
}

int render_collapsed(const struct view *v, const struct render_opts *o, struct buf *out,
                     struct error *err)
{
    _cleanup_free_ struct line *lines = NULL;
    _cleanup_buf_ struct buf text = BUF_NULL;
    size_t at = 0;

    (void)o;
    if (!v->row_count)
        return 0;
    lines = calloc(v->row_count, sizeof(*lines));
    if (!lines)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    buf_init(&text, out->max); /* the answer is at least as long as this where no stack repeats */
    for (size_t i = 0; i < v->row_count; i++) {
        size_t before = text.n;

        add_stack(v, &v->rows[i], &text);
        lines[i].stack.n = text.n - before;
        lines[i].weight = render_weight(v, v->rows[i].samples, v->rows[i].value);
    }
    if (text.error)
        return render_result(&text, err);
    for (size_t i = 0; i < v->row_count; i++) { /* the text no longer moves */
        lines[i].stack.p = text.p + at;
        at += lines[i].stack.n;
    }
    qsort(lines, v->row_count, sizeof(*lines), line_cmp);
    add_lines(lines, v->row_count, out);
    return render_result(out, err);
}
