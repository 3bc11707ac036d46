/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `collapsed`: a line "root;...;leaf N" for each distinct stack of names, sorted by its
 * bytes. flamegraph.pl and many other programs read it, so no name contains a ';' or a line break.
 * Rows are compared by the ranks of their names, and a shared body is compared only once. So lines
 * need not be in memory before they are written, and the text of a shared body is made only once.
 */
#include "base/ascii.h"
#include "base/cleanup.h"
#include "render/body_texts.h"
#include "render/formats.h"

#define ROOTS_RANKED 2u /* number of roots with ranks that fit into one sort key */
#define COLLAPSED_NAME_BYTES_MAX ((size_t)512 << 20)

/* A view while its lines are sorted. */
struct lines {
    const struct view *v;
    struct intern *names; /* names in their written form */
    uint32_t *name_of;    /* id in `names` by string of the view */
    uint32_t unknown;     /* name for samples without a frame */
    uint32_t *rank;       /* [2 * names]: ranks of a name: at the end of a line, and followed by
                           * ';' */
    uint32_t *body_rank;  /* [view->body_count]: equal for bodies of equal text */
};

/* Sort key of a row. */
struct line {
    uint64_t roots; /* ranks of its first ROOTS_RANKED roots */
    uint32_t body;  /* rank of its body */
    uint32_t roots_n;
    const struct view_row *row;
};

/* Returns name number @i of a row. */
static uint32_t name_at(const struct lines *l, const struct view_row *row, uint32_t i)
{
    return row->n ? l->name_of[l->v->frames[l->v->stack[row->first + i]].name] : l->unknown;
}

static uint32_t names_in(const struct view_row *row)
{
    return MAX(row->n, 1u);
}

/* Compares the bytes of two names, each at the end of its line or followed by ';'. */
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

/* Compares two lines from name number @i on. */
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
    for (size_t i = 0; i < v->row_count; i++) {
        if (!seen[v->rows[i].body])
            rows[n++] = &v->rows[i];
        seen[v->rows[i].body] = 1;
    }
    qsort_r(rows, n, sizeof(*rows), body_cmp, l);
    for (size_t i = 1; i < n; i++)
        l->body_rank[rows[i]->body] =
            l->body_rank[rows[i - 1]->body] + (body_cmp(&rows[i - 1], &rows[i], l) != 0);
    return 0;
}

static int line_cmp(const void *a, const void *b, void *ctx)
{
    const struct line *x = a, *y = b;

    if (x->roots_n != y->roots_n)
        return names_cmp(ctx, x->row, y->row, 0);
    if (x->roots != y->roots)
        return x->roots < y->roots ? -1 : 1;
    if (x->roots_n > ROOTS_RANKED)
        return names_cmp(ctx, x->row, y->row, ROOTS_RANKED);
    return (x->body > y->body) - (x->body < y->body);
}

static struct line *lines_sorted(const struct lines *l)
{
    const struct view *v = l->v;
    struct line *lines = calloc(v->row_count + 1, sizeof(*lines));

    for (size_t i = 0; i < v->row_count && lines; i++) {
        const struct view_row *row = &v->rows[i];

        lines[i] =
            (struct line){ .body = l->body_rank[row->body], .roots_n = row->roots, .row = row };
        for (uint32_t k = 0; k < MIN(row->roots, ROOTS_RANKED); k++)
            lines[i].roots = lines[i].roots << 32 | rank_at(l, row, k);
    }
    if (lines)
        qsort_r(lines, v->row_count, sizeof(*lines), line_cmp, (void *)(uintptr_t)l);
    return lines;
}

/* Returns the index of the blank before a number that ends @name; name.n: none. flamegraph.pl takes
 * such a number for a second count, and draws a differential graph. */
static size_t blank_before_number(struct span name)
{
    size_t end = name.n, i;

    while (end && ascii_is_digit(name.p[end - 1]))
        end--;
    i = end;
    if (end && name.p[end - 1] == '.') /* "4.5" */
        for (i = --end; i && ascii_is_digit(name.p[i - 1]);)
            i--;
    else
        end = name.n;
    return i < end && i && name.p[i - 1] == ' ' ? i - 1 : name.n;
}

/* Returns the number of bytes at @i that become one '_'. base/text.h replaces line breaks and
 * invalid bytes by U+FFFD. */
static size_t replaced_at(struct span name, size_t i, size_t blank)
{
    if (span_starts_with(span_from(name, i), "\xef\xbf\xbd"))
        return 3;
    return i == blank || name.p[i] == ';' || name.p[i] == '\n' || name.p[i] == '\r';
}

