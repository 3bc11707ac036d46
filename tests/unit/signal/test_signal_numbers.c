/* SPDX-License-Identifier: Apache-2.0 */
/* An hour of numbers in limited memory, and the values computed from them. */
#include "suite.h"

#include "signal/watched.h"

static void add(struct numbers *n, uint64_t at_s, double cpu_ns, double rss)
{
    struct number_reading r;

    reading_clear(&r);
    r.v[NUMBER_CPU_NS] = cpu_ns;
    r.v[NUMBER_RSS_BYTES] = rss;
    ck_assert(numbers_add(n, at_s * NSEC_PER_SEC, &r));
}

START_TEST(counts_are_differences)
{
    struct numbers n = { .count = 0 };

    ck_assert(isnan(numbers_last(&n, NUMBER_RSS_BYTES)));
    add(&n, 10, 5e9, 100);
    ck_assert_uint_eq(n.count, 0);
    ck_assert_double_eq(numbers_last(&n, NUMBER_RSS_BYTES), 100);
    ck_assert(isnan(numbers_share(&n, NUMBER_CPU_NS, 30)));
    add(&n, 20, 10e9, 200);
    ck_assert(isnan(numbers_share(&n, NUMBER_CPU_NS, 30))); /* 10 s are too short for 30 s */
    add(&n, 30, 15e9, 300);
    ck_assert_double_eq_tol(numbers_share(&n, NUMBER_CPU_NS, 30), 0.5, 1e-6);
    ck_assert_double_eq_tol(numbers_sum(&n, NUMBER_CPU_NS, 30), 10e9, 1e3);
    ck_assert_double_eq_tol(numbers_mean(&n, NUMBER_RSS_BYTES, 30), 250, 1e-6);
    ck_assert_double_eq(numbers_max(&n, NUMBER_RSS_BYTES, 30), 300);
    ck_assert(isnan(numbers_sum(&n, NUMBER_COLLECTIONS, 30)));
    add(&n, 40, 1e9, 300); /* a new JVM: the time before is unknown */
    ck_assert_double_eq_tol(numbers_share(&n, NUMBER_CPU_NS, 30), 0.5, 1e-6);
    numbers_deinit(&n);
}
END_TEST

/* A counter of pauses rises when a pause ends, also for what was before the last reading. */
START_TEST(pauses_take_no_more_than_the_time)
{
    struct numbers n = { .count = 0 };
    struct number_reading r;

    reading_clear(&r);
    for (uint64_t i = 1; i <= 8; i++) {
        r.v[NUMBER_COLLECTION_NS] = i < 7 ? 0 : i < 8 ? 40e9 : 42e9;
        r.v[NUMBER_CPU_NS] = i < 7 ? 0 : 80e9; /* of many processors */
        ck_assert(numbers_add(&n, i * 10 * NSEC_PER_SEC, &r));
    }
    ck_assert_double_eq_tol(numbers_share(&n, NUMBER_COLLECTION_NS, 30), 22.0 / 30, 1e-6);
    ck_assert_double_eq_tol(numbers_share(&n, NUMBER_COLLECTION_NS, 50), 42.0 / 50, 1e-6);
    ck_assert_double_eq_tol(numbers_sum(&n, NUMBER_COLLECTION_NS, 60), 42e9, 1e4);
    ck_assert_double_gt(numbers_share(&n, NUMBER_CPU_NS, 30), 2);
    r.v[NUMBER_COLLECTION_NS] += 1e300;
    ck_assert(numbers_add(&n, 90 * NSEC_PER_SEC, &r));
    for (size_t i = 0; i < n.count; i++)
        ck_assert_double_le((double)numbers_at(&n, i)->v[NUMBER_COLLECTION_NS], 10e9);
    numbers_deinit(&n);
}
END_TEST

/* Where the files of a cgroup are not read, pressure is that of the node, which has waited longer
 * since its start. That is no wait of this JVM, and neither are kills in another cgroup. */
