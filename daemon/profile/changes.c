/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/changes.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "profile/category.h"
#include "profile/mean_test.h"

#include <math.h>

#define PERCENT 100.0
#define MINUTE_NS (60.0 * NSEC_PER_SEC)
#define NAMES_BYTES (16 << 20) /* bytes of names, per kind */
#define SEEN_LEAST 3           /* a series is tested only if this many steps have a value */

static const char *const KIND_NAMES[CHANGE_KINDS] = {
    [CHANGE_FUNCTION] = "function",   [CHANGE_LOCK] = "lock",
    [CHANGE_WAIT] = "wait",           [CHANGE_CATEGORY] = "category",
    [CHANGE_OPERATION] = "operation", [CHANGE_PAUSE_TIME] = "pause",
    [CHANGE_PAUSE_COUNT] = "pause",   [CHANGE_ALLOCATION] = "allocation",
};

/* Each kind has its own limit, so that a full kind leaves room for the others. */
static const size_t SERIES_MAX[CHANGE_KINDS] = {
    [CHANGE_FUNCTION] = CHANGES_FUNCTIONS_MAX,
    [CHANGE_LOCK] = CHANGES_LOCKS_MAX,
    [CHANGE_WAIT] = WAIT_COUNT,
    [CHANGE_CATEGORY] = CATEGORY_COUNT,
    [CHANGE_OPERATION] = CHANGES_OPERATIONS_MAX,
    [CHANGE_ALLOCATION] = CHANGES_ALLOCATIONS_MAX,
    [CHANGE_PAUSE_TIME] = 1,
    [CHANGE_PAUSE_COUNT] = 1,
};

const char *change_kind_name(enum change_kind kind)
{
    return KIND_NAMES[kind];
}

void change_set_pass(struct change_set *s, size_t step, uint64_t ns)
{
    double *time = &s->whole[CHANGE_PAUSE_TIME][step];

    *time = fmax(*time, (double)ns);
    s->whole[CHANGE_PAUSE_COUNT][step] = *time / MINUTE_NS * PERCENT;
}

int change_set_init(struct change_set *s, const struct change_steps *m)
{
    *s = (struct change_set){ .steps = *m };
    if (!m->a || m->b < RANK_MINUTES_MIN || MAX(m->a, m->b) > RANK_MINUTES_MAX)
        return -EINVAL;
    for (size_t i = 0; i < CHANGE_KINDS; i++) {
        s->whole[i] = calloc(m->a + m->b, sizeof(double));
        s->by_name[i] = calloc(SERIES_MAX[i] + 1, sizeof(uint32_t)); /* id 0 is the empty name */
        if (!s->whole[i] || !s->by_name[i] || intern_new(NAMES_BYTES, &s->names[i]) < 0) {
            change_set_deinit(s);
            return -ENOMEM;
        }
    }
    s->skipped = calloc(m->a + m->b, sizeof(*s->skipped));
    if (!s->skipped) {
        change_set_deinit(s);
        return -ENOMEM;
    }
    for (size_t i = 0; i < m->a + m->b; i++)
        change_set_pass(s, i, m->step_ns);
    return 0;
}

void change_set_deinit(struct change_set *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->series[i].name);
        free(s->series[i].method);
        free(s->series[i].by_step);
    }
    free(s->series);
    free(s->skipped);
    for (size_t i = 0; i < CHANGE_KINDS; i++) {
        free(s->whole[i]);
        free(s->by_name[i]);
        intern_free(s->names[i]);
    }
    *s = (struct change_set){ .count = 0 };
}

/* Appends an empty series. 0 or -ENOMEM. */
static int add_series(struct change_set *s, enum change_kind kind, struct span name)
{
    struct change_series one = { .name = span_dup(name), .kind = kind };

    one.by_step = calloc(s->steps.a + s->steps.b, sizeof(double));
    if (!one.name || !one.by_step || !array_grow(&s->series, &s->room, s->count + 1, 64)) {
        free(one.name);
        free(one.by_step);
        return -ENOMEM;
    }
    s->series[s->count++] = one;
    s->counts[kind]++;
    return 0;
}

