/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/changes.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/category.h"

#include <math.h>

#define PERCENT 100.0
#define NEAR_PART 1.0 /* of CHANGES_EFFECT, that the near end of the interval has at least */
#define ALIKE_PART                                                                                 \
    0.25 /* of a change: callers of a function that changed by as much are folded                  \
          */
#define STEPS_WANTED 10
#define STEP_MOST_NS (60 * NSEC_PER_SEC)
#define STEP_LEAST_NS (5 * NSEC_PER_SEC)
#define STEPS_MIN 8  /* with fewer, nothing is significant among a hundred series */
#define SEEN_LEAST 3 /* steps with it, for a series to be tested */

static const char *const KIND_NAMES[CHANGE_KINDS] = {
    [CHANGE_FUNCTION] = "function",
    [CHANGE_LOCK] = "lock",
    [CHANGE_WAIT] = "wait",
    [CHANGE_CATEGORY] = "category",
};

const char *change_kind_name(enum change_kind kind)
{
    return KIND_NAMES[kind];
}

int change_set_init(struct change_set *s, const struct change_steps *m)
{
    *s = (struct change_set){ .steps = *m };
    if (MIN(m->a, m->b) < RANK_MINUTES_MIN || MAX(m->a, m->b) > RANK_MINUTES_MAX)
        return -EINVAL;
    for (size_t i = 0; i < CHANGE_KINDS; i++) {
        s->whole[i] = calloc(m->a + m->b, sizeof(double));
        if (!s->whole[i]) {
            change_set_deinit(s);
            return -ENOMEM;
        }
    }
    return 0;
}

void change_set_deinit(struct change_set *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->series[i].name);
        free(s->series[i].by_step);
    }
    free(s->series);
    for (size_t i = 0; i < CHANGE_KINDS; i++)
        free(s->whole[i]);
    *s = (struct change_set){ .count = 0 };
}

ptrdiff_t change_set_put(struct change_set *s, enum change_kind kind, struct span name)
{
    struct change_series one = { .kind = kind };

    for (size_t i = 0; i < s->count; i++) {
        if (s->series[i].kind == kind && span_eq_str(name, s->series[i].name))
            return (ptrdiff_t)i;
    }
    if (s->count == CHANGES_SERIES_MAX || !array_grow(&s->series, &s->room, s->count + 1, 64)) {
        s->left_out++;
        return -1;
    }
    one.name = span_dup(name);
    one.by_step = calloc(s->steps.a + s->steps.b, sizeof(double));
    if (!one.name || !one.by_step) {
        free(one.name);
        free(one.by_step);
        return -1;
    }
    s->series[s->count] = one;
    return (ptrdiff_t)s->count++;
}

int change_steps_of(uint64_t a_from_ns, uint64_t a_to_ns, uint64_t b_from_ns, uint64_t b_to_ns,
                    struct change_steps *ret)
{
    uint64_t a_ns = a_to_ns - MIN(a_from_ns, a_to_ns), b_ns = b_to_ns - MIN(b_from_ns, b_to_ns);
    uint64_t step_ns = MIN(MIN(a_ns, b_ns) / STEPS_WANTED, STEP_MOST_NS);

    step_ns = MAX(step_ns, STEP_LEAST_NS);
    *ret = (struct change_steps){ .a_ns = a_from_ns,
                                  .b_ns = b_from_ns,
                                  .step_ns = step_ns,
                                  .a = a_ns / step_ns,
                                  .b = b_ns / step_ns };
    if (MIN(ret->a, ret->b) < STEPS_MIN)
        return -ENODATA;
    return MAX(ret->a, ret->b) <= RANK_MINUTES_MAX ? 0 : -EINVAL;
}

size_t change_step(const struct change_steps *m, uint64_t time_ns)
{
    if (time_ns >= m->a_ns && (time_ns - m->a_ns) / m->step_ns < m->a)
        return (time_ns - m->a_ns) / m->step_ns;
    if (time_ns >= m->b_ns && (time_ns - m->b_ns) / m->step_ns < m->b)
        return m->a + (time_ns - m->b_ns) / m->step_ns;
    return m->a + m->b;
}

