/* SPDX-License-Identifier: Apache-2.0 */
/* Changes between synthetic minutes: the change that was made ranks first. Weeks without a change
 * show at most one false change each. */
#include "suite.h"

#include "profile/changes.h"

#include <math.h>

#define FUNCTIONS 300
#define A 10
#define B 10
#define MANY 20 /* steps per side, enough for one significant test in a thousand */
#define MINUTE_NS (60 * NSEC_PER_SEC)
#define WEEKS 4
#define WEEK_HOURS (7 * 24)
#define SAMPLES 1140.0 /* in a minute at 19 Hz on one CPU */

static uint64_t state = 5;

static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* Draws a number of samples with the mean @mean. */
static double drawn(double mean)
{
    return fmax(floor(mean + sqrt(mean) * normal() + 0.5), 0);
}

/* Adds some 12 pauses, which take 1 % of the time. The numbers drawn for functions stay the same.
 */
static void add_pauses(struct change_set *s, size_t minute, double load)
{
    uint64_t kept = state, count;
    double ns;

    state ^= UINT64_C(0x5bd1e995);
    uniform();
    count = (uint64_t)drawn(12 * load);
    ns = (double)count * 5e7 * exp(0.3 * normal());
    state = kept;
    ck_assert_int_eq(
        change_set_add_pauses(
            s, &(struct change_pauses){ minute * MINUTE_NS, MINUTE_NS, count, (uint64_t)ns }),
        0);
}

#define PLACES 40
#define PLACE 5          /* its bytes grow by a share */
#define ALLOCATED 1200.0 /* samples in a minute, of the recorder */
#define PLACE_NAME "byte[] in shop.Orders.place"
static double grows; /* share of all bytes */

/* Adds the bytes that places allocate, in proportion to the load. The numbers drawn for functions
 * stay the same. */
static void add_allocations(struct change_set *s, size_t minute, double load)
{
    uint64_t kept = state;
    ptrdiff_t all = change_set_put(s, CHANGE_ALLOCATION, SPAN(CHANGE_ALL_OBJECTS));
    double sum = 0;

    state ^= UINT64_C(0x2545f491);
    uniform();
    for (int i = 0; i < PLACES; i++)
        sum += 1.0 / (i + 2);
    for (int i = 0; i < PLACES; i++) {
        double share = 1.0 / (i + 2) / sum + (i == PLACE && minute >= A ? grows : 0), bytes;
        char name[64];
        ptrdiff_t at;

        snprintf(name, sizeof(name), i == PLACE ? PLACE_NAME : "int[] in a.B.c%d", i);
        at = change_set_put(s, CHANGE_ALLOCATION, span_of(name));
        ck_assert(all >= 0 && at >= 0);
        bytes = 5e6 * drawn(ALLOCATED * load * share);
        s->series[at].by_step[minute] += bytes;
        s->series[all].by_step[minute] += bytes;
        s->whole[CHANGE_ALLOCATION][minute] += bytes;
    }
    state = kept;
}

/* Makes a service: shares fall off as one over the rank, and load and mix vary from minute to
 * minute. In the minutes of b, function @f takes
 * @more of the whole in addition. @wander: variation of the mix. */
static void make(struct change_set *s, int f, double more, double wander)
{
    struct change_steps m = {
        .a_ns = 0, .b_ns = A * MINUTE_NS, .step_ns = MINUTE_NS, .a = A, .b = B
    };
    double sum = 0, mix[FUNCTIONS] = { 0 };

    ck_assert_int_eq(change_set_init(s, &m), 0);
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[32];

        snprintf(name, sizeof(name), "f%d", i);
        ck_assert_int_eq((int)change_set_put(s, CHANGE_FUNCTION, span_of(name)), i);
        sum += 1.0 / (i + 2);
    }
    for (size_t minute = 0; minute < A + B; minute++) {
        double load = 0.7 + 0.6 * uniform();

        for (int i = 0; i < FUNCTIONS; i++) {
            double share = 1.0 / (i + 2) / sum, n;

            mix[i] = 0.5 * mix[i] + wander * normal();
            n = drawn(SAMPLES * load * share * exp(mix[i]));
            if (i == f && minute >= A)
                n += drawn(SAMPLES * load * more);
            s->series[i].by_step[minute] = n;
            s->whole[CHANGE_FUNCTION][minute] += n;
        }
        add_pauses(s, minute, load);
        add_allocations(s, minute, load);
    }
}