START_TEST(counters_of_another_cgroup_are_no_rise)
{
    static const uint64_t CGROUPS[] = { 7, 7, 7, 7, 0, 0, 8 };
    struct numbers n = { .count = 0 };
    struct number_reading r;

    reading_clear(&r);
    for (size_t i = 0; i < ARRAY_SIZE(CGROUPS); i++) {
        r.cgroup = CGROUPS[i];
        r.v[NUMBER_MEMORY_PRESSURE_NS] = (CGROUPS[i] ? 1e9 : 9e12) + (double)i * 1e9;
        r.v[NUMBER_OOM_KILLS] = CGROUPS[i] == 8 ? 5 : 1;
        r.v[NUMBER_CPU_NS] = (double)i * 1e9;
        ck_assert(numbers_add(&n, (i + 1) * 10 * NSEC_PER_SEC, &r));
    }
    ck_assert_double_eq_tol(numbers_share(&n, NUMBER_MEMORY_PRESSURE_NS, 60), 0.1, 1e-6);
    ck_assert_double_eq(numbers_sum(&n, NUMBER_OOM_KILLS, 60), 0);
    ck_assert_double_eq_tol(numbers_sum(&n, NUMBER_CPU_NS, 60), 6e9, 1e3);
    numbers_deinit(&n);
}
END_TEST

START_TEST(an_hour_is_kept)
{
    struct numbers n = { .count = 0 };

    for (uint64_t i = 1; i <= 3 * NUMBERS_POINTS_MAX; i++) {
        add(&n, i * 10, (double)i * 1e9, (double)i);
        ck_assert_uint_le(n.count, NUMBERS_POINTS_MAX);
    }
    ck_assert_uint_eq(n.count, NUMBERS_POINTS_MAX);
    ck_assert_double_eq((double)numbers_at(&n, n.count - 1)->v[NUMBER_RSS_BYTES],
                        3 * NUMBERS_POINTS_MAX);
    ck_assert_uint_eq(numbers_at(&n, n.count - 1)->at_ns - numbers_at(&n, 0)->at_ns,
                      (NUMBERS_POINTS_MAX - 1) * 10 * NSEC_PER_SEC);
    ck_assert_uint_ge(numbers_at(&n, n.count - 1)->at_ns - numbers_at(&n, 0)->at_ns,
                      3600 * NSEC_PER_SEC);
    for (size_t i = 1; i < n.count; i++)
        ck_assert_uint_eq(numbers_at(&n, i)->at_ns - numbers_at(&n, i - 1)->at_ns,
                          10 * NSEC_PER_SEC);
    ck_assert_uint_eq(numbers_within(&n, 60), 6);
    ck_assert_uint_eq(numbers_within(&n, 1e9), NUMBERS_POINTS_MAX);
    numbers_deinit(&n);
}
END_TEST

START_TEST(trends)
{
    struct numbers n = { .count = 0 };
    struct trend t;

    for (uint64_t i = 1; i <= 4; i++)
        add(&n, i * 10, 0, (double)(100 + 5 * i));
    ck_assert(!numbers_trend(&n, NUMBER_RSS_BYTES, NUMBERS, 60, &t)); /* too short */
    for (uint64_t i = 5; i <= 200; i++)
        add(&n, i * 10, 0, (double)(100 + 5 * i));
    ck_assert(numbers_trend(&n, NUMBER_RSS_BYTES, NUMBERS, 60, &t));
    ck_assert_uint_eq(t.points, 6);
    ck_assert_double_eq_tol(t.per_second, 0.5, 1e-6);
    ck_assert_double_eq_tol(t.agreement, 1, 1e-9);
    ck_assert(t.above_all);
    ck_assert(numbers_trend(&n, NUMBER_RSS_BYTES, NUMBERS, 1800, &t));
    ck_assert_uint_le(t.points, NUMBERS_TREND_POINTS);
    ck_assert_double_eq_tol(t.last, 1100, 1e-6);
    ck_assert_double_eq_tol(t.per_second, 0.5, 1e-3);
    ck_assert(!numbers_trend(&n, NUMBER_RSS_BYTES, NUMBER_COLLECTIONS, 60, &t)); /* no rise */
    add(&n, 2010, 0, 50);
    ck_assert(numbers_trend(&n, NUMBER_RSS_BYTES, NUMBERS, 60, &t));
    ck_assert(!t.above_all);
    ck_assert_double_lt(t.agreement, 1);
    numbers_deinit(&n);
}
END_TEST

