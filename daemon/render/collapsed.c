/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `collapsed`: a line "root;...;leaf N" for each distinct stack of names, sorted by its
 * bytes. What flamegraph.pl and its many readers take: so no ';' and no line break inside a name.
 * Rows are compared by what their names are ranked, and their bodies once for all threads, so that
 * no line is there before it is written.
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
    uint32_t *rank; /* [2 * names]: of a name at a line's end, and of one with a ';' behind it */
    uint32_t *body_rank; /* [view->body_count]: equal where they read the same */
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

/* Two names, each at the end of its line or with a ';' behind it: bytes of such lines. */
static int ends_cmp(const void *a, const void *b, void *ctx)
{
    const struct lines *l = ctx;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    struct span x = intern_get(l->names, i / 2), y = intern_get(l->names, k / 2);
    size_t n = MIN(x.n, y.n);
    int r = memcmp(x.p, y.p, n), behind_x, behind_y;

    if (r)
        return r;
    behind_x = n < x.n ? (unsigned char)x.p[n] : i % 2 ? ';' : -1;
    behind_y = n < y.n ? (unsigned char)y.p[n] : k % 2 ? ';' : -1;
    return behind_x != behind_y ? behind_x - behind_y : (x.n > y.n) - (x.n < y.n);
}

static int rank_names(struct lines *l)
{
    size_t n = 2 * (size_t)intern_count(l->names);
    _cleanup_free_ uint32_t *order = calloc(n, sizeof(*order));

    l->rank = calloc(n, sizeof(*l->rank));
    if (!order || !l->rank)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, n, sizeof(*order), ends_cmp, l);
    for (size_t i = 0; i < n; i++)
        l->rank[order[i]] = (uint32_t)i;
    return 0;
}

static uint32_t rank_at(const struct lines *l, const struct view_row *row, uint32_t i)
{
    return l->rank[2 * name_at(l, row, i) + (i + 1 < names_in(row))];
}

/* Two lines from their @i'th names on. */
static int names_cmp(const struct lines *l, const struct view_row *x, const struct view_row *y,
                     uint32_t i)
{
    uint32_t m = names_in(x), n = names_in(y);

    for (; i < m && i < n; i++) {
        uint32_t a = rank_at(l, x, i), b = rank_at(l, y, i);

        if (a != b)
            return a < b ? -1 : 1;
    }
    return (m > n) - (m < n);
}

static int body_cmp(const void *a, const void *b, void *ctx)
{
    const struct view_row *x = *(struct view_row *const *)a, *y = *(struct view_row *const *)b;
    const struct lines *l = ctx;
    uint32_t m = names_in(x) - x->roots, n = names_in(y) - y->roots;

    for (uint32_t i = 0; i < m && i < n; i++) {
        uint32_t p = rank_at(l, x, x->roots + i), q = rank_at(l, y, y->roots + i);

        if (p != q)
            return p < q ? -1 : 1;
    }
    return (m > n) - (m < n);
}

static int rank_bodies(struct lines *l)
{
    const struct view *v = l->v;
    _cleanup_free_ const struct view_row **rows = calloc(v->body_count + 1, sizeof(void *));
    _cleanup_free_ uint8_t *seen = calloc(v->body_count + 1, 1);
    size_t n = 0;

    l->body_rank = calloc(v->body_count + 1, sizeof(*l->body_rank));
    if (!rows || !seen || !l->body_rank)
        return -ENOMEM;
    for (size_t i = 0; i < v->row_count; i++)
        if (!seen[v->rows[i].body]++)
            rows[n++] = &v->rows[i];
    qsort_r(rows, n, sizeof(*rows), body_cmp, l);
    for (size_t i = 1; i < n; i++)
        l->body_rank[rows[i]->body] =
            l->body_rank[rows[i - 1]->body] + (body_cmp(&rows[i - 1], &rows[i], l) != 0);
    return 0;
}

static int line_cmp(const void *a, const void *b, void *ctx)
{
    const struct view_row *x = *(struct view_row *const *)a, *y = *(struct view_row *const *)b;
    const struct lines *l = ctx;
    uint32_t p, q;

    if (x->roots != y->roots)
        return names_cmp(l, x, y, 0);
    for (uint32_t i = 0; i < x->roots; i++) {
        p = rank_at(l, x, i);
        q = rank_at(l, y, i);
        if (p != q)
            return p < q ? -1 : 1;
    }
    p = l->body_rank[x->body];
    q = l->body_rank[y->body];
    return (p > q) - (p < q);
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
    if (r == 0)
        r = intern_add(l->names, SPAN("[unknown]"), &l->unknown);
    if (r == 0)
        r = rank_names(l);
    return r == 0 ? rank_bodies(l) : r;
}

static void lines_deinit(struct lines *l)
{
    intern_free(l->names);
    free(l->name_of);
    free(l->rank);
    free(l->body_rank);
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
