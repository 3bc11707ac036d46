/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the rows of a view and adds up those that read the same. */
#include "profile/view_impl.h"

static int row_compare(const void *x, const void *y, void *cookie)
{
    const struct view_row *a = x, *c = y;
    const struct view *v = cookie;
    const uint32_t *s = v->stack + a->first, *t = v->stack + c->first;
    uint32_t n = MIN(a->n, c->n);

    for (uint32_t i = 0; i < n; i++) {
        if (s[i] != t[i] && v->frames[s[i]].name != v->frames[t[i]].name)
            return v->frames[s[i]].name < v->frames[t[i]].name ? -1 : 1;
    }
    if (a->n != c->n)
        return a->n < c->n ? -1 : 1;
    for (uint32_t i = 0; i < n; i++) {
        if (s[i] != t[i])
            return s[i] < t[i] ? -1 : 1;
    }
    return a->thread < c->thread ? -1 : a->thread > c->thread;
}

/* Equal rows become one: different frames of the profile can read the same. @row_at, by row.first:
 * which row that became. NULL: nobody asks. */
static void view_merge_rows(struct view *v, uint32_t *row_at)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->row_count; i++) {
        uint32_t first = v->rows[i].first;

        if (kept && row_compare(&v->rows[kept - 1], &v->rows[i], v) == 0) {
            v->rows[kept - 1].samples += v->rows[i].samples;
            v->rows[kept - 1].value += v->rows[i].value;
        } else {
            v->rows[kept++] = v->rows[i];
        }
        if (row_at)
            row_at[first] = (uint32_t)kept - 1;
    }
    v->row_count = kept;
}

/* From the key of each sample to its row, by where the row's frames begin. */
static void view_place_samples(struct view_builder *b, const uint32_t *row_at)
{
    uint32_t *rows = b->v->sample_rows;

    for (size_t i = 0; i < b->p->sample_count; i++) {
        uint32_t first = rows[i] == VIEW_NO_ROW ? VIEW_NO_ROW : b->key_first[rows[i]];

        rows[i] = first == VIEW_NO_ROW ? VIEW_NO_ROW : row_at[first];
    }
}

int view_order_rows(struct view_builder *b)
{
    struct view *v = b->v;
    uint32_t *row_at = NULL;

    if (v->sample_rows) {
        row_at = calloc(v->stack_words ? v->stack_words : 1, sizeof(*row_at));
        if (!row_at)
            return -ENOMEM;
    }
    qsort_r(v->rows, v->row_count, sizeof(*v->rows), row_compare, v);
    view_merge_rows(v, row_at);
    if (row_at)
        view_place_samples(b, row_at);
    free(row_at);
    return 0;
}