ptrdiff_t change_set_put(struct change_set *s, enum change_kind kind, struct span name)
{
    uint32_t id = 0;
    int r = 0;

    if (intern_find(s->names[kind], name, &id) && s->by_name[kind][id])
        return (ptrdiff_t)s->by_name[kind][id] - 1;
    if (s->counts[kind] < SERIES_MAX[kind])
        r = intern_add(s->names[kind], name, &id);
    else
        r = -ENOSPC;
    if (r == 0) /* a name without a series, for want of memory, keeps its id */
        r = id <= SERIES_MAX[kind] ? add_series(s, kind, name) : -ENOSPC;
    if (r < 0) {
        s->left_out[kind] += r == -ENOSPC;
        return r;
    }
    s->by_name[kind][id] = (uint32_t)s->count;
    return (ptrdiff_t)s->count - 1;
}

/* ---- tests ---- */

static double mean(const double *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / (double)n : 0;
}

double change_newness(const struct change *c)
{
    return c->difference > 0 ? c->after / (c->before + CHANGES_LITTLE)
                             : c->before / (c->after + CHANGES_LITTLE);
}

double change_set_mean(const struct change_set *s, enum change_kind kind, size_t side)
{
    for (size_t i = 0; i < s->count; i++) {
        const double *v = s->series[i].by_step;

        if (s->series[i].kind == kind)
            return side ? mean(v + s->steps.a, s->steps.b) : mean(v, s->steps.a);
    }
    return 0;
}

bool change_set_has(const struct change_set *s, enum change_kind kind, size_t side)
{
    size_t from = side ? s->steps.a : 0, to = side ? s->steps.a + s->steps.b : s->steps.a,
           steps = 0, has = 0;

    for (size_t m = from; m < to; m++) {
        if (!(s->whole[CHANGE_FUNCTION][m] > 0))
            continue;
        steps++;
        has += s->whole[kind][m] > 0 && !(kind == CHANGE_ALLOCATION && s->skipped[m]);
    }
    return has && (double)has >= CHANGES_COVER * (double)steps;
}

/* Returns the smallest plausible change: the end of the confidence interval that is nearer to 0. */
static double near_end(const struct change *c)
{
    return c->difference > 0 ? c->low : -c->high;
}

static double rank(const struct change *c)
{
    if (c->of->kind == CHANGE_WAIT && strcmp(c->of->name, WAIT_NAMES[WAIT_BLOCKED]) == 0)
        return 0; /* the cause of the wait is unknown */
    if (c->of->kind == CHANGE_PAUSE_COUNT)
        return 0; /* the change of the time of pauses is ranked instead */
    return near_end(c) * fmin(change_newness(c), CHANGES_NEW_MAX);
}

ORDER_FUNCTION(by_rank, struct change, COMPARE(rank(y), rank(x)))

/* Returns the size of the change in percent; 0 if it has another unit. */
static double size_of(const struct change *c)
{
    return c->of->kind == CHANGE_PAUSE_COUNT ? 0 : fabs(c->difference);
}

ORDER_FUNCTION(by_difference, struct change, COMPARE(size_of(y), size_of(x)))

void changes_sort(struct change *changes, size_t count)
{
    qsort(changes, count, sizeof(*changes), by_difference);
}

ORDER_FUNCTION(by_value, double, COMPARE(*x, *y))

/* Drops the steps without CPU time: flamed was not sampling, or the program was idle. */
static void drop_uncovered(struct change_set *s)
{
    size_t steps = s->steps.a + s->steps.b, kept = 0, of_a = 0;

    for (size_t m = 0; m < steps; m++) {
        if (!(s->whole[CHANGE_FUNCTION][m] > 0))
            continue;
        s->skipped[kept] = s->skipped[m];
        for (size_t kind = 0; kind < CHANGE_KINDS; kind++)
            s->whole[kind][kept] = s->whole[kind][m];
        for (size_t i = 0; i < s->count; i++)
            s->series[i].by_step[kept] = s->series[i].by_step[m];
        of_a += m < s->steps.a;
        kept++;
    }
    s->steps.a = of_a;
    s->steps.b = kept - of_a;
}

