/* SPDX-License-Identifier: Apache-2.0 */
/* capture/pauses.c: histograms from counters, also if a reading falls into a safepoint. */
#include "suite.h"

#include "base/clock.h"
#include "capture/pauses.h"

#define MS ((int64_t)NSEC_PER_MSEC)
#define LOOKS 8

/* A JVM's counters at a reading, and how many stops the bucket up to @bound_ms then has. */
struct step {
    int64_t begun, sync_ms, at_ms; /* sums so far */
    uint64_t whole[3];             /* up to 3 ms, up to 100 ms, all */
    uint64_t sum_ms;               /* of these stops */
};

static uint64_t up_to(const struct pause_histogram *h, uint64_t bound_ns)
{
    uint64_t n = 0;

    for (size_t i = 0; i < PAUSES_BOUNDS && PAUSES_BOUNDS_NS[i] <= bound_ns; i++)
        n += h->counts[i];
    return n;
}

static uint64_t all_of(const struct pause_histogram *h)
{
    return up_to(h, UINT64_MAX) + h->counts[PAUSES_BOUNDS];
}

static const struct {
    int jdk;
    struct step steps[LOOKS];
} CASES[] = {
    /* Single stops between readings count in their own bucket, for JDK 8 and 17. */
    { 8, { { 5, 7, 9, { 0 }, 0 }, { 6, 8, 11, { 1, 1, 1 }, 2 }, { 7, 9, 61, { 1, 2, 2 }, 52 } } },
    { 17, { { 5, 7, 9, { 0 }, 0 }, { 6, 8, 11, { 1, 1, 1 }, 3 }, { 7, 9, 61, { 1, 2, 2 }, 54 } } },
    /* Readings fall into a stop: before its threads have stopped, and after. */
    { 17,
      { { 0, 0, 0, { 0 }, 0 },
        { 1, 0, 0, { 0 }, 0 },
        { 1, 200, 0, { 0 }, 0 },
        { 1, 200, 0, { 0 }, 0 },
        { 1, 200, 1, { 0, 0, 1 }, 201 } } },
    /* Several stops between readings count by their mean, once none of them goes on. */
    { 17, { { 0, 0, 0, { 0 }, 0 }, { 3, 3, 3, { 0 }, 0 }, { 4, 4, 44, { 3, 4, 4 }, 47 + 1 } } },
    /* The last of several stops goes on for long. The others do not count as long. */
    { 17,
      { { 0, 0, 0, { 0 }, 0 },
        { 3, 2, 2, { 0 }, 0 },
        { 3, 2, 2, { 0 }, 0 },
        { 3, 3, 902, { 2, 2, 3 }, 905 } } },
    /* Readings fall into three long stops in a row. The third has its bucket before its time, which
     * is in the sum nevertheless; the next stop counts with its own time alone. */
    { 17,
      { { 0, 0, 0, { 0 }, 0 },
        { 2, 2, 170, { 0 }, 0 },
        { 3, 3, 340, { 0, 2, 3 }, 343 },
        { 3, 3, 510, { 0, 2, 3 }, 513 },
        { 4, 3, 510, { 0, 2, 3 }, 513 },
        { 4, 4, 511, { 1, 3, 4 }, 515 } } },
    /* No stop follows several ones: they are over. */
    { 11,
      { { 0, 0, 0, { 0 }, 0 },
        { 2, 2, 4, { 0 }, 0 },
        { 2, 2, 4, { 0 }, 0 },
        { 2, 2, 4, { 0 }, 0 },
        { 2, 2, 4, { 0 }, 0 },
        { 2, 2, 4, { 0 }, 0 },
        { 2, 2, 4, { 2, 2, 2 }, 4 } } },
};

START_TEST(each_has_its_bucket)
{
    const struct step *steps = CASES[_i].steps;
    struct counters before = { .left_out = 0 }, now;
    struct pauses p = { .whole = { .open = 0 } };

    for (size_t i = 0; i < LOOKS && (i == 0 || steps[i].begun); i++) {
        now = (struct counters){ .safepoints = steps[i].begun,
                                 .safepoint_ns = steps[i].at_ms * MS,
                                 .safepoint_sync_ns = steps[i].sync_ms * MS };
        if (i > 0)
            pauses_add(&p, &before, &now, CASES[_i].jdk);
        before = now;
        ck_assert_uint_eq(up_to(&p.whole, 3 * NSEC_PER_MSEC), steps[i].whole[0]);
        ck_assert_uint_eq(up_to(&p.whole, 100 * NSEC_PER_MSEC), steps[i].whole[1]);
        ck_assert_uint_eq(all_of(&p.whole), steps[i].whole[2]);
        ck_assert_uint_eq(p.whole.sum_ns, steps[i].sum_ms * NSEC_PER_MSEC);
    }
    /* Of stops with a known time to reach the safepoint. */
    ck_assert_uint_eq(p.reach.sum_ns + p.reach.open_ns,
                      (uint64_t)(before.safepoint_sync_ns - steps[0].sync_ms * MS));
    ck_assert_uint_eq(all_of(&p.reach) + p.reach.open,
                      (uint64_t)(before.safepoints - steps[0].begun));
}
END_TEST

START_TEST(what_is_not_told_is_not_counted)
{
    const struct counters none = { .safepoints = COUNTERS_UNKNOWN,
                                   .safepoint_ns = COUNTERS_UNKNOWN,
                                   .safepoint_sync_ns = COUNTERS_UNKNOWN };
    const struct counters much = { .safepoints = INT64_MAX,
                                   .safepoint_ns = INT64_MAX,
                                   .safepoint_sync_ns = INT64_MAX };
    const struct counters little = { .safepoints = 1, .safepoint_ns = 1, .safepoint_sync_ns = 1 };
    struct pauses p = { .whole = { .open = 0 } };

    ck_assert_int_eq(counters_pause_ns(&much, 17), COUNTERS_UNKNOWN); /* not a number */
    ck_assert_int_eq(counters_pause_ns(&none, 8), COUNTERS_UNKNOWN);
    ck_assert_int_eq(counters_pause_ns(&little, 12), 1);
    ck_assert_int_eq(counters_pause_ns(&little, 13), 2);
    pauses_add(&p, &none, &much, 17);
    pauses_add(&p, &much, &little, 17); /* the counters fall */
    ck_assert_uint_eq(all_of(&p.whole) + p.whole.open + p.whole.sum_ns + p.whole.open_ns, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("pauses");

    tcase_add_loop_test(tc, each_has_its_bucket, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, what_is_not_told_is_not_counted);
    return suite_run_case("pauses", tc);
}