/* A change of 3 % of the CPU ranks first in at least 9 of 10 runs. No other function ranks as
 * high. */
START_TEST(ranks_the_made_change_first)
{
    static const int AT[] = { 3, 17, 250 };
    int first = 0;

    for (int i = 0; i < 10; i++) {
        struct change *found = NULL;
        struct change_set s;
        char name[32];
        size_t n = 0;

        make(&s, AT[i % 3], 0.03, 0.02);
        ck_assert_int_eq(changes_find(&s, &found, &n), 0);
        snprintf(name, sizeof(name), "f%d", AT[i % 3]);
        if (n && strcmp(found[0].of->name, name) == 0) {
            first++;
            ck_assert_double_eq_tol(found[0].difference, 3, 1.2);
            ck_assert_double_le(found[0].low, found[0].difference);
            ck_assert_double_ge(found[0].high, found[0].difference);
            ck_assert_double_le(found[0].q, CHANGES_Q);
        }
        free(found);
        change_set_deinit(&s);
    }
    ck_assert_int_ge(first, 9);
}
END_TEST

/* A place that allocates a tenth more of all bytes for the same work is listed, and all objects are
 * folded into it. Half of all bytes more is also a change of all objects. */
START_TEST(allocation_grows)
{
    int found_it = 0;

    for (int i = 0; i < 10; i++) {
        struct change *found = NULL;
        struct change_set s;
        size_t n = 0;

        grows = 0.1;
        make(&s, -1, 0, 0.02);
        grows = 0;
        ck_assert(change_set_has(&s, CHANGE_ALLOCATION, 0));
        ck_assert(change_set_has(&s, CHANGE_ALLOCATION, 1));
        ck_assert_int_eq(changes_find(&s, &found, &n), 0);
        n = changes_fold((const struct view *const[2]){ NULL, NULL }, found, n);
        if (n == 1 && strcmp(found[0].of->name, PLACE_NAME) == 0) {
            found_it++;
            ck_assert_double_eq_tol(found[0].difference, 10, 3);
        }
        free(found);
        change_set_deinit(&s);
    }
    ck_assert_int_ge(found_it, 8);
}
END_TEST

/* While a JVM's probes rest, half of the bytes are not seen: these minutes are not compared. */
START_TEST(allocation_of_a_rest_is_no_change)
{
    for (int skip = 0; skip < 2; skip++) {
        struct change *found = NULL;
        struct change_set s;
        size_t n = 0, allocations = 0;

        make(&s, -1, 0, 0.02);
        for (size_t m = A; m < A + B - 1; m++) { /* a rest of all minutes of b but one */
            for (size_t i = 0; i < s.count; i++)
                s.series[i].by_step[m] *= s.series[i].kind == CHANGE_ALLOCATION ? 0.5 : 1;
            s.whole[CHANGE_ALLOCATION][m] *= 0.5;
        }
        if (skip)
            change_set_skip_allocations(&s, s.steps.b_ns, s.steps.b_ns + (B - 1) * MINUTE_NS);
        ck_assert_uint_eq(change_set_skipped(&s), skip ? B - 1 : 0);
        ck_assert(change_set_has(&s, CHANGE_ALLOCATION, 0));
        ck_assert(change_set_has(&s, CHANGE_ALLOCATION, 1) == !skip);
        s.one_sided[CHANGE_ALLOCATION] =
            !change_set_has(&s, CHANGE_ALLOCATION, 1); /* as api/ does */
        ck_assert_int_eq(changes_find(&s, &found, &n), 0);
        for (size_t i = 0; i < n; i++)
            allocations += found[i].of->kind == CHANGE_ALLOCATION;
        ck_assert(skip ? allocations == 0 : allocations > 0);
        free(found);
        change_set_deinit(&s);
    }
}
END_TEST