/* Estimates the work of each step. Each larger series gives the ratio of its value in the step to
 * its mean; the work is the median of these ratios. So one growing series does not make all others
 * seem to shrink. With fewer than 5 series, the ratio of the total is the work. */
static int work_of(const struct change_set *s, enum change_kind kind, double *ret)
{
    size_t steps = s->steps.a + s->steps.b, n;
    _cleanup_free_ double *shares = calloc(s->count + 1, sizeof(*shares)),
                          *means = calloc(s->count + 1, sizeof(*means));
    double all = mean(s->whole[kind], steps);

    if (!shares || !means)
        return -ENOMEM;
    for (size_t i = 0; i < s->count; i++)
        means[i] = s->series[i].kind == kind ? mean(s->series[i].by_step, steps) : 0;
    for (size_t m = 0; m < steps; m++) {
        n = 0;
        for (size_t i = 0; i < s->count; i++) {
            if (means[i] * PERCENT >= all && means[i] > 0) /* 1 % of the whole, or more */
                shares[n++] = s->series[i].by_step[m] / means[i];
        }
        qsort(shares, n, sizeof(*shares), by_value);
        ret[m] = n >= 5 ? shares[n / 2] : 0;
        if (!(ret[m] > 0))
            ret[m] = all > 0 ? s->whole[kind][m] / all : 0;
    }
    return 0;
}

/* Returns whether @kind is scaled by the work of CPU time: a service with twice the work also
 * allocates twice as much. */
static bool is_by_cpu(enum change_kind kind)
{
    return change_is_pause(kind) || kind == CHANGE_ALLOCATION;
}

/* Scales values to the percentage of the total in the steps of side a, at equal work. The value of
 * a sample is scaled, too. */
static int normalize(struct change_set *s, enum change_kind kind)
{
    size_t steps = s->steps.a + s->steps.b;
    _cleanup_free_ double *work = calloc(steps, sizeof(*work));
    double before = 0;
    int r = work ? work_of(s, is_by_cpu(kind) ? CHANGE_FUNCTION : kind, work) : -ENOMEM;

    for (size_t m = 0; r == 0 && m < s->steps.a; m++)
        before += work[m] > 0 ? s->whole[kind][m] / work[m] / (double)s->steps.a : 0;
    s->drawn[kind].value = before > 0 ? s->drawn[kind].value / before * PERCENT : 0;
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

static double least_of(enum change_kind kind)
{
    return kind == CHANGE_PAUSE_COUNT  ? CHANGES_PAUSES
           : kind == CHANGE_ALLOCATION ? CHANGES_ALLOCATED
                                       : CHANGES_EFFECT;
}

static bool is_seen(const struct change_series *one, size_t steps)
{
    size_t seen = 0;

    for (size_t m = 0; m < steps; m++)
        seen += one->by_step[m] > 0;
    return seen >= SEEN_LEAST;
}

/* Orders functions after the other kinds, and larger series first. */
static int by_turn(const void *x, const void *y)
{
    const struct change *a = x, *b = y;
    bool is_a = a->of->kind == CHANGE_FUNCTION, is_b = b->of->kind == CHANGE_FUNCTION;
    double size_a = fmax(a->before, a->after), size_b = fmax(b->before, b->after);

    return is_a != is_b ? is_a - is_b : (size_a < size_b) - (size_a > size_b);
}

/* Collects the series that are large and frequent enough, with at most CHANGES_TESTS_MAX
 * functions. */
static size_t gather(struct change_set *s, struct change *ret)
{
    size_t na = s->steps.a, nb = s->steps.b, n = 0, functions = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct change_series *of = &s->series[i];
        double before = mean(of->by_step, na), after = mean(of->by_step + na, nb);

        if (s->one_sided[of->kind] || fmax(before, after) < least_of(of->kind) ||
            !is_seen(of, na + nb))
            continue;
        functions += of->kind == CHANGE_FUNCTION;
        ret[n++] = (struct change){ .of = of, .before = before, .after = after };
    }
    if (functions <= CHANGES_TESTS_MAX)
        return n;
    s->untested = functions - CHANGES_TESTS_MAX;
    qsort(ret, n, sizeof(*ret), by_turn);
    return n - s->untested;
}

