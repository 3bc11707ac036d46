/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of callers and callees that are the same one. */
#include "profile/changes.h"

#include "base/cleanup.h"

#include <math.h>

#define ALIKE_PART 0.25   /* of a change: what changed by as much may be the same */
#define FOLD_MAX 64       /* the greatest changes: callers of others are folded */
#define FOLD_TOGETHER 0.8 /* of the samples of one of them that the other is in, too */
#define FOLD_LITTLE 0.1   /* percent: what is below counts as new */

/* How much of a change is new: large where there was nothing before, or is nothing after. */
static double newness(const struct change *c)
{
    return c->difference > 0 ? c->after / (c->before + FOLD_LITTLE)
                             : c->before / (c->after + FOLD_LITTLE);
}

struct pairs {
    const struct change_series *of[FOLD_MAX];
    double together[FOLD_MAX][FOLD_MAX]; /* [i][i]: its own weight */
    size_t n;
};

/* Which of the pairs each string of the view is; PAIRS_MAX: none. */
static uint8_t *index_names(const struct view *v, const struct pairs *pairs)
{
    size_t n = intern_count(v->strings);
    uint8_t *index = malloc(n + 1);

    for (size_t i = 0; index && i < n; i++) {
        struct span name = view_string(v, (uint32_t)i);

        index[i] = FOLD_MAX;
        for (size_t k = 0; k < pairs->n && index[i] == FOLD_MAX; k++)
            index[i] = span_eq_str(name, pairs->of[k]->name) ? (uint8_t)k : FOLD_MAX;
    }
    return index;
}

static void count_row(const struct view *v, const struct view_row *row, const uint8_t *index,
                      struct pairs *pairs)
{
    uint64_t in = 0;

    for (uint32_t i = row->roots; i < row->n; i++) {
        uint8_t k = index[v->frames[v->stack[row->first + i]].name];

        in |= k < FOLD_MAX ? UINT64_C(1) << k : 0;
    }
    for (size_t i = 0; in && i < pairs->n; i++) {
        for (size_t k = 0; in >> i & 1 && k < pairs->n; k++)
            pairs->together[i][k] += in >> k & 1 ? (double)row->samples : 0;
    }
}

/* Whether the changes of both are the same one. */
static bool is_one(const struct change *x, const struct change *y, double together, double least)
{
    return x->difference * y->difference > 0 && together >= FOLD_TOGETHER * least &&
           fabs(x->difference - y->difference) <=
               ALIKE_PART * fmax(fabs(x->difference), fabs(y->difference));
}

size_t changes_fold(const struct view *v, struct change *changes, size_t count)
{
    _cleanup_free_ uint8_t *index = NULL;
    struct pairs pairs = { .n = 0 };
    bool gone[FOLD_MAX] = { false };
    size_t at[FOLD_MAX], kept = 0;

    for (size_t i = 0; i < count && pairs.n < FOLD_MAX; i++) {
        if (changes[i].of->kind != CHANGE_FUNCTION)
            continue;
        at[pairs.n] = i;
        pairs.of[pairs.n++] = changes[i].of;
    }
    index = index_names(v, &pairs);
    for (size_t i = 0; index && i < v->row_count; i++)
        count_row(v, &v->rows[i], index, &pairs);
    for (size_t i = 0; i < pairs.n; i++) {
        for (size_t k = 0; k < pairs.n; k++) {
            const struct change *x = &changes[at[i]], *y = &changes[at[k]];

            if (i != k && !gone[k] && newness(y) > newness(x) &&
                is_one(x, y, pairs.together[i][k],
                       fmin(pairs.together[i][i], pairs.together[k][k])))
                gone[i] = true;
        }
    }
    for (size_t i = 0, next = 0; i < count; i++) {
        bool is_next = next < pairs.n && at[next] == i;

        if (!is_next || !gone[next])
            changes[kept++] = changes[i];
        next += is_next;
    }
    return kept;
}
