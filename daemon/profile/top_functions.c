/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/top_functions.h"

#include "base/cleanup.h"
#include "base/list.h"

static bool is_function(uint32_t kind)
{
    return kind != FRAME_THREAD && kind != FRAME_PROCESS && kind != FRAME_REQUEST &&
           kind != FRAME_TRUNCATED;
}

static int hot_cmp(const void *a, const void *b, void *ctx)
{
    const struct top_function *x = a, *y = b;
    const struct view *v = ctx;

    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return span_compare(view_string(v, x->name), view_string(v, y->name));
}

struct top_sum {
    struct top_function function;
    uint64_t kind_weight;
    size_t seen; /* 1 + index of the last row that contained it; 0: no row of the group */
};

struct top_sums {
    const struct view *view;
    size_t met_count;
    uint32_t *met;       /* names that occur in the group */
    struct top_sum of[]; /* by name; 0 for names that do not occur in the group */
};

int top_sums_new(const struct view *v, struct top_sums **ret)
{
    size_t names = intern_count(v->strings);
    _cleanup_free_ struct top_sums *t = calloc(1, sizeof(*t) + names * sizeof(*t->of));

    if (!t)
        return -ENOMEM;
    t->view = v;
    t->met = calloc(names + 1, sizeof(*t->met));
    if (!t->met)
        return -ENOMEM;
    *ret = TAKE_PTR(t);
    return 0;
}

struct top_sums *top_sums_free(struct top_sums *t)
{
    if (t)
        free(t->met);
    free(t);
    return NULL;
}

/* Adds a row to the totals of its functions, once per function. */
static void add_row(struct top_sums *t, size_t r)
{
    const struct view *v = t->view;
    const struct view_row *row = &v->rows[r];
    uint64_t weight = v->opts.total ? row->value : row->samples;

    for (uint32_t i = 0; i < row->n; i++) {
        const struct view_frame *f = &v->frames[v->stack[row->first + i]];
        struct top_sum *sum = &t->of[f->name];
        struct top_function *h = &sum->function;

        if (!is_function(f->kind))
            continue;
        if (!sum->seen)
            t->met[t->met_count++] = f->name;
        if (sum->seen != r + 1) {
            h->total += weight;
            sum->seen = r + 1;
        }
        if (i + 1 == row->n)
            h->self += weight;
        /* Majority vote of Boyer and Moore: finds the kind with most of the weight in one pass. */
        h->name = f->name;
        if (sum->kind_weight == 0)
            h->kind = f->kind;
        if (h->kind == f->kind)
            sum->kind_weight += weight;
        else
            sum->kind_weight -= MIN(weight, sum->kind_weight);
    }
}

int top_group_functions(struct top_sums *t, const struct top_group *g, struct top_function **ret,
                        size_t *ret_count)
{
    struct top_function *list;
    size_t n = 0;

    for (size_t r = g->first; r < g->end; r++)
        add_row(t, r);
    list = calloc(t->met_count + 1, sizeof(*list));
    for (size_t i = 0; i < t->met_count; i++) {
        struct top_sum *sum = &t->of[t->met[i]];

        if (list && sum->function.total)
            list[n++] = sum->function;
        *sum = (struct top_sum){ .seen = 0 };
    }
    t->met_count = 0;
    if (!list)
        return -ENOMEM;
    qsort_r(list, n, sizeof(*list), hot_cmp, (void *)(uintptr_t)t->view);
    *ret = list;
    *ret_count = n;
    return 0;
}

int top_functions(const struct view *v, struct top_function **ret, size_t *ret_count)
{
    const struct top_group all = { .end = v->row_count };
    _cleanup_(top_sums_freep) struct top_sums *t = NULL;

    return top_sums_new(v, &t) ?: top_group_functions(t, &all, ret, ret_count);
}

/* ---- groups ---- */

/* Returns whether two rows have the same frames at the root. */
static bool is_same_group(const struct view *v, const struct view_row *a, const struct view_row *b)
{
    if (a->roots != b->roots)
        return false;
    return ALL_OF(i, a->roots,
                  v->frames[v->stack[a->first + i]].name == v->frames[v->stack[b->first + i]].name);
}

/* Groups of equal weight are ordered by name, because rows are. */
ORDER_FUNCTION(group_cmp, struct top_group,
               COMPARE(y->weight, x->weight) ?: COMPARE(x->first, y->first))

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