/* Compares both sides of @of by the test that the steps suffice for. */
static int test_one(const struct change_set *s, const struct change_series *of,
                    struct rank_result *ret)
{
    const double *a = of->by_step, *b = a + s->steps.a;
    double count = s->drawn[of->kind].count,
           grain = count > 0 ? s->drawn[of->kind].value / count : 0;

    return s->cover == CHANGE_COVER_FEW ? mean_test(a, s->steps.a, b, s->steps.b, grain, ret)
                                        : rank_test(a, s->steps.a, b, s->steps.b, ret);
}

/* Tests the series of gather(). 0 or -errno. */
static int test_all(struct change_set *s, struct change *ret, double *p, size_t *ret_count)
{
    size_t n = gather(s, ret);
    struct rank_result one;
    int r;

    for (size_t i = 0; i < n; i++) {
        r = test_one(s, ret[i].of, &one);
        if (r < 0)
            return r;
        p[i] = one.p;
        ret[i].difference = one.difference;
        ret[i].low = one.low;
        ret[i].high = one.high;
    }
    *ret_count = n;
    return rank_adjust(p, n);
}

/* Returns how much the @n values @v of one side drift even without a release. Cuts the side into
 * parts as long as the other one, and takes the largest difference between the mean of a part and
 * that of the side. Scales the result, because a steady drift reaches farther in both. */
static double drift_of(const double *v, size_t n, size_t other)
{
    size_t length = MAX(MIN(other, n / 2), (size_t)1);
    double most = 0, all = mean(v, n);

    for (size_t at = n % length; at + length <= n; at += length)
        most = fmax(most, fabs(mean(v + at, length) - all));
    return most * (double)(n + other) / (double)(n - length);
}

static bool is_significant(const struct change *c, const struct change_set *s)
{
    size_t na = s->steps.a, nb = s->steps.b;
    bool few = s->cover == CHANGE_COVER_FEW;
    double drift = few ? drift_of(c->of->by_step + na, nb, na) : drift_of(c->of->by_step, na, nb);
    double part = is_by_cpu(c->of->kind) ? CHANGES_PART_PAUSES : CHANGES_PART,
           least = fmax(least_of(c->of->kind), part * c->before);

    return c->q <= (na >= CHANGES_LONG ? CHANGES_Q_LONG : CHANGES_Q) &&
           near_end(c) >= fmax(least, drift);
}

int changes_find(struct change_set *s, struct change **ret, size_t *ret_count)
{
    _cleanup_free_ struct change *all = calloc(s->count + 1, sizeof(*all));
    _cleanup_free_ double *p = calloc(s->count + 1, sizeof(*p));
    size_t tested = 0, n = 0;
    int r = all && p ? 0 : -ENOMEM;

    s->cover = change_set_cover(s);
    drop_uncovered(s);
    change_set_fill_skipped(s);
    if (r == 0 && s->cover == CHANGE_COVER_NONE) {
        *ret = TAKE_PTR(all);
        *ret_count = 0;
        return 0;
    }
    for (size_t kind = CHANGE_KINDS; r == 0 && kind-- > 0;) /* functions last: other kinds are
                                                             * scaled by their values */
        r = normalize(s, (enum change_kind)kind);
    if (r == 0)
        r = test_all(s, all, p, &tested);
    if (r < 0)
        return r;
    for (size_t i = 0; i < tested; i++) {
        all[i].q = p[i];
        if (is_significant(&all[i], s))
            all[n++] = all[i];
    }
    qsort(all, n, sizeof(*all), by_rank);
    *ret = TAKE_PTR(all);
    *ret_count = n;
    return 0;
}