/* ---- samples ---- */

/* A view that is being added. */
struct adding {
    struct change_set *set;
    const struct view *v;
    enum change_kind kind;
    uint32_t *found; /* owned: by string, or by number of what is no text: index + 1 */
    uint32_t *seen;  /* owned: by string, the last sample + 1 that it was in */
};

static void add_to(struct adding *a, uint32_t key, struct span name, size_t step, double weight)
{
    if (!a->found[key]) {
        ptrdiff_t at = change_set_put(a->set, a->kind, name);

        if (at < 0)
            return;
        a->found[key] = (uint32_t)at + 1;
    }
    a->set->series[a->found[key] - 1].by_step[step] += weight;
}

/* Each function once, however often it is on the stack. */
static void add_functions(struct adding *a, const struct view_row *row, size_t sample, size_t step,
                          double weight)
{
    for (uint32_t i = row->roots; i < row->n; i++) {
        uint32_t name = a->v->frames[a->v->stack[row->first + i]].name;

        if (a->seen[name] == sample + 1)
            continue;
        a->seen[name] = (uint32_t)sample + 1;
        add_to(a, name, view_string(a->v, name), step, weight);
    }
}

static void add_sample(struct adding *a, size_t sample, size_t step)
{
    const struct profile_sample *s = &a->v->profile->samples[sample];
    const struct view_row *row = &a->v->rows[a->v->sample_rows[sample]];
    double weight = a->kind == CHANGE_LOCK || a->kind == CHANGE_WAIT ? (double)s->value : s->count;
    uint32_t category = PROFILE_SAMPLE_CATEGORY(s->flags), leaf;

    if (a->kind == CHANGE_WAIT && (row->idle || row->state != STATE_BLOCKED))
        return;
    a->set->whole[a->kind][step] += weight;
    if (a->kind == CHANGE_FUNCTION) {
        add_functions(a, row, sample, step, weight);
    } else if (a->kind == CHANGE_CATEGORY && category < CATEGORY_COUNT) {
        add_to(a, category, span_of(CATEGORY_NAMES[category]), step, weight);
    } else if (a->kind == CHANGE_WAIT) {
        add_to(a, row->wait, span_of(WAIT_NAMES[row->wait]), step, weight);
    } else if (a->kind == CHANGE_LOCK && row->n > row->roots) {
        leaf = a->v->frames[a->v->stack[row->first + row->n - 1]].name;
        add_to(a, leaf, view_string(a->v, leaf), step, weight);
    }
}

int change_set_add(struct change_set *s, const struct view *v, enum change_kind kind)
{
    const struct profile *p = v->profile;
    size_t keys =
        MAX((size_t)intern_count(v->strings), (size_t)MAX(WAIT_COUNT, CATEGORY_COUNT)) + 1;
    _cleanup_free_ uint32_t *found = calloc(keys, sizeof(*found)),
                            *seen = calloc(keys, sizeof(*seen));
    struct adding a = { .set = s, .v = v, .kind = kind, .found = found, .seen = seen };

    if (!found || !seen)
        return -ENOMEM;
    for (size_t i = 0; i < p->sample_count; i++) {
        size_t step =
            change_step(&s->steps, p->samples[i].time_ns - p->start_ns + p->start_realtime_ns);

        if (v->sample_rows[i] == VIEW_NO_ROW || step >= s->steps.a + s->steps.b)
            continue;
        s->samples[step >= s->steps.a] += kind == CHANGE_FUNCTION ? p->samples[i].count : 0;
        add_sample(&a, i, step);
    }
    return 0;
}

/* ---- tests ---- */