static void add_name(struct buf *out, struct span name)
{
    size_t from = 0, blank = blank_before_number(name), n;

    for (size_t i = 0; i < name.n; i += n ? n : 1) {
        n = replaced_at(name, i, blank);
        if (!n)
            continue;
        buf_add(out, name.p + from, i - from);
        buf_add_char(out, '_');
        from = i + n;
    }
    buf_add_span(out, span_from(name, from));
}

/* Writes every name; names of equal text become one. */
static int lines_init(struct lines *l, const struct view *v)
{
    uint32_t n = intern_count(v->strings);
    _cleanup_buf_ struct buf text = BUF_UPTO(COLLAPSED_NAME_BYTES_MAX);
    int r = intern_new(COLLAPSED_NAME_BYTES_MAX, &l->names);

    l->v = v;
    l->name_of = calloc((size_t)n + 1, sizeof(*l->name_of));
    if (r < 0 || !l->name_of)
        return -ENOMEM;
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

/* The text of a row after its roots. The next row mostly has the same beginning, which is then
 * reused. */
struct body_text {
    struct buf text;
    const struct view_row *row; /* the row of the text; NULL: none yet */
    size_t *ends;               /* [names of the longest row]: end of each name in text */
    struct body_texts texts;
};

static int body_text_init(struct body_text *t, const struct view *v)
{
    size_t longest = 1;

    for (size_t i = 0; i < v->row_count; i++)
        longest = MAX(longest, (size_t)v->rows[i].n);
    buf_init(&t->text, COLLAPSED_NAME_BYTES_MAX);
    t->ends = calloc(longest, sizeof(*t->ends));
    return body_texts_init(&t->texts, v) == 0 && t->ends ? 0 : -ENOMEM;
}

static void body_text_deinit(struct body_text *t)
{
    buf_deinit(&t->text);
    free(t->ends);
    body_texts_deinit(&t->texts);
}

static void body_text_set(const struct lines *l, struct body_text *t, const struct view_row *row)
{
    uint32_t n = names_in(row) - row->roots, same = 0, most = 0;

    if (t->row)
        most = MIN(n, names_in(t->row) - t->row->roots);
    while (same < most &&
           name_at(l, row, row->roots + same) == name_at(l, t->row, t->row->roots + same))
        same++;
    t->text.n = same ? t->ends[same - 1] : 0;
    for (uint32_t i = same; i < n; i++) {
        if (i)
            buf_add_char(&t->text, ';');
        buf_add_span(&t->text, intern_get(l->names, name_at(l, row, row->roots + i)));
        t->ends[i] = t->text.n;
    }
    t->row = row;
}

/* Returns the text of a row after its roots; valid until the next call. */
static struct span body_text_of(const struct lines *l, struct body_text *t,
                                const struct view_row *row)
{
    struct span text;

    if (body_texts_get(&t->texts, row->body, &text))
        return text;
    body_text_set(l, t, row);
    body_texts_keep(&t->texts, row->body, buf_span(&t->text));
    return buf_span(&t->text);
}

static void add_line(const struct lines *l, struct body_text *t, const struct view_row *row,
                     uint64_t weight, struct buf *out)
{
    for (uint32_t i = 0; i < row->roots; i++) {
        buf_add_span(out, intern_get(l->names, name_at(l, row, i)));
        if (i + 1 < row->n)
            buf_add_char(out, ';');
    }
    buf_add_span(out, body_text_of(l, t, row));
    buf_add_char(out, ' ');
    buf_add_u64(out, weight);
    buf_add_char(out, '\n');
}

/* Adds up neighbours with equal stacks and writes the lines. */
static int add_lines(const struct lines *l, const struct line *lines, struct buf *out)
{
    _cleanup_(body_text_deinit) struct body_text text = { 0 };
    const struct view *v = l->v;
    int r = body_text_init(&text, v);

    for (size_t i = 0; i < v->row_count && !out->error && r == 0;) {
        uint64_t weight = 0;
        size_t from = i;

        for (; i < v->row_count && !line_cmp(&lines[from], &lines[i], (void *)(uintptr_t)l); i++)
            weight += render_weight(v, lines[i].row->samples, lines[i].row->value);
        if (weight)
            add_line(l, &text, lines[from].row, weight, out);
        r = text.text.error;
    }
    return r;
}

int render_collapsed(const struct view *v, const struct render_opts *o, struct buf *out,
                     struct error *err)
{
    _cleanup_(lines_deinit) struct lines l = { 0 };
    _cleanup_free_ struct line *lines = NULL;
    int r = lines_init(&l, v);

    (void)o;
    if (r == 0) {
        lines = lines_sorted(&l);
        r = lines ? add_lines(&l, lines, out) : -ENOMEM;
    }
    if (r < 0)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    return render_result(out, err);
}