/* A rest of some minutes only: they get the mean of the others. */
START_TEST(allocation_beside_a_rest_is_compared)
{
    struct change_set s;
    struct change *found = NULL;
    ptrdiff_t all;
    double before;
    size_t n = 0;

    make(&s, -1, 0, 0.02);
    all = change_set_put(&s, CHANGE_ALLOCATION, SPAN(CHANGE_ALL_OBJECTS));
    s.series[all].by_step[A + 3] = s.whole[CHANGE_ALLOCATION][A + 3] = 1;
    change_set_skip_allocations(&s, s.steps.b_ns + 3 * MINUTE_NS, s.steps.b_ns + 4 * MINUTE_NS);
    ck_assert(change_set_has(&s, CHANGE_ALLOCATION, 1));
    ck_assert_int_eq(changes_find(&s, &found, &n), 0);
    before = change_set_mean(&s, CHANGE_ALLOCATION, 0);
    ck_assert_double_eq_tol(before, 100, 0.1);
    ck_assert_double_eq_tol(change_set_mean(&s, CHANGE_ALLOCATION, 1), before, 5);
    ck_assert_double_eq_tol(s.series[all].by_step[A + 3], before, 20);
    free(found);
    change_set_deinit(&s);
}
END_TEST

START_TEST(allocation_that_is_recorded_in_part_is_known)
{
    struct change_set s;

    make(&s, -1, 0, 0.02);
    s.whole[CHANGE_ALLOCATION][A] = 0;
    ck_assert(change_set_has(&s, CHANGE_ALLOCATION, 1));
    s.whole[CHANGE_ALLOCATION][A + 1] = 0;
    ck_assert(!change_set_has(&s, CHANGE_ALLOCATION, 1));
    s.whole[CHANGE_FUNCTION][A] = s.whole[CHANGE_FUNCTION][A + 1] = 0; /* it was idle */
    ck_assert(change_set_has(&s, CHANGE_ALLOCATION, 1));
    ck_assert(change_set_has(&s, CHANGE_ALLOCATION, 0));
    change_set_deinit(&s);
}
END_TEST

START_TEST(weeks_without_change)
{
    size_t claimed = 0;

    for (int hour = 0; hour < WEEKS * WEEK_HOURS; hour++) {
        struct change *found = NULL;
        struct change_set s;
        size_t n = 0;

        make(&s, -1, 0, 0.03);
        ck_assert_int_eq(changes_find(&s, &found, &n), 0);
        claimed += n;
        free(found);
        change_set_deinit(&s);
    }
    ck_assert_uint_le(claimed, WEEKS);
}
END_TEST

/* All orders of 3 and 2 values, counted by hand. In one of the 10 orders no value of b is above one
 * of a. */
START_TEST(ranks)
{
    const double LOW[] = { 1, 2, 3, 4, 5 }, HIGH[] = { 6, 7, 8, 9, 10 },
                 MIXED[] = { 1.5, 2.5, 3.5, 4.5, 0.5 };
    double p[] = { 0.01, 0.04, 0.03, 0.5 };
    struct rank_result r;

    ck_assert_int_eq(rank_test(LOW, 4, HIGH, 5, &r), -EINVAL);
    ck_assert_int_eq(rank_test(LOW, 5, MIXED, 5, &r), 0);
    ck_assert_double_gt(r.p, 0.5);
    ck_assert_int_eq(rank_test(LOW, 5, HIGH, 5, &r), 0);
    ck_assert_double_eq_tol(r.difference, 5, 1e-9);
    ck_assert_double_ge(r.p, 2.0 / 252 - 1e-9); /* exact or higher: neighbors correlate */
    ck_assert_double_le(r.p, 0.2);
    ck_assert_int_eq(rank_adjust(p, 4), 0);
    ck_assert_double_eq_tol(p[0], 0.04, 1e-9);
    ck_assert_double_eq_tol(p[1], 0.04 * 4 / 3, 1e-9);
    ck_assert_double_eq_tol(p[2], 0.04 * 4 / 3, 1e-9);
    ck_assert_double_eq_tol(p[3], 0.5, 1e-9);
}
END_TEST

