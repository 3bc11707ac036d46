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

int top_functions(const struct view *v, struct top_function **ret, size_t *ret_count)
{
    size_t names = intern_count(v->strings), n = 0;
    _cleanup_free_ struct top_function *list = calloc(names + 1, sizeof(*list));
    _cleanup_free_ uint32_t *seen = calloc(names + 1, sizeof(*seen));
    _cleanup_free_ uint64_t *kind_weight = calloc(names + 1, sizeof(*kind_weight));

    if (!list || !seen || !kind_weight)
        return -ENOMEM;
    for (size_t r = 0; r < v->row_count; r++)
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