static int by_size(const void *x, const void *y)
{
    double a = fabs(((const struct change *)x)->difference);
    double b = fabs(((const struct change *)y)->difference);

    return (a < b) - (a > b);
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

static double mean(const double *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / (double)n : 0;
}

/* How much work each step did: the median of what each series has of it, beside its mean. So one
 * that grows does not make all others shrink. Where there are too few series: the whole. */
static int work_of(const struct change_set *s, enum change_kind kind, double *ret)
{
    size_t steps = s->steps.a + s->steps.b, n;
    _cleanup_free_ double *shares = calloc(s->count + 1, sizeof(*shares));
    double all = mean(s->whole[kind], steps);

    if (!shares)
        return -ENOMEM;
    for (size_t m = 0; m < steps; m++) {
        n = 0;
        for (size_t i = 0; i < s->count; i++) {
            const struct change_series *one = &s->series[i];
            double usual = one->kind == kind ? mean(one->by_step, steps) : 0;

            if (usual * PERCENT >= all && usual > 0) /* 1 % of the whole, or more */
                shares[n++] = one->by_step[m] / usual;
        }
        qsort(shares, n, sizeof(*shares), by_value);
        ret[m] = n >= 5 ? shares[n / 2] : 0;
        if (!(ret[m] > 0))
            ret[m] = all > 0 ? s->whole[kind][m] / all : 0;
    }
    return 0;
}

/* Makes values percent of what the whole took in the steps of a, for as much work. */
static int normalize(struct change_set *s, enum change_kind kind)
{
    size_t steps = s->steps.a + s->steps.b;
    _cleanup_free_ double *work = calloc(steps, sizeof(*work));
    double before = 0;
    int r = work ? work_of(s, kind, work) : -ENOMEM;

    for (size_t m = 0; r == 0 && m < s->steps.a; m++)
        before += work[m] > 0 ? s->whole[kind][m] / work[m] / (double)s->steps.a : 0;
    for (size_t i = 0; r == 0 && i < s->count; i++) {
        if (s->series[i].kind != kind)
            continue;
        for (size_t m = 0; m < steps; m++) {
            double *v = &s->series[i].by_step[m];

            *v = work[m] > 0 && before > 0 ? *v / work[m] / before * PERCENT : 0;
        }
    }
    return r;
}

static bool is_seen(const struct change_series *one, size_t steps)
{
    size_t seen = 0;

    for (size_t m = 0; m < steps; m++)
        seen += one->by_step[m] > 0;
    return seen >= SEEN_LEAST;
}

/* Tests the series that may have changed by enough. */
static int test_all(const struct change_set *s, struct change *ret, double *p, size_t *ret_count)
{
    size_t na = s->steps.a, nb = s->steps.b, n = 0;
    struct rank_result one;
    int r;

    for (size_t i = 0; i < s->count; i++) {
        const struct change_series *of = &s->series[i];
        double before = mean(of->by_step, na), after = mean(of->by_step + na, nb);

        if (fmax(before, after) < CHANGES_EFFECT || !is_seen(of, na + nb))
            continue;
        r = rank_test(of->by_step, na, of->by_step + na, nb, &one);
        if (r < 0)
            return r;
        p[n] = one.p;
        ret[n++] = (struct change){ .of = of,
                                    .before = before,
                                    .after = after,
                                    .difference = one.difference,
                                    .low = one.low,
                                    .high = one.high };
    }
    *ret_count = n;
    return rank_adjust(p, n);
}

static bool is_significant(const struct change *c)
{
    double near = c->difference > 0 ? c->low : -c->high;

    return c->q <= CHANGES_Q && fabs(c->difference) >= CHANGES_EFFECT &&
           near >= CHANGES_EFFECT * NEAR_PART;
}

int changes_find(struct change_set *s, struct change **ret, size_t *ret_count)
{
    _cleanup_free_ struct change *all = calloc(s->count + 1, sizeof(*all));
    _cleanup_free_ double *p = calloc(s->count + 1, sizeof(*p));
    size_t tested = 0, n = 0;
    int r = all && p ? 0 : -ENOMEM;

    for (size_t kind = 0; r == 0 && kind < CHANGE_KINDS; kind++)
        r = normalize(s, (enum change_kind)kind);
    if (r == 0)
        r = test_all(s, all, p, &tested);
    if (r < 0)
        return r;
    for (size_t i = 0; i < tested; i++) {
        all[i].q = p[i];
        if (is_significant(&all[i]))
            all[n++] = all[i];
    }
    qsort(all, n, sizeof(*all), by_size);
    *ret = TAKE_PTR(all);
    *ret_count = n;
    return 0;
}

/* ---- callers and callees ---- */

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
