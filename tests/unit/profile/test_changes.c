/* SPDX-License-Identifier: Apache-2.0 */
/* Changes between synthetic minutes: the change that was made ranks first. Weeks without a change
 * show at most one false change each. */
#include "changes_made.h"

#define WEEKS 4
#define WEEK_HOURS (7 * 24)

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

/* Leaves the last @minutes of a. */
static void keep_last(struct change_set *s, size_t minutes)
{
    for (size_t m = 0; m + minutes < A; m++) {
        s->whole[CHANGE_FUNCTION][m] = 0;
        for (size_t i = 0; i < s->count; i++)
            s->series[i].by_step[m] = 0;
    }
}

/* Samples cover half of a's minutes. @covered: minutes of a with samples. */
static size_t find_partly(size_t covered, double *ret_before, struct change_set *s)
{
    struct change *found = NULL;
    size_t n = 0;

    make(s, 3, 0.2, 0.02);
    keep_last(s, covered);
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
    /* Few minutes are compared by their mean. */
    for (size_t few = CHANGES_STEPS_MIN - 1; few > 0; few--) {
        ck_assert_uint_ge(find_partly(few, &part, &s), 1);
        ck_assert_uint_eq(s.steps.a, few);
        ck_assert_int_eq(s.cover, CHANGE_COVER_FEW);
        ck_assert_double_eq_tol(part, whole, whole * 0.5);
        change_set_deinit(&s);
    }
    ck_assert_uint_eq(find_partly(0, &part, &s), 0);
    ck_assert_uint_eq(s.steps.a, 0);
    change_set_deinit(&s);
}
END_TEST

/* A release soon after flamed began: a change of 6 % ranks first with two minutes before it. In
 * two weeks of hourly comparisons without a change, as few are claimed as with ten minutes. */
START_TEST(ranks_the_change_first_with_few_minutes)
{
    size_t first = 0, claimed = 0;

    for (int i = 0; i < 10 + 2 * WEEK_HOURS; i++) {
        bool made = i < 10;
        struct change *found = NULL;
        struct change_set s;
        size_t n = 0;

        make(&s, made ? 17 : -1, made ? 0.06 : 0, 0.03);
        keep_last(&s, made ? 2 : 1 + (size_t)i % 8);
        ck_assert_int_eq(changes_find(&s, &found, &n), 0);
        ck_assert_int_eq(s.cover, CHANGE_COVER_FEW);
        if (made && n && strcmp(found[0].of->name, "f17") == 0) {
            first++;
            ck_assert_double_eq_tol(found[0].difference, 6, 2.4);
            ck_assert(found[0].low < found[0].difference && found[0].difference < found[0].high);
        }
        claimed += made ? 0 : n;
        free(found);
        change_set_deinit(&s);
    }
    ck_assert_uint_ge(first, 9);
    ck_assert_uint_le(claimed, 2);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("changes");

    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, draw_again, NULL);
    tcase_add_test(tc, ranks_the_made_change_first);
    tcase_add_test(tc, allocation_grows);
    tcase_add_test(tc, allocation_of_a_rest_is_no_change);
    tcase_add_test(tc, allocation_beside_a_rest_is_compared);
    tcase_add_test(tc, allocation_that_is_recorded_in_part_is_known);
    tcase_add_test(tc, weeks_without_change);
    tcase_add_test(tc, minutes_without_samples_do_not_count);
    tcase_add_test(tc, ranks_the_change_first_with_few_minutes);
    return suite_run_case("changes", tc);
}
