/* SPDX-License-Identifier: Apache-2.0 */
/* mean_test(): known values of Student's distribution, false positives, and series that do not
 * vary. */
#include "changes_made.h"

#include "profile/mean_test.h"

/* Returns the result for series with the difference @t standard errors: @n values in all, and the
 * first one alone. */
static struct rank_result at(double t, size_t n)
{
    double v[64] = { 0 };
    struct rank_result r;

    /* Alternating values of b have the mean 0 and some variance. */
    for (size_t i = 1; i < n; i++)
        v[i] = n % 2 || i + 1 < n ? (i % 2 ? 1 : -1) : 0;
    v[0] = -t * sqrt((double)(n % 2 ? n - 1 : n - 2) / (double)(n - 2)) *
           sqrt(1 + 1 / (double)(n - 1));
    ck_assert_int_eq(mean_test(v, 1, v + 1, n - 1, 0, &r), 0);
    return r;
}

START_TEST(has_the_p_of_tables)
{
    static const struct {
        double t;
        size_t df;
        double p;
    } KNOWN[] = { { 2.306004, 8, 0.05 },  { 2.262157, 9, 0.05 },  { 3.355387, 8, 0.01 },
                  { 3.249836, 9, 0.01 },  { 5.041305, 8, 0.001 }, { 4.780913, 9, 0.001 },
                  { 2.085963, 20, 0.05 }, { 2.079614, 21, 0.05 }, { 0, 9, 1 } };

    for (size_t i = 0; i < ARRAY_SIZE(KNOWN); i++)
        ck_assert_double_eq_tol(at(KNOWN[i].t, KNOWN[i].df + 2).p, KNOWN[i].p, 1e-5);
}
END_TEST

/* An interval of 95 % touches 0 where p is 0.05. */
START_TEST(has_the_interval_of_p)
{
    struct rank_result r = at(2.262157, 11);

    ck_assert_double_eq_tol(r.low, 0, 1e-5);
    ck_assert_double_eq_tol(r.high, 2 * r.difference, 1e-5);
}
END_TEST

/* Two samples that one minute has and ten have not are chance, though no minute of the ten varies.
 * A hundred are none. */
START_TEST(samples_vary_at_least_by_chance)
{
    double v[11] = { 2 };
    struct rank_result r;

    ck_assert_int_eq(mean_test(v, 1, v + 1, 10, 1, &r), 0);
    ck_assert_double_gt(r.p, 0.001);
    v[0] = 100;
    ck_assert_int_eq(mean_test(v, 1, v + 1, 10, 1, &r), 0);
    ck_assert_double_lt(r.p, 0.05);
    v[0] = 0;
    ck_assert_int_eq(mean_test(v, 1, v + 1, 10, 1, &r), 0);
    ck_assert(r.p == 1 && r.low == 0 && r.high == 0);
    ck_assert_int_eq(mean_test(v, 1, v + 1, 8, 1, &r), -EINVAL);
    ck_assert_int_eq(mean_test(v, 0, v + 1, 10, 1, &r), -EINVAL);
}
END_TEST

/* Of a thousand pairs of equal series, some fifty have a p below 0.05. */
START_TEST(equal_series_differ_by_chance)
{
    size_t below = 0;

    draw_again();
    for (int i = 0; i < 1000; i++) {
        double v[12];
        struct rank_result r;

        for (size_t k = 0; k < ARRAY_SIZE(v); k++)
            v[k] = drawn(40);
        ck_assert_int_eq(mean_test(v, 3, v + 3, 9, 0, &r), 0);
        below += r.p < 0.05;
    }
    ck_assert_uint_ge(below, 30);
    ck_assert_uint_le(below, 70);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("mean_test");

    tcase_add_test(tc, has_the_p_of_tables);
    tcase_add_test(tc, has_the_interval_of_p);
    tcase_add_test(tc, samples_vary_at_least_by_chance);
    tcase_add_test(tc, equal_series_differ_by_chance);
    return suite_run_case("mean_test", tc);
}
