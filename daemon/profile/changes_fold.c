/* SPDX-License-Identifier: Apache-2.0 */
/* Finds changes of callers and callees that have one cause, and keeps one of them. */
#include "base/list.h"
#include "profile/changes.h"

#include "base/cleanup.h"
#include "profile/category.h"
#include "profile/own_code.h"

#include <math.h>

/* share of the larger change: two changes that differ by less are alike */
#define ALIKE_PART 0.25
/* share of a total: a class or place with this much explains its change */
#define MOSTLY 0.5
#define FOLD_MAX 64 /* the highest ranked changes: only these are folded */
/* two functions are together if this share of the samples of one contain the other */
#define FOLD_TOGETHER 0.8
#define NEWER 1.5          /* two changes with a smaller ratio of newness are equally new */
#define MARKED 1.2         /* a caller with at least this newness explains its callees */
#define WORK_MAX (1 << 25) /* pairs counted per view; further stacks are not counted */

/* A function or category that changed. */
struct folding {
    const struct change *change;
    double newness;
    bool own;  /* application's own code, or a category with its own threads */
    bool gone; /* folded into another change */
};

struct pairs {
    struct folding list[FOLD_MAX];
    double together[FOLD_MAX][FOLD_MAX]; /* weight of samples that contain i and k; [i][i]: that
                                          * contain i */
    double above[FOLD_MAX][FOLD_MAX];    /* part of together[i][k] with i nearer to the root */
    size_t n;
    size_t work; /* pairs counted in this view */
};

/* Returns whether the category has its own threads. */
static bool is_whole_work(const char *category)
{
    return strcmp(category, CATEGORY_NAMES[CATEGORY_GC]) == 0 ||
           strcmp(category, CATEGORY_NAMES[CATEGORY_JIT]) == 0;
}

static void take(struct pairs *pairs, const struct change *c)
{
    if (pairs->n == FOLD_MAX || (c->of->kind != CHANGE_FUNCTION && c->of->kind != CHANGE_CATEGORY))
        return;
    pairs->list[pairs->n++] = (struct folding){
        .change = c,
        .newness = change_newness(c),
        .own = c->of->kind == CHANGE_CATEGORY && is_whole_work(c->of->name),
    };
}

/* ---- what is called by what ---- */

/* Returns the index in pairs->list of the category; FOLD_MAX: none. */
static uint8_t find_category(const struct pairs *pairs, const char *name)
{
    uint8_t k = 0;

    while (k < pairs->n && (pairs->list[k].change->of->kind != CHANGE_CATEGORY ||
                            strcmp(name, pairs->list[k].change->of->name) != 0))
        k++;
    return k < pairs->n ? k : FOLD_MAX;
}

/* Returns the index in pairs->list of each string of @v; the caller frees it. NULL: out of
 * memory. */
static uint8_t *index_names(const struct view *v, const struct pairs *pairs)
{
    size_t n = intern_count(v->strings);
    uint8_t *index = malloc(n + 1);
    uint32_t id;

    if (index)
        memset(index, FOLD_MAX, n + 1);
    for (size_t k = 0; index && k < pairs->n; k++) {
        const struct change_series *of = pairs->list[k].change->of;

        if (of->kind == CHANGE_FUNCTION && intern_find(v->strings, span_of(of->name), &id))
            index[id] = (uint8_t)k;
    }
    return index;
}

/* Marks the functions that are the application's own code. */
static void find_own(const struct view *v, const uint8_t *index, struct pairs *pairs)
{
    const struct profile *p = v->profile;
    struct own_code own;

    own_code_init(p, &own);
    for (size_t i = 0; i < v->frame_count; i++) {
        const struct view_frame *f = &v->frames[i];
        const struct frame *frame = &p->frames[f->frame];
        uint8_t k = index[f->name];

        if (k < FOLD_MAX && frame_kind_is_java(f->kind))
            pairs->list[k].own |= own_code_has(
                &own, intern_get(p->strings, p->functions[frame->function].class_name));
    }
}

/* Counts one stack. @at: distinct indexes in pairs->list, from the root on. */
static void count_stack(struct pairs *pairs, const uint8_t *at, size_t n, double weight)
{
    pairs->work += n * n;
    for (size_t i = 0; i < n; i++) {
        pairs->together[at[i]][at[i]] += weight;
        for (size_t k = i + 1; k < n; k++) {
            pairs->together[at[i]][at[k]] += weight;
            pairs->together[at[k]][at[i]] += weight;
            pairs->above[at[i]][at[k]] += weight;
        }
    }
}