START_TEST(steps_of_both_sides)
{
    struct change_steps m;
    struct change_set s;

    ck_assert_int_eq(
        change_steps_of(100 * MINUTE_NS, 115 * MINUTE_NS, 200 * MINUTE_NS, 210 * MINUTE_NS, &m), 0);
    ck_assert_uint_eq(m.step_ns, MINUTE_NS);
    ck_assert_uint_eq(change_step(&m, 99 * MINUTE_NS), 25);
    ck_assert_uint_eq(change_step(&m, 100 * MINUTE_NS), 0);
    ck_assert_uint_eq(change_step(&m, 115 * MINUTE_NS), 25);
    ck_assert_uint_eq(change_step(&m, 200 * MINUTE_NS + 1), 15);
    ck_assert_uint_eq(change_step(&m, 210 * MINUTE_NS), 25);
    /* Minutes begin at whole minutes, like those of the history. Shorter steps begin where the
     * request does. */
    ck_assert_int_eq(change_steps_of(100 * MINUTE_NS + 7, 115 * MINUTE_NS + 7, 200 * MINUTE_NS + 9,
                                     210 * MINUTE_NS + 9, &m),
                     0);
    ck_assert(m.a_ns == 100 * MINUTE_NS && m.b_ns == 200 * MINUTE_NS && m.a == 15 && m.b == 10);
    ck_assert_int_eq(change_steps_of(7, 5 * MINUTE_NS, 5 * MINUTE_NS, 10 * MINUTE_NS, &m), 0);
    ck_assert(m.a_ns == 7);
    ck_assert_int_eq(change_steps_of(0, 5 * MINUTE_NS, 5 * MINUTE_NS, 10 * MINUTE_NS, &m), 0);
    ck_assert_uint_eq(m.a, 10); /* steps of 30 s */
    ck_assert_uint_eq(m.b, 10);
    ck_assert_int_eq(
        change_steps_of(0, 5 * MINUTE_NS, 5 * MINUTE_NS, 5 * MINUTE_NS + NSEC_PER_SEC, &m),
        -ENODATA);
    ck_assert_int_eq(change_steps_of(0, 5 * MINUTE_NS, 0, 999 * MINUTE_NS, &m), -EINVAL);
    m.b = 4;
    ck_assert_int_eq(change_set_init(&s, &m), -EINVAL);
}
END_TEST

/* Gives CPU time to the steps [@from, @to) of a set of an hour and ten minutes. Returns whether it
 * can be divided more finely. */
static bool narrows(size_t from, size_t to, struct change_steps *ret)
{
    struct change_steps m = {
        .a_ns = 0, .b_ns = 60 * MINUTE_NS, .step_ns = MINUTE_NS, .a = 60, .b = B
    };
    struct change_set s;
    bool is_finer, is_covered;

    ck_assert_int_eq(change_set_init(&s, &m), 0);
    for (size_t i = from; i < to; i++)
        s.whole[CHANGE_FUNCTION][i] = 1;
    is_finer = change_steps_narrow(&s, ret);
    is_covered = change_set_covered(&s);
    ck_assert(!(is_finer && is_covered));
    change_set_deinit(&s);
    return is_finer;
}

/* A service began two minutes before its release: these are divided, with as short steps after it.
 * A service with enough minutes stays, as does one without any before its release. */
START_TEST(few_minutes_are_divided)
{
    struct change_steps m;

    ck_assert(narrows(58, 70, &m));
    ck_assert(m.a_ns == 58 * MINUTE_NS && m.b_ns == 60 * MINUTE_NS);
    ck_assert(m.step_ns == 12 * NSEC_PER_SEC && m.a == 10 && m.b == 50);
    ck_assert(!narrows(60 - CHANGES_STEPS_MIN, 70, &m));
    ck_assert(narrows(60 - CHANGES_STEPS_MIN + 1, 70, &m));
    ck_assert(!narrows(60, 70, &m));
    ck_assert(!narrows(0, 60, &m));
    ck_assert(narrows(48, 61, &m)); /* released a minute ago */
    ck_assert(m.b == 10 && m.step_ns == 6 * NSEC_PER_SEC && m.a == RANK_MINUTES_MAX);
    ck_assert(!narrows(47, 61, &m)); /* too many steps */
}
END_TEST

