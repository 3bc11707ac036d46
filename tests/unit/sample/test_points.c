/* SPDX-License-Identifier: Apache-2.0 */
/* sample/points.bpf.h: short waits count by their duration, whatever it is. */
#include "suite.h"

#include "base/clock.h"

#include <linux/types.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static uint64_t drawn; /* the last random number */

static inline uint64_t bpf_ktime_get_ns(void)
{
    return 0;
}

static inline uint32_t bpf_get_prandom_u32(void)
{
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(drawn >> 32);
}

#include "sample/points.bpf.h"

/* Counts points as off.bpf.c does. */
static uint64_t points_of(struct points *p, uint64_t wait_ns, uint64_t interval)
{
    if (!meets_none(p, wait_ns, interval))
        return points_in(p, wait_ns, interval);
    p->before -= wait_ns;
    return 0;
}

#define INTERVAL_NS (10 * NSEC_PER_MSEC)
#define BLOCKS 3000

/* Durations in thousandths of an interval. */
static const unsigned LENGTHS[] = { 10, 30, 333, 500, 999 };

/* Waits of one duration, one after the other. Their points differ from the whole intervals by at
 * most one. */
START_TEST(each_block_has_a_point)
{
    uint64_t wait_ns = INTERVAL_NS / 1000 * LENGTHS[_i], all_ns = 0, n = 0;
    struct points p = { 0 };

    drawn = 1;
    while (all_ns < BLOCKS * INTERVAL_NS) {
        n += points_of(&p, wait_ns, INTERVAL_NS);
        all_ns += wait_ns;
        ck_assert_uint_le(p.before, 2 * INTERVAL_NS);
        ck_assert_int_le(llabs((long long)n - (long long)(all_ns / INTERVAL_NS)), 1);
    }
}
END_TEST

/* Long and short waits in turn: each kind gets its share, though a long wait follows each short
 * one. */
START_TEST(each_kind_has_its_share)
{
    uint64_t short_ns = INTERVAL_NS / 10, long_ns = INTERVAL_NS / 10 * 9, shorts = 0, longs = 0;
    struct points p = { 0 };

    drawn = 1;
    for (unsigned i = 0; i < BLOCKS; i++) {
        shorts += points_of(&p, short_ns, INTERVAL_NS);
        longs += points_of(&p, long_ns, INTERVAL_NS);
    }
    /* 300 and 2,700, within five times the deviation of 16. */
    ck_assert_int_le(llabs((long long)shorts - BLOCKS / 10), 80);
    ck_assert_int_le(llabs((long long)longs - BLOCKS / 10 * 9), 80);
}
END_TEST

/* A set with another interval had this thread before. */
START_TEST(forgets_a_longer_interval)
{
    uint64_t n = 0;
    struct points p = { 0 };

    drawn = 1;
    points_of(&p, INTERVAL_NS / 2, 100 * INTERVAL_NS);
    for (unsigned i = 0; i < 20; i++)
        n += points_of(&p, INTERVAL_NS / 2, INTERVAL_NS);
    ck_assert_uint_ge(n, 9);
    ck_assert_uint_le(n, 11);
}
END_TEST

/* The interval exceeds 32 bits. */
START_TEST(draws_from_all_of_the_interval)
{
    static const uint64_t LIMITS[] = { 1, 1000, UINT64_C(1) << 31, UINT64_C(100) << 32 };

    drawn = 1;
    for (size_t k = 0; k < ARRAY_SIZE(LIMITS); k++) {
        double sum = 0;

        for (unsigned i = 0; i < 10000; i++) {
            uint64_t at = random_below(LIMITS[k]);

            ck_assert_uint_lt(at, LIMITS[k]);
            sum += (double)at / (double)LIMITS[k];
        }
        if (LIMITS[k] > 1)
            ck_assert_double_eq_tol(sum / 10000, 0.5, 0.02);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("points");
    TCase *tc = tcase_create("points");

    tcase_add_loop_test(tc, each_block_has_a_point, 0, (int)ARRAY_SIZE(LENGTHS));
    tcase_add_test(tc, each_kind_has_its_share);
    tcase_add_test(tc, forgets_a_longer_interval);
    tcase_add_test(tc, draws_from_all_of_the_interval);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
