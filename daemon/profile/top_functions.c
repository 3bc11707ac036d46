/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/top_functions.h"

#include "base/cleanup.h"

static bool is_function(uint32_t kind)
{
    return kind != FRAME_THREAD && kind != FRAME_PROCESS && kind != FRAME_REQUEST &&
           kind != FRAME_TRUNCATED;
}

static int hot_cmp(const void *a, const void *b, void *ctx)
{
    const struct top_function *x = a, *y = b;
    const struct view *v = ctx;
    struct span s, t;
    int r;

    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    s = view_string(v, x->name);
    t = view_string(v, y->name);
    r = memcmp(s.p, t.p, MIN(s.n, t.n));
    return r ? r : (s.n > t.n) - (s.n < t.n);
}

/* Adds a row to the totals of its functions, once per function. @seen: by name, 1 + the last row
 * that was added. */
static void add_row(const struct view *v, size_t r, struct top_function *list, uint32_t *seen,
                    uint64_t *kind_weight)
{
    const struct view_row *row = &v->rows[r];
    uint64_t weight = v->opts.total ? row->value : row->samples;

    for (uint32_t i = 0; i < row->n; i++) {
        const struct view_frame *f = &v->frames[v->stack[row->first + i]];
        struct top_function *h = &list[f->name];

        if (!is_function(f->kind))
            continue;
        if (seen[f->name] != r + 1) {
            h->total += weight;
            seen[f->name] = (uint32_t)r + 1;
        }
        if (i + 1 == row->n)
            h->self += weight;
        /* Boyer and Moore's vote: the kind of most of the weight, in one pass. */
        h->name = f->name;
        if (kind_weight[f->name] == 0)
            h->kind = f->kind;
        if (h->kind == f->kind)
            kind_weight[f->name] += weight;
        else
            kind_weight[f->name] -= MIN(weight, kind_weight[f->name]);
    }
}

int top_group_functions(const struct view *v, const struct top_group *g, struct top_function **ret,
                        size_t *ret_count)
{
    size_t names = intern_count(v->strings), n = 0;
    _cleanup_free_ struct top_function *list = calloc(names + 1, sizeof(*list));
    _cleanup_free_ uint32_t *seen = calloc(names + 1, sizeof(*seen));
    _cleanup_free_ uint64_t *kind_weight = calloc(names + 1, sizeof(*kind_weight));

    if (!list || !seen || !kind_weight)
        return -ENOMEM;
    for (size_t r = g->first; r < g->end; r++)
        add_row(v, r, list, seen, kind_weight);
    for (size_t i = 0; i < names; i++) {
        if (list[i].total)
            list[n++] = list[i];
    }
    qsort_r(list, n, sizeof(*list), hot_cmp, (void *)(uintptr_t)v);
    *ret = TAKE_PTR(list);
    *ret_count = n;
    return 0;
}

int top_functions(const struct view *v, struct top_function **ret, size_t *ret_count)
{
    const struct top_group all = { .end = v->row_count };

    return top_group_functions(v, &all, ret, ret_count);
}

/* ---- groups ---- */

/* Returns whether two rows have the same frames at the root. */
static bool is_same_group(const struct view *v, const struct view_row *a, const struct view_row *b)
{
    if (a->roots != b->roots)
        return false;
    for (uint32_t i = 0; i < a->roots; i++) {
        if (v->frames[v->stack[a->first + i]].name != v->frames[v->stack[b->first + i]].name)
            return false;
    }
    return true;
}

static int group_cmp(const void *a, const void *b)
{
    const struct top_group *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first); /* by name: rows are sorted */
}

int top_groups(const struct view *v, struct top_group **ret, size_t *ret_count)
{
    _cleanup_free_ struct top_group *list = calloc(v->row_count + 1, sizeof(*list));
    size_t n = 0;

    if (!list)
        return -ENOMEM;
    for (size_t r = 0; r < v->row_count; r++) {
        if (r == 0 || !is_same_group(v, &v->rows[r - 1], &v->rows[r]))
            list[n++].first = r;
        list[n - 1].end = r + 1;
        list[n - 1].weight += v->opts.total ? v->rows[r].value : v->rows[r].samples;
    }
    qsort(list, n, sizeof(*list), group_cmp);
    *ret = TAKE_PTR(list);
    *ret_count = n;
    return 0;
}

void top_group_name(const struct view *v, const struct top_group *g, struct buf *out)
{
    const struct view_row *row = &v->rows[g->first];

    for (uint32_t i = 0; i < row->roots; i++) {
        if (i > 0)
            buf_add_char(out, ' ');
        buf_add_span(out, view_string(v, v->frames[v->stack[row->first + i]].name));
    }
}