/* Samples cover half of a's minutes. @covered: minutes of a with samples. */
static size_t find_partly(size_t covered, double *ret_before, struct change_set *s)
{
    struct change *found = NULL;
    size_t n = 0;

    make(s, 3, 0.2, 0.02);
    for (size_t m = 0; m + covered < A; m++) {
        s->whole[CHANGE_FUNCTION][m] = 0;
        for (size_t i = 0; i < s->count; i++)
            s->series[i].by_step[m] = 0;
    }
    ck_assert_int_eq(changes_find(s, &found, &n), 0);
    *ret_before = n ? found[0].before : 0;
    free(found);
    return n;
}

START_TEST(minutes_without_samples_do_not_count)
{
    double whole, part;
    struct change_set s;

    ck_assert_uint_ge(find_partly(A, &whole, &s), 1);
    ck_assert_uint_eq(s.steps.a, A);
    change_set_deinit(&s);
    ck_assert_uint_ge(find_partly(CHANGES_STEPS_MIN, &part, &s), 1);
    ck_assert_uint_eq(s.steps.a, CHANGES_STEPS_MIN);
    ck_assert_uint_eq(s.steps.b, B);
    ck_assert_double_eq_tol(part, whole, whole * 0.2);
    change_set_deinit(&s);
    ck_assert_uint_eq(find_partly(CHANGES_STEPS_MIN - 1, &part, &s), 0);
    ck_assert_uint_eq(s.steps.a, CHANGES_STEPS_MIN - 1);
    change_set_deinit(&s);
    ck_assert_uint_eq(find_partly(0, &part, &s), 0);
    ck_assert_uint_eq(s.steps.a, 0);
    change_set_deinit(&s);
}
END_TEST

/* A profile with very many functions leaves room for locks, and is tested only in part. */
START_TEST(too_many_series)
{
    struct change_steps m = {
        .b_ns = MANY * MINUTE_NS, .step_ns = MINUTE_NS, .a = MANY, .b = MANY
    };
    struct change *found = NULL;
    struct change_set s;
    char name[32];
    size_t n = 0;

    ck_assert_int_eq(change_set_init(&s, &m), 0);
    for (int i = 0; i < CHANGES_FUNCTIONS_MAX; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        ck_assert_int_eq((int)change_set_put(&s, CHANGE_FUNCTION, span_of(name)), i);
        for (size_t k = 0; k < 2 * MANY; k++)
            s.series[i].by_step[k] = 5;
    }
    for (size_t k = 0; k < 2 * MANY; k++)
        s.whole[CHANGE_FUNCTION][k] = s.whole[CHANGE_LOCK][k] = 100;
    ck_assert_int_eq((int)change_set_put(&s, CHANGE_FUNCTION, SPAN("one more")), -ENOSPC);
    ck_assert_int_eq((int)change_set_put(&s, CHANGE_FUNCTION, SPAN("f7")), 7);
    ck_assert_uint_eq(s.left_out[CHANGE_FUNCTION], 1);
    n = (size_t)change_set_put(&s, CHANGE_LOCK, SPAN("f7"));
    ck_assert_uint_eq(n, CHANGES_FUNCTIONS_MAX);
    for (size_t k = 0; k < 2 * MANY; k++)
        s.series[n].by_step[k] = k < MANY ? 1 : 90;
    ck_assert_int_eq((int)change_set_put(&s, CHANGE_LOCK, SPAN("")), CHANGES_FUNCTIONS_MAX + 1);
    ck_assert_int_eq((int)change_set_put(&s, CHANGE_LOCK, SPAN("")), CHANGES_FUNCTIONS_MAX + 1);
    ck_assert_int_eq(changes_find(&s, &found, &n), 0);
    ck_assert_uint_eq(s.untested, CHANGES_FUNCTIONS_MAX - CHANGES_TESTS_MAX);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq((int)found[0].of->kind, CHANGE_LOCK);
    free(found);
    change_set_deinit(&s);
}
END_TEST

