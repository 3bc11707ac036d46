/* SPDX-License-Identifier: Apache-2.0 */
/* capture/looks_pace.c: passes over threads, and their walks, take their shares of a processor. */
#include "suite.h"

#include "capture/looks_pace.h"

static struct looks_pace pace;

/* Makes passes for @seconds: each takes @pass_ns, and as many walks of @walk_ns as are allowed.
 * Returns the processor time of both. */
static void run(uint64_t seconds, uint64_t pass_ns, uint64_t walk_ns, uint64_t *passes_ns,
                uint64_t *walks_ns)
{
    uint64_t now_ns = 0, step_ns = 0, chance = 1;

    *passes_ns = *walks_ns = 0;
    for (; now_ns < seconds * NSEC_PER_SEC; now_ns += step_ns) {
        uint64_t walks = (uint64_t)looks_pace_walks(&pace, step_ns);
        struct looks_work work = { .ns = walks * 100000,
                                   .own_ns = pass_ns,
                                   .walks = walks,
                                   .walks_own_ns = walks * walk_ns / 2,
                                   .walks_readers_ns = walks * walk_ns / 2 };

        looks_pace_learn(&pace, &work);
        *passes_ns += pass_ns;
        *walks_ns += walks * walk_ns;
        chance = chance * UINT64_C(6364136223846793005) + 1;
        step_ns = looks_pace_next(&pace, chance >> 16);
    }
}

START_TEST(passes_and_walks_take_their_shares)
{
    uint64_t passes_ns, walks_ns;

    looks_pace_init(&pace);
    run(60, 2 * NSEC_PER_MSEC, 100000, &passes_ns, &walks_ns); /* the first walks are over */
    run(1000, 2 * NSEC_PER_MSEC, 100000, &passes_ns, &walks_ns);
    ck_assert_uint_lt(passes_ns, 840 * NSEC_PER_MSEC);
    ck_assert_uint_gt(passes_ns, 760 * NSEC_PER_MSEC);
    ck_assert_uint_lt(walks_ns, 2600 * NSEC_PER_MSEC);
    ck_assert_uint_gt(walks_ns, 2400 * NSEC_PER_MSEC);
}
END_TEST

START_TEST(short_passes_come_each_second)
{
    uint64_t passes_ns, walks_ns;

    looks_pace_init(&pace);
    run(1000, NSEC_PER_MSEC / 10, 1000, &passes_ns, &walks_ns);
    ck_assert_uint_gt(passes_ns, 95 * NSEC_PER_MSEC);
    ck_assert_uint_lt(passes_ns, 105 * NSEC_PER_MSEC);
}
END_TEST

START_TEST(long_passes_are_4_s_apart)
{
    looks_pace_init(&pace);
    looks_pace_learn(&pace, &(struct looks_work){ .own_ns = 50 * NSEC_PER_MSEC });
    ck_assert_uint_eq(looks_pace_next(&pace, 0), 2 * NSEC_PER_SEC);
    ck_assert_uint_eq(looks_pace_next(&pace, 4 * NSEC_PER_SEC - 1), 6 * NSEC_PER_SEC - 1);
}
END_TEST

START_TEST(long_walks_come_less_often_than_passes)
{
    uint64_t passes_ns, walks_ns;

    looks_pace_init(&pace);
    run(100, NSEC_PER_MSEC / 10, 30 * NSEC_PER_MSEC, &passes_ns, &walks_ns);
    run(10000, NSEC_PER_MSEC / 10, 30 * NSEC_PER_MSEC, &passes_ns, &walks_ns);
    ck_assert_uint_lt(walks_ns, 26 * NSEC_PER_SEC);
    ck_assert_uint_gt(walks_ns, 24 * NSEC_PER_SEC);
    run(10000, NSEC_PER_MSEC / 10, 300 * NSEC_PER_MSEC, &passes_ns, &walks_ns); /* at times */
    ck_assert_uint_gt(walks_ns, 10 * NSEC_PER_SEC);
}
END_TEST

START_TEST(a_pass_walks_for_50_ms_and_at_least_once)
{
    looks_pace_init(&pace);
    ck_assert_double_eq(looks_pace_walks(&pace, 0), LOOKS_WALKS_MAX);
    looks_pace_learn(&pace, &(struct looks_work){ .ns = NSEC_PER_SEC, .walks = 10 });
    ck_assert_double_eq_tol(looks_pace_walks(&pace, 0), 1, 1e-9);
    pace.walk_ns = 1000000;
    ck_assert_double_eq_tol(looks_pace_walks(&pace, 0), 50, 1e-9);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("looks_pace");

    tcase_add_test(tc, passes_and_walks_take_their_shares);
    tcase_add_test(tc, short_passes_come_each_second);
    tcase_add_test(tc, long_passes_are_4_s_apart);
    tcase_add_test(tc, long_walks_come_less_often_than_passes);
    tcase_add_test(tc, a_pass_walks_for_50_ms_and_at_least_once);
    return suite_run_case("looks_pace", tc);
}