/* Adds a point in which @count collections had happened, the last of which left @heap bytes. */
static void add_collections(struct numbers *n, uint64_t at_s, double count, double heap)
{
    struct number_reading r;

    reading_clear(&r);
    r.v[NUMBER_COLLECTIONS] = count;
    r.v[NUMBER_HEAP_BYTES] = heap;
    ck_assert(numbers_add(n, at_s * NSEC_PER_SEC, &r));
}

/* What a collection left holds until the next one, also over the begin of the window. A rise that
 * began after an idle time is no rise of that time. */
static const struct {
    uint64_t at_s[7];
    bool known; /* the trend of 600 s */
} COLLECTED[] = { { { 1000, 1300, 1450, 1480, 1510, 1540, 1620 }, true },
                  { { 1000, 1570, 1580, 1590, 1600, 1610, 1620 }, false } };

START_TEST(the_collection_before_the_window_counts)
{
    const uint64_t *at_s = COLLECTED[_i].at_s;
    struct numbers n = { .count = 0 };
    struct trend t;
    size_t done = 0;

    for (uint64_t s = 500; s <= 1810; s += 10) {
        done += done < ARRAY_SIZE(COLLECTED[0].at_s) && at_s[done] == s;
        add_collections(&n, s, 5 + (double)done, 1e6 * (double)done);
        if (s != 1620)
            continue;
        ck_assert_int_eq(numbers_trend(&n, NUMBER_HEAP_BYTES, NUMBER_COLLECTIONS, 600, &t),
                         COLLECTED[_i].known);
        if (!COLLECTED[_i].known)
            continue;
        ck_assert_uint_eq(t.points, ARRAY_SIZE(COLLECTED[0].at_s));
        ck_assert_double_eq_tol(t.seconds, 620, 1e-6);
        ck_assert_double_eq_tol(t.agreement, 1, 1e-9);
    }
    /* Later, the first collection is too old, and what is left is too short. */
    ck_assert(!numbers_trend(&n, NUMBER_HEAP_BYTES, NUMBER_COLLECTIONS, 600, &t));
    numbers_deinit(&n);
}
END_TEST

/* Each rise counts once. The count before the first reading is unknown. */
START_TEST(rises_are_taken_once)
{
    struct watched w = { .p = NULL };
    struct numbers *n = &w.numbers;

    reading_clear(&w.taken);
    ck_assert_uint_eq(watched_take_rise(&w, NUMBER_CPU_NS), 0);
    add(n, 10, 5e9, 100);
    ck_assert_uint_eq(watched_take_rise(&w, NUMBER_CPU_NS), 0);
    add(n, 20, 6e9, 100);
    add(n, 30, 8e9, 100);
    ck_assert_uint_eq(watched_take_rise(&w, NUMBER_CPU_NS), 3000000000);
    ck_assert_uint_eq(watched_take_rise(&w, NUMBER_CPU_NS), 0);
    ck_assert_uint_eq(watched_take_rise(&w, NUMBER_COLLECTIONS), 0);
    add(n, 40, 1e9, 100); /* a new JVM */
    ck_assert_uint_eq(watched_take_rise(&w, NUMBER_CPU_NS), 0);
    add(n, 50, 9e18, 100);
    ck_assert_uint_eq(watched_take_rise(&w, NUMBER_CPU_NS), (uint64_t)WATCHED_RISE_MOST);
    numbers_deinit(n);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("numbers");

    tcase_add_test(tc, counts_are_differences);
    tcase_add_test(tc, pauses_take_no_more_than_the_time);
    tcase_add_test(tc, counters_of_another_cgroup_are_no_rise);
    tcase_add_test(tc, an_hour_is_kept);
    tcase_add_test(tc, trends);
    tcase_add_loop_test(tc, the_collection_before_the_window_counts, 0, ARRAY_SIZE(COLLECTED));
    tcase_add_test(tc, rises_are_taken_once);
    return suite_run_case("numbers", tc);
}