/* A name that is known from a try without memory takes no place of another series. */
START_TEST(a_name_without_a_series)
{
    struct change_steps m = {
        .b_ns = MANY * MINUTE_NS, .step_ns = MINUTE_NS, .a = MANY, .b = MANY
    };
    struct change_set s;
    char name[32];
    uint32_t id;

    ck_assert_int_eq(change_set_init(&s, &m), 0);
    ck_assert_int_eq(intern_add(s.names[CHANGE_FUNCTION], SPAN("failed"), &id), 0);
    for (int i = 0; i < CHANGES_FUNCTIONS_MAX - 1; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        ck_assert_int_eq((int)change_set_put(&s, CHANGE_FUNCTION, span_of(name)), i);
    }
    ck_assert_int_eq((int)change_set_put(&s, CHANGE_FUNCTION, SPAN("last")), -ENOSPC);
    ck_assert_uint_eq(s.left_out[CHANGE_FUNCTION], 1);
    ck_assert_int_eq((int)change_set_put(&s, CHANGE_FUNCTION, SPAN("failed")),
                     CHANGES_FUNCTIONS_MAX - 1);
    ck_assert_int_eq((int)change_set_put(&s, CHANGE_FUNCTION, SPAN("f7")), 7);
    change_set_deinit(&s);
}
END_TEST

/* Of a service, "handle" drifts by a small share of itself, "sort" by a seventh, and "rule" is new.
 * "rule" comes first, and drifts are not listed. Waits of unknown kind come last. */
START_TEST(what_is_new_comes_first)
{
    static const struct {
        const char *name;
        double before, after;
    } OF[] = { { "handle", 80, 83 }, { "sort", 14, 16 }, { "rule", 0, 1 } };
    struct change_steps m = { .b_ns = A * MINUTE_NS, .step_ns = MINUTE_NS, .a = A, .b = B };
    struct change *found = NULL;
    struct change_set s;
    size_t n = 0;

    ck_assert_int_eq(change_set_init(&s, &m), 0);
    for (size_t k = 0; k < A + B; k++)
        s.whole[CHANGE_FUNCTION][k] = 100;
    for (size_t i = 0; i < ARRAY_SIZE(OF); i++) {
        ck_assert_int_eq((int)change_set_put(&s, CHANGE_FUNCTION, span_of(OF[i].name)), (int)i);
        for (size_t k = 0; k < A + B; k++)
            s.series[i].by_step[k] = k < A ? OF[i].before : OF[i].after;
    }
    ck_assert_int_eq((int)change_set_put(&s, CHANGE_WAIT, SPAN("blocked")), 3);
    for (size_t k = 0; k < A + B; k++) {
        s.whole[CHANGE_WAIT][k] = 100;
        s.series[3].by_step[k] = k < A ? 0 : 30;
    }
    ck_assert_int_eq(changes_find(&s, &found, &n), 0);
    ck_assert_uint_eq(n, 3);
    ck_assert_str_eq(found[2].of->name, "blocked");
    ck_assert_str_eq(found[0].of->name, "rule");
    ck_assert_str_eq(found[1].of->name, "sort");
    changes_sort(found, n); /* in the order of the list: by size */
    ck_assert_str_eq(found[0].of->name, "blocked");
    ck_assert_str_eq(found[1].of->name, "sort");
    ck_assert_str_eq(found[2].of->name, "rule");
    free(found);
    change_set_deinit(&s);
}
END_TEST

/* Finds changes of one function among 20 that do not change. @value: of that function by step. */
static size_t find_one(size_t a, double (*value)(size_t step, size_t a))
{
    struct change_steps m = { .b_ns = a * MINUTE_NS, .step_ns = MINUTE_NS, .a = a, .b = B };
    struct change *found = NULL;
    struct change_set s;
    char name[32];
    size_t n = 0;

    ck_assert_int_eq(change_set_init(&s, &m), 0);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        ck_assert_int_eq((int)change_set_put(&s, CHANGE_FUNCTION, span_of(name)), i);
        for (size_t k = 0; k < a + B; k++)
            s.series[i].by_step[k] = i ? 5 + 0.2 * normal() : value(k, a);
    }
    for (size_t k = 0; k < a + B; k++)
        s.whole[CHANGE_FUNCTION][k] = 100;
    ck_assert_int_eq(changes_find(&s, &found, &n), 0);
    ck_assert(n == 0 || strcmp(found[0].of->name, "f0") == 0);
    free(found);
    change_set_deinit(&s);
    return n;
}

