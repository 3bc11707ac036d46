/* SPDX-License-Identifier: Apache-2.0 */
/* sample/alloc_paced.bpf.h: sums and numbers of samples of programs that allocate in bursts. */
#include "suite.h"

#include "base/clock.h"

#include <linux/types.h>
#include <math.h>

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

#include "sample/alloc_paced.bpf.h"

#define HZ 20 /* wanted samples a second */
#define PACE_NS (NSEC_PER_SEC / HZ)
#define OBJECT (UINT64_C(1) << 20)
#define APART_NS UINT64_C(20000) /* between the objects of a burst */
#define MINUTE_NS (60 * NSEC_PER_SEC)
#define MINUTES 200

/* A program of objects of OBJECT bytes, and what its samples were. */
static struct alloc_process process;
static double sum;         /* bytes that they stand for */
static unsigned taken;     /* samples */
static unsigned most;      /* of a second */
static uint64_t second_ns; /* the second of that count */
static unsigned in_second;

static void allocate(void)
{
    uint64_t value = draw_paced(&process, PACE_NS, OBJECT);

    if (now_ns - second_ns >= NSEC_PER_SEC) {
        second_ns = now_ns;
        in_second = 0;
    }
    if (!value)
        return;
    sum += (double)value;
    taken++;
    in_second++;
    if (in_second > most)
        most = in_second;
}

static void setup(void)
{
    process = (struct alloc_process){ 0 };
    now_ns = NSEC_PER_SEC;
    second_ns = 0;
    drawn = 1;
    sum = 0;
    taken = most = in_second = 0;
    paced_processes = 1;
}

/* Objects one after the other until @end_ns, and bursts in between. Returns their number. */
static uint64_t run(uint64_t end_ns, uint64_t steady_ns, unsigned burst, uint64_t every_ns)
{
    uint64_t next_ns = now_ns, burst_ns = now_ns + every_ns, n = 0;

    while (now_ns < end_ns) {
        if (burst_ns < next_ns) {
            now_ns = burst_ns;
            burst_ns += every_ns;
            for (unsigned i = 0; i < burst; i++, n++, now_ns += APART_NS)
                allocate();
        } else {
            if (now_ns < next_ns)
                now_ns = next_ns;
            next_ns += steady_ns;
            allocate();
            n++;
        }
    }
    return n;
}

static const struct {
    unsigned steady; /* objects a second */
    unsigned burst;
    uint64_t every_ns;
    unsigned processes;
    double error; /* of a minute's sum, the allowed relative one (1 sigma) */
} PATTERNS[] = {
    { 10, 64, 10 * NSEC_PER_SEC, 1, 0.02 },    { 20, 500, 30 * NSEC_PER_SEC, 1, 0.04 },
    { 100, 2000, 10 * NSEC_PER_SEC, 1, 0.04 }, { 1000, 1, 60 * NSEC_PER_SEC, 1, 0.04 },
    { 1, 5000, 60 * NSEC_PER_SEC, 1, 0.02 },   { 10, 64, 10 * NSEC_PER_SEC, 64, 0.15 },
    { 20, 500, 30 * NSEC_PER_SEC, 64, 0.15 },  { 1000, 1, 60 * NSEC_PER_SEC, 64, 0.15 },
};

/* The sum of each minute is as right as its number of samples promises. */
START_TEST(sums_of_a_minute_are_right)
{
    double squares = 0, mean = 0, worst = 0;

    paced_processes = PATTERNS[_i].processes;
    for (unsigned i = 0; i < MINUTES; i++) {
        uint64_t n = run(now_ns + MINUTE_NS, NSEC_PER_SEC / PATTERNS[_i].steady, PATTERNS[_i].burst,
                         PATTERNS[_i].every_ns);
        double ratio = sum / ((double)n * (double)OBJECT);

        mean += ratio / MINUTES;
        squares += (ratio - 1) * (ratio - 1) / MINUTES;
        worst = fmax(worst, fabs(ratio - 1));
        sum = 0;
    }
    printf("%u a second and %u each %llu s, 1 of %u: mean %.4f, sigma %.4f, worst %.3f, %.1f "
           "samples/s, "
           "%u in a second\n",
           PATTERNS[_i].steady, PATTERNS[_i].burst,
           (unsigned long long)(PATTERNS[_i].every_ns / NSEC_PER_SEC), PATTERNS[_i].processes, mean,
           sqrt(squares), worst, (double)taken / MINUTES / 60, most);
    ck_assert_double_le(fabs(mean - 1), 0.01);
    ck_assert_double_le(sqrt(squares), PATTERNS[_i].error);
    ck_assert_double_le(worst, 6 * PATTERNS[_i].error);
}
END_TEST

/* Seconds without objects between floods: the interval is short when a flood begins. */
static const unsigned PAUSES[] = { 0, 1, 2, 5, 20 };

/* A flood doubles the interval until it has its pace: so many samples more, once. */
START_TEST(floods_give_few_samples)
{
    unsigned doubled = 0;

    setup();
    for (uint64_t bytes = ALLOC_PACED_LEAST; bytes < PACED_MOST; bytes *= 2)
        doubled++;
    for (unsigned i = 0; i < 30; i++) {
        uint64_t end_ns = now_ns + NSEC_PER_SEC;

        for (; now_ns < end_ns; now_ns += 1000) /* 1 TiB a second */
            allocate();
        for (unsigned k = 0; k < PAUSES[_i]; k++, now_ns += NSEC_PER_SEC)
            allocate();
    }
    printf("pauses of %u s: %.1f samples/s, %u in a second\n", PAUSES[_i],
           (double)taken / (30 * (1 + PAUSES[_i])), most);
    ck_assert_uint_le(most, (doubled + 1) * 2 * HZ);
    ck_assert_double_le((double)taken, 2.0 * HZ * (30 * (1 + PAUSES[_i]) + doubled));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("alloc_paced");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_loop_test(tc, sums_of_a_minute_are_right, 0, (int)ARRAY_SIZE(PATTERNS));
    tcase_add_loop_test(tc, floods_give_few_samples, 0, (int)ARRAY_SIZE(PAUSES));
    return suite_run_case("alloc_paced", tc);
}
