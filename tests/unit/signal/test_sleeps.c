/* SPDX-License-Identifier: Apache-2.0 */
/* Times of signals on the wall clock, though the system slept since. */
#include "suite.h"

#include "signal/sleeps.h"

#define S NSEC_PER_SEC
#define REAL (1790000000 * S) /* the wall clock at second 100 of CLOCK_MONOTONIC */

/* On since second 100; the system sleeps for two hours at 400, and for one at 500. */
START_TEST(times_before_a_sleep_stay)
{
    struct sleeps s;

    sleeps_begin(&s, 1000 * S);
    sleeps_look(&s, 400 * S, 1000 * S);
    ck_assert_uint_eq(sleeps_real_of(&s, 100 * S, 400 * S, REAL + 300 * S), REAL);
    sleeps_look(&s, 400 * S + 1, 8200 * S);
    sleeps_look(&s, 450 * S, 8200 * S);
    ck_assert_uint_eq(sleeps_real_of(&s, 100 * S, 450 * S, REAL + 7550 * S), REAL);
    ck_assert_uint_eq(sleeps_real_of(&s, 430 * S, 450 * S, REAL + 7550 * S), REAL + 7530 * S);
    sleeps_look(&s, 500 * S, 11800 * S);
    ck_assert_uint_eq(sleeps_real_of(&s, 100 * S, 500 * S, REAL + 11200 * S), REAL);
    ck_assert_uint_eq(sleeps_real_of(&s, 430 * S, 500 * S, REAL + 11200 * S), REAL + 7530 * S);
    ck_assert_uint_eq(sleeps_real_of(&s, 500 * S, 500 * S, REAL + 11200 * S), REAL + 11200 * S);
    ck_assert_uint_eq(sleeps_real_of(&s, 0, 500 * S, 7 * S), 0);
}
END_TEST

START_TEST(a_moment_between_the_clocks_is_no_sleep)
{
    struct sleeps s;

    sleeps_begin(&s, 0 * S);
    sleeps_look(&s, 100 * S, S - 1);
    sleeps_look(&s, 110 * S, 0 - S);
    ck_assert_uint_eq(sleeps_real_of(&s, 95 * S, 110 * S, REAL), REAL - 15 * S);
    for (uint64_t i = 0; i < 3 * SLEEPS_KEPT; i++)
        sleeps_look(&s, (110 + i) * S, 10 * i * S);
    ck_assert_uint_eq(
        sleeps_real_of(&s, (110 + 3 * SLEEPS_KEPT - 2) * S, (110 + 3 * SLEEPS_KEPT - 1) * S, REAL),
        REAL - 11 * S);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("sleeps");

    tcase_add_test(tc, times_before_a_sleep_stay);
    tcase_add_test(tc, a_moment_between_the_clocks_is_no_sleep);
    return suite_run_case("sleeps", tc);
}
