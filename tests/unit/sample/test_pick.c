/* SPDX-License-Identifier: Apache-2.0 */
/* sample/pick.bpf.h: the values of samples at a pace, if events come in bursts. */
#include "suite.h"

#include "base/clock.h"

#include <linux/types.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static uint64_t now_ns, drawn; /* the clock; the last random number */

static inline uint64_t bpf_ktime_get_ns(void)
{
    return now_ns;
}

static inline uint32_t bpf_get_prandom_u32(void)
{
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(drawn >> 32);
}

#include "sample/pick.bpf.h"

#define BURSTS 2000
#define APART_NS UINT64_C(2000) /* between the events of a burst */
#define PAUSE_NS (200 * NSEC_PER_MSEC)
#define PACE_NS (NSEC_PER_SEC / 99)

static const unsigned LENGTHS[] = { 1, 700, 1300, 5000 };

static uint64_t value_of(struct block *b)
{
    static const struct pick_rate RATE = { .interval = 1, .pace_ns = PACE_NS, .start = 1 };
    __u64 value;

    return is_picked(b, &RATE, &value) ? value : 0;
}

/* An event between two bursts counts one on average, without the rest of the burst before. The sum
 * is right to within two bursts. */
START_TEST(leaves_to_bursts_what_is_theirs)
{
    unsigned length = LENGTHS[_i];
    uint64_t burst = 0, between = 0;
    struct block b = { 0 };

    now_ns = NSEC_PER_SEC;
    drawn = 1;
    for (unsigned i = 0; i < BURSTS; i++) {
        for (unsigned k = 0; k < length; k++, now_ns += APART_NS)
            burst += value_of(&b);
        now_ns += PAUSE_NS;
        between += value_of(&b);
        now_ns += PAUSE_NS;
    }
    printf("bursts of %u: %.4f of them, %.2f of those between\n", length,
           (double)burst / (BURSTS * length), (double)between / BURSTS);
    ck_assert_double_ge((double)between / BURSTS, 0.3);
    ck_assert_double_le((double)between / BURSTS, 3);
    ck_assert_double_ge((double)(burst + between), (double)(BURSTS - 2) * (length + 1));
    ck_assert_double_le((double)(burst + between), (double)(BURSTS + 2) * (length + 1));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pick");
    TCase *tc = tcase_create("pick");

    tcase_add_loop_test(tc, leaves_to_bursts_what_is_theirs, 0, (int)ARRAY_SIZE(LENGTHS));
    suite_add_tcase(s, tc);
    return suite_run(s);
}