/* Sums the samples of each row by category: [row * (CATEGORY_COUNT + 1) + category]. The last
 * category is for samples without one. NULL: out of memory. */
static double *sum_rows(const struct view *v)
{
    double *sums = calloc(v->row_count + 1, (CATEGORY_COUNT + 1) * sizeof(*sums));

    for (size_t s = 0; sums && s < v->profile->sample_count; s++) {
        const struct profile_sample *sample = &v->profile->samples[s];
        size_t category = PROFILE_SAMPLE_CATEGORY(sample->flags), row = v->sample_rows[s];

        if (row != VIEW_NO_ROW)
            sums[row * (CATEGORY_COUNT + 1) + MIN(category, (size_t)CATEGORY_COUNT)] +=
                sample->count;
    }
    return sums;
}

/* Writes the distinct pairs on the stack of @row, from the root on. Returns their number. */
static size_t stack_of(const struct view *v, const struct view_row *row, const uint8_t *index,
                       uint8_t at[FOLD_MAX])
{
    uint64_t in = 0;
    size_t n = 0;

    for (uint32_t i = row->roots; i < row->n; i++) {
        uint8_t k = index[v->frames[v->stack[row->first + i]].name];

        if (k == FOLD_MAX || in >> k & 1)
            continue;
        in |= UINT64_C(1) << k;
        at[n++] = k;
    }
    return n;
}

/* Counts the stacks of @v. The category of a sample is the root of its stack. */
static void count_rows(const struct view *v, const uint8_t *index, struct pairs *pairs)
{
    _cleanup_free_ double *sums = sum_rows(v);
    uint8_t at[1 + FOLD_MAX];

    pairs->work = 0;
    for (size_t row = 0; sums && row < v->row_count && pairs->work < WORK_MAX; row++) {
        size_t n = stack_of(v, &v->rows[row], index, at + 1);

        for (size_t category = 0; category <= CATEGORY_COUNT; category++) {
            double weight = sums[row * (CATEGORY_COUNT + 1) + category];

            if (!(weight > 0))
                continue;
            at[0] = category < CATEGORY_COUNT ? find_category(pairs, CATEGORY_NAMES[category])
                                              : FOLD_MAX;
            if (at[0] < FOLD_MAX)
                count_stack(pairs, at, n + 1, weight);
            else
                count_stack(pairs, at + 1, n, weight);
        }
    }
}

/* ---- which one stays ---- */

static bool is_alike(const struct change *x, const struct change *y)
{
    return fabs(x->difference - y->difference) <=
           ALIKE_PART * fmax(fabs(x->difference), fabs(y->difference));
}

/* Returns whether both have the same change: same direction, mostly the same samples, and about the
 * same amount, by the caller's interval or ALIKE_PART. */
static bool is_one(const struct pairs *pairs, size_t caller, size_t callee)
{
    const struct change *x = pairs->list[caller].change, *y = pairs->list[callee].change;
    double least = fmin(pairs->together[caller][caller], pairs->together[callee][callee]);

    return x->difference * y->difference > 0 &&
           pairs->together[caller][callee] >= FOLD_TOGETHER * least &&
           (is_alike(x, y) || (x->low <= y->difference && y->difference <= x->high));
}

/* Returns whether the callee's name explains the change better. A foreign callee of own code
 * explains it better, unless the caller is new (MARKED). Otherwise the newer of both explains it
 * better; of unequal ones, own code has an advantage (NEWER). If both are equally new, the callee
 * explains it better in own code, the caller in foreign code. */
static bool is_callee_better(const struct folding *caller, const struct folding *callee)
{
    if (caller->own && !callee->own)
        return caller->newness < MARKED;
    if (caller->own == callee->own && callee->newness <= caller->newness * NEWER &&
        caller->newness <= callee->newness * NEWER)
        return callee->own;
    return callee->newness > caller->newness / (callee->own ? NEWER : 1);
}

/* Returns whether a foreign callee (JDK, library, native code) changed because of new work of its
 * caller in own code. */
