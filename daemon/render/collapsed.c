/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `collapsed`: a line "root;...;leaf N" for each distinct stack of names, sorted by its
 * bytes. What flamegraph.pl and its many readers take: so no ';' and no line break inside a name.
 * Rows are compared name by name, so that no line is there before it is written.
 */
#include "base/cleanup.h"
#include "render/formats.h"

#define COLLAPSED_NAME_BYTES_MAX ((size_t)512 << 20)

/* A view while its lines are sorted. */
struct lines {
    const struct view *v;
    struct intern *names; /* as they are written */
    uint32_t *name_of;    /* by string of the view: its id in names */
    uint32_t unknown;     /* of a sample without a frame, which still counts */
};

/* The name at the @i'th place of a row. */
static uint32_t name_at(const struct lines *l, const struct view_row *row, uint32_t i)
{
    return row->n ? l->name_of[l->v->frames[l->v->stack[row->first + i]].name] : l->unknown;
}

static uint32_t names_in(const struct view_row *row)
{
    return MAX(row->n, 1u);
}

/* Two names with what stands behind them on their lines: ';', or the end. */
static int name_cmp(struct span x, bool x_ends, struct span y, bool y_ends)
{
    size_t n = MIN(x.n, y.n);
    int r = memcmp(x.p, y.p, n), behind_x, behind_y;

    if (r)
        return r;
    behind_x = n < x.n ? (unsigned char)x.p[n] : x_ends ? -1 : ';';
    behind_y = n < y.n ? (unsigned char)y.p[n] : y_ends ? -1 : ';';
    return behind_x != behind_y ? behind_x - behind_y : (x.n > y.n) - (x.n < y.n);
}

static int line_cmp(const void *a, const void *b, void *ctx)
{
    const struct lines *l = ctx;
    const struct view_row *x = *(struct view_row *const *)a, *y = *(struct view_row *const *)b;
    uint32_t m = names_in(x), n = names_in(y), i = 0;

    while (i < m && i < n && name_at(l, x, i) == name_at(l, y, i))
        i++;
    if (i == m || i == n)
        return (m > n) - (m < n);
    return name_cmp(intern_get(l->names, name_at(l, x, i)), i + 1 == m,
                    intern_get(l->names, name_at(l, y, i)), i + 1 == n);
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

/* Every name as it is written; names that then read the same are one. */
static int lines_init(struct lines *l, const struct view *v)
{
    uint32_t n = intern_count(v->strings);
    _cleanup_buf_ struct buf text = BUF_NULL;
    int r = intern_new(COLLAPSED_NAME_BYTES_MAX, &l->names);

    l->v = v;
    l->name_of = calloc((size_t)n + 1, sizeof(*l->name_of));
    if (r < 0 || !l->name_of)
        return -ENOMEM;
    buf_init(&text, COLLAPSED_NAME_BYTES_MAX);
    for (uint32_t i = 0; i < n && r == 0; i++) {
        buf_clear(&text);
        add_name(&text, view_string(v, i));
        r = text.error ? text.error : intern_add(l->names, buf_span(&text), &l->name_of[i]);
    }
    return r == 0 ? intern_add(l->names, SPAN("[unknown]"), &l->unknown) : r;
}

static void lines_deinit(struct lines *l)
{
    intern_free(l->names);
    free(l->name_of);
}

/* The line of a row on its way: the next one mostly shares its beginning. */
struct stack_line {
    struct buf text;
    const struct view_row *row; /* that it is of; NULL: none yet */
    size_t *ends;               /* [of the longest row]: where each of its names ends in text */
};

static int line_init(struct stack_line *line, const struct view *v)
{
    size_t longest = 1;

    for (size_t i = 0; i < v->row_count; i++)
        longest = MAX(longest, (size_t)v->rows[i].n);
    buf_init(&line->text, COLLAPSED_NAME_BYTES_MAX);
    line->ends = calloc(longest, sizeof(*line->ends));
    return line->ends ? 0 : -ENOMEM;
}

static void line_deinit(struct stack_line *line)
{
    buf_deinit(&line->text);
    free(line->ends);
}

static void line_set(const struct lines *l, struct stack_line *line, const struct view_row *row)
{
    uint32_t n = names_in(row), same = 0, most = line->row ? MIN(n, names_in(line->row)) : 0;

    while (same < most && name_at(l, row, same) == name_at(l, line->row, same))
        same++;
    line->text.n = same ? line->ends[same - 1] : 0;
    for (uint32_t i = same; i < n; i++) {
        if (i)
            buf_add_char(&line->text, ';');
        buf_add_span(&line->text, intern_get(l->names, name_at(l, row, i)));
        line->ends[i] = line->text.n;
    }
    line->row = row;
}

/* Adds up neighbours with equal stacks and writes the lines. */
static int add_lines(const struct lines *l, const struct view_row **rows, struct buf *out)
{
    _cleanup_(line_deinit) struct stack_line line = { 0 };
    const struct view *v = l->v;
    int r = line_init(&line, v);

    for (size_t i = 0; i < v->row_count && !out->error && r == 0;) {
        uint64_t weight = 0;
        size_t from = i;

        for (; i < v->row_count && !line_cmp(&rows[from], &rows[i], (void *)(uintptr_t)l); i++)
            weight += render_weight(v, rows[i]->samples, rows[i]->value);
        if (!weight)
            continue;
        line_set(l, &line, rows[from]);
        r = line.text.error;
        buf_add_span(out, buf_span(&line.text));
        buf_add_char(out, ' ');
        buf_add_u64(out, weight);
        buf_add_char(out, '\n');
    }
    return r;
}

int render_collapsed(const struct view *v, const struct render_opts *o, struct buf *out,
                     struct error *err)
{
    _cleanup_(lines_deinit) struct lines l = { 0 };
    _cleanup_free_ const struct view_row **rows = calloc(v->row_count + 1, sizeof(void *));

    (void)o;
    if (!rows || lines_init(&l, v) < 0)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    for (size_t i = 0; i < v->row_count; i++)
        rows[i] = &v->rows[i];
    qsort_r(rows, v->row_count, sizeof(*rows), line_cmp, &l);
    if (add_lines(&l, rows, out) < 0)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    return render_result(out, err);
}