static double drifts(size_t step, size_t a)
{
    return 10 + 3 * (double)step / (double)a + normal();
}

static double wanders(size_t step, size_t a)
{
    (void)a;
    return (step / 10 % 3 == 0 ? 13 : 10) + 2 * normal();
}

static double steps_up(size_t step, size_t a)
{
    return (step < a ? 10 : 13) + normal();
}

/* A series that rises evenly, or changes for ten minutes now and then, did so without a release. */
START_TEST(drift_is_no_change)
{
    static const size_t LONG = 60;
    size_t drifted = 0, wandered = 0, found = 0;

    for (int i = 0; i < 50; i++) {
        drifted += find_one(LONG, drifts);
        wandered += find_one(LONG, wanders);
        found += find_one(LONG, steps_up);
    }
    ck_assert_uint_le(drifted, 1);
    ck_assert_uint_le(wandered, 1);
    ck_assert_uint_ge(found, 45);
}
END_TEST

/* Waits that only one side recorded are not new. */
START_TEST(what_one_side_has_alone_is_not_compared)
{
    struct change_steps m = { .b_ns = A * MINUTE_NS, .step_ns = MINUTE_NS, .a = A, .b = B };
    struct change *found = NULL;
    struct change_set s;
    size_t n = 1;

    ck_assert_int_eq(change_set_init(&s, &m), 0);
    ck_assert_int_eq((int)change_set_put(&s, CHANGE_WAIT, SPAN("network")), 0);
    for (size_t k = 0; k < A + B; k++) {
        s.whole[CHANGE_FUNCTION][k] = s.whole[CHANGE_WAIT][k] = 100;
        s.series[0].by_step[k] = k < A ? 0 : 30;
    }
    s.one_sided[CHANGE_WAIT] = true;
    ck_assert_int_eq(changes_find(&s, &found, &n), 0);
    ck_assert_uint_eq(n, 0);
    free(found);
    change_set_deinit(&s);
}
END_TEST

/* What b would have at the rate of a. Minutes without samples are no time. */
START_TEST(expects_as_many_as_before)
{
    struct change_steps m = {
        .a_ns = 0, .b_ns = A * MINUTE_NS, .step_ns = MINUTE_NS, .a = A, .b = 2 * A
    };
    struct change_set set;

    ck_assert_int_eq(change_set_init(&set, &m), 0);
    ck_assert_double_eq(change_set_expected(&set), 0);
    for (size_t i = 0; i < 3 * A; i++)
        set.whole[CHANGE_FUNCTION][i] = i % 2 || i >= A;
    set.samples[0] = 100;
    set.samples[1] = 7000;
    ck_assert_double_eq_tol(change_set_expected(&set), 400, 0.01); /* 5 and 20 minutes */
    change_set_deinit(&set);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("changes");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, ranks);
    tcase_add_test(tc, steps_of_both_sides);
    tcase_add_test(tc, few_minutes_are_divided);
    tcase_add_test(tc, expects_as_many_as_before);
    tcase_add_test(tc, ranks_the_made_change_first);
    tcase_add_test(tc, what_is_new_comes_first);
    tcase_add_test(tc, drift_is_no_change);
    tcase_add_test(tc, what_one_side_has_alone_is_not_compared);
    tcase_add_test(tc, minutes_without_samples_do_not_count);
    tcase_add_test(tc, too_many_series);
    tcase_add_test(tc, a_name_without_a_series);
    tcase_add_test(tc, allocation_grows);
    tcase_add_test(tc, allocation_that_is_recorded_in_part_is_known);
    tcase_add_test(tc, weeks_without_change);
    /* last: the others draw the same numbers as before */
    tcase_add_test(tc, allocation_of_a_rest_is_no_change);
    tcase_add_test(tc, allocation_beside_a_rest_is_compared);
    return suite_run_case("changes", tc);
}
