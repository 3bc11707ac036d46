/* SPDX-License-Identifier: Apache-2.0 */
/* A history of bounded size, and the rate of allocation computed from it. */
#include "suite.h"

#include "discover/memory_history.h"

#define S NSEC_PER_SEC

static void add(struct memory_history *h, uint64_t at_ns, int64_t allocated)
{
    struct memory_point p = { .at_ns = at_ns,
                              .allocated = allocated,
                              .allocated_ns = allocated < 0 ? 0 : at_ns };

    memory_history_add(h, &p);
}

START_TEST(is_bounded_and_reaches_back)
{
    struct memory_history h = { .count = 0 };
    uint64_t step_ns = S;

    for (uint64_t i = 1; i <= 7200; i++) {
        add(&h, i * S, (int64_t)i);
        ck_assert_uint_le(h.count, MEMORY_HISTORY_MAX);
        ck_assert_uint_eq(h.last.at_ns, i * S);
        if (i == 200)
            ck_assert_uint_eq(h.count, 200);
        if (i == 3600) /* an hour, the longest time */
            ck_assert_uint_eq(h.points[0].at_ns, S);
        ck_assert_uint_ge(h.step_ns ? h.step_ns : S, step_ns);
        step_ns = h.step_ns ? h.step_ns : S;
    }
    ck_assert_uint_eq(step_ns, MEMORY_HISTORY_STEP_MAX_NS);
    ck_assert_uint_ge(h.points[0].at_ns, 3000 * S);
    ck_assert_uint_le(h.points[0].at_ns, (7200 - 3600) * S);
    for (size_t i = 1; i < h.count; i++)
        ck_assert_uint_eq(h.points[i].at_ns - h.points[i - 1].at_ns, MEMORY_HISTORY_STEP_MAX_NS);
    memory_history_deinit(&h);
    ck_assert_uint_eq(h.last.at_ns, 0);
}
END_TEST

START_TEST(takes_no_more_than_one_a_second)
{
    struct memory_history h = { .count = 0 };

    for (uint64_t i = 0; i < 50; i++)
        add(&h, S + i * (S / 10), (int64_t)i);
    ck_assert_uint_eq(h.count, 5);
    ck_assert_int_eq(h.last.allocated, 49);
    memory_history_deinit(&h);
}
END_TEST

START_TEST(says_a_rate)
{
    struct memory_history h = { .count = 0 };
    double rate = -1, seconds = -1;

    ck_assert(!memory_history_rate(&h, S, &rate, &seconds));
    add(&h, 10 * S, 1000);
    ck_assert(!memory_history_rate(&h, 10 * S, &rate, &seconds));
    add(&h, 11 * S, 3000); /* too close in time */
    ck_assert(!memory_history_rate(&h, 11 * S, &rate, &seconds));
    add(&h, 13 * S, 7000);
    ck_assert(memory_history_rate(&h, 13 * S, &rate, &seconds));
    ck_assert_double_eq_tol(rate, 2000, 1e-6);
    ck_assert_double_eq_tol(seconds, 2, 1e-6);
    ck_assert(memory_history_rate(&h, 73 * S, &rate, &seconds));
    ck_assert(!memory_history_rate(&h, 74 * S, &rate, &seconds)); /* the last point is too old */
    add(&h, 100 * S, 9000);                                       /* too far apart */
    ck_assert(!memory_history_rate(&h, 100 * S, &rate, &seconds));
    add(&h, 103 * S, COUNTERS_UNKNOWN);
    ck_assert(!memory_history_rate(&h, 103 * S, &rate, &seconds));
    memory_history_deinit(&h);
}
END_TEST

START_TEST(adds_up_what_is_known)
{
    struct counters c = { .code_cache_committed = 5, .allocated = COUNTERS_UNKNOWN };
    struct memory_point p;

    c.metaspace.committed = COUNTERS_UNKNOWN;
    for (size_t i = 0; i < COUNTERS_GENERATIONS_MAX; i++) {
        c.generations[i].whole.committed = i < 2 ? 100 : COUNTERS_UNKNOWN;
        for (size_t j = 0; j < COUNTERS_SPACES_MAX; j++)
            c.generations[i].spaces[j].used = i == 0 && j < 3 ? 7 : COUNTERS_UNKNOWN;
    }
    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++)
        c.collectors[i].count = c.collectors[i].time_ns = COUNTERS_UNKNOWN;
    p = memory_point_of(&c, 3, 4);
    ck_assert_uint_eq(p.at_ns, 3);
    ck_assert_uint_eq(p.rss_bytes, 4);
    ck_assert_int_eq(p.heap_committed, 200);
    ck_assert_int_eq(p.heap_used, 21);
    ck_assert_int_eq(p.metaspace, COUNTERS_UNKNOWN);
    ck_assert_int_eq(p.collections, COUNTERS_UNKNOWN);
    ck_assert_int_eq(p.code_cache, 5);
    c.generations[0].whole.committed = c.generations[1].whole.committed = INT64_MAX;
    ck_assert_int_eq(memory_point_of(&c, 3, 4).heap_committed, INT64_MAX);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memory_history");
    TCase *tc = tcase_create("memory_history");

    tcase_add_test(tc, is_bounded_and_reaches_back);
    tcase_add_test(tc, takes_no_more_than_one_a_second);
    tcase_add_test(tc, says_a_rate);
    tcase_add_test(tc, adds_up_what_is_known);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