static bool is_part(const struct pairs *pairs, size_t caller, size_t callee)
{
    const struct folding *x = &pairs->list[caller], *y = &pairs->list[callee];

    return x->own && !y->own && x->newness >= MARKED &&
           x->change->difference * y->change->difference > 0 &&
           fabs(x->change->difference) >= fabs(y->change->difference) &&
           pairs->together[caller][callee] >= FOLD_TOGETHER * pairs->together[callee][callee];
}

/* Marks the caller or the callee as gone if their changes are one. */
static void fold_pair(struct pairs *pairs, size_t i, size_t k)
{
    struct folding *caller = &pairs->list[i], *callee = &pairs->list[k];

    if (is_part(pairs, i, k))
        callee->gone = true;
    else if (is_one(pairs, i, k) && is_callee_better(caller, callee))
        caller->gone = true;
    else if (is_one(pairs, i, k))
        callee->gone = true;
}

static void fold(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++) {
        for (size_t k = 0; k < pairs->n; k++) {
            if (i != k && !pairs->list[i].gone && !pairs->list[k].gone &&
                pairs->above[i][k] >= pairs->above[k][i])
                fold_pair(pairs, i, k);
        }
    }
}

/* Folds callers and callees, and compacts @changes. Returns the number of changes left. */
static size_t fold_calls(const struct view *const views[2], struct change *changes, size_t count)
{
    _cleanup_free_ struct pairs *pairs = calloc(1, sizeof(*pairs));
    size_t kept = 0, next = 0;

    for (size_t i = 0; pairs && i < count; i++)
        take(pairs, &changes[i]);
    if (!pairs || pairs->n < 2)
        return count;
    for (size_t side = 0; side < 2; side++) {
        _cleanup_free_ uint8_t *index = views[side] ? index_names(views[side], pairs) : NULL;

        if (!index)
            continue;
        find_own(views[side], index, pairs);
        count_rows(views[side], index, pairs);
    }
    fold(pairs);
    for (size_t i = 0; i < count; i++) {
        bool is_next = next < pairs->n && pairs->list[next].change == &changes[i];

        if (is_next && pairs->list[next++].gone)
            continue;
        changes[kept++] = changes[i];
    }
    return kept;
}

/* ---- operations of functions, waits that locks name ---- */

/* Returns whether @function is the method of @operation, and both changes are alike. */
static bool is_named_by(const struct change *operation, const struct change *function)
{
    return function->of->kind == CHANGE_FUNCTION && operation->of->method &&
           strcmp(operation->of->method, function->of->name) == 0 && is_alike(operation, function);
}

/* Returns whether the change of waits for locks is mostly due to the class @lock. */
static bool is_wait_for(const struct change *wait, const struct change *lock)
{
    return lock->of->kind == CHANGE_LOCK && wait->of->kind == CHANGE_WAIT &&
           strcmp(wait->of->name, WAIT_NAMES[WAIT_LOCK]) == 0 &&
           wait->difference * lock->difference > 0 &&
           fabs(lock->difference) >= MOSTLY * fabs(wait->difference);
}

/* Returns whether the change of all allocation is mostly due to @place. */
static bool is_allocated_at(const struct change *all, const struct change *place)
{
    return all->of->kind == CHANGE_ALLOCATION && place->of->kind == CHANGE_ALLOCATION &&
           strcmp(all->of->name, CHANGE_ALL_OBJECTS) == 0 && place->of != all->of &&
           all->difference * place->difference > 0 &&
           fabs(place->difference) >= MOSTLY * fabs(all->difference);
}

/* Returns whether another change of @changes covers @one. The sentence about the time of pauses
 * also states their number. */
static bool is_named(const struct change *changes, size_t count, const struct change *one)
{
    return ANY_OF(
        i, count,
        (one->of->kind == CHANGE_OPERATION && is_named_by(one, &changes[i])) ||
            is_wait_for(one, &changes[i]) || is_allocated_at(one, &changes[i]) ||
            (one->of->kind == CHANGE_PAUSE_COUNT && changes[i].of->kind == CHANGE_PAUSE_TIME));
}

size_t changes_fold(const struct view *const views[2], struct change *changes, size_t count)
{
    size_t left = fold_calls(views, changes, count), kept = 0;

    for (size_t i = 0; i < left; i++) {
        struct change one = changes[i];

        /* Compaction so far has moved changes up, but each function and lock is still in the
         * list. */
        if (is_named(changes, left, &one))
            continue;
        changes[kept++] = one;
    }
    return kept;
}
