/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes are listed, and in which order. */
#include "changes_made.h"

#define MANY 20 /* steps per side, enough for one significant test in a thousand */

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

    for (int i = 0; i < 1000; i++) {
        drifted += find_one(LONG, drifts);
        wandered += find_one(LONG, wanders);
        found += find_one(LONG, steps_up);
    }
    ck_assert_uint_le(drifted, 20);
    ck_assert_uint_le(wandered, 20);
    ck_assert_uint_ge(found, 900);
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

int main(void)
{
    TCase *tc = tcase_create("changes_listed");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, draw_again, NULL);
    tcase_add_test(tc, ranks);
    tcase_add_test(tc, too_many_series);
    tcase_add_test(tc, a_name_without_a_series);
    tcase_add_test(tc, what_is_new_comes_first);
    tcase_add_test(tc, drift_is_no_change);
    tcase_add_test(tc, what_one_side_has_alone_is_not_compared);
    return suite_run_case("changes_listed", tc);
}
