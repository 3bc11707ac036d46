/* SPDX-License-Identifier: Apache-2.0 */
/* capture/looked_threads.c: the time of threads by place and state, estimated by passes over
 * them. */
#include "looked_threads_fixture.h"

START_TEST(a_thread_that_stays_costs_a_sample_a_minute)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    ck_assert_uint_eq(pass(&l, 1000, 1, LOOKS_PLACE, false, 0, 0), 0); /* the first pass */
    place(&l, 1, LOOKED_BLOCKED, 0);
    for (uint64_t i = 2; i <= 181; i++)
        pass(&l, i * 1000, 1, LOOKS_SAME, false, 0, 0);
    ck_assert_uint_eq(s.calls, 3);
    ck_assert_uint_eq(s.ns[1][LOOKED_BLOCKED], 180000 * MS);
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[1][LOOKED_BLOCKED], 180000 * MS);
    looked_threads_deinit(&l);
}
END_TEST

/* All places are written again. A thread that has not run keeps the time of its place until
 * then. */
START_TEST(a_place_stays_until_it_is_known_better)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 1, LOOKS_PLACE, false, 5, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    ck_assert_uint_eq(pass(&l, 2000, 8, LOOKS_PASSED, false, 5, 0), 0);
    ck_assert_uint_eq(pass(&l, 3000, 8, LOOKS_PLACE, false, 5, 0), 0);
    ck_assert_uint_eq(looked_threads_find(&l, 7)->pass, l.no);
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[1][LOOKED_BLOCKED], 2000 * MS);
    place(&l, 2, LOOKED_BLOCKED, 0);
    pass(&l, 4000, 1, LOOKS_SAME, false, 5, 0);
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[2][LOOKED_BLOCKED], 1000 * MS);
    ck_assert_uint_eq(l.lost_ns, 0);
    looked_threads_deinit(&l);
}
END_TEST

/* It has run, and waits with the same registers. Others stand neither for it nor it for them. */
START_TEST(a_thread_that_waits_as_before_stays_at_its_place)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    struct looks_entry again = {
        .host_pid = 5, .host_tid = 7, .ran_ns = 305 * MS, .found = LOOKS_PLACE, .alike = 1
    };

    pass(&l, 1000, 1, LOOKS_PLACE, false, 5, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    pass(&l, 2000, 8, LOOKS_ALIKE, false, 105, 0);
    pass(&l, 3000, 8, LOOKS_ALIKE, false, 205, 0);
    ck_assert(looked_thread_waits(&l, looked_threads_find(&l, 7)));
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[1][LOOKED_BLOCKED], 1800 * MS);
    ck_assert_uint_eq(looked_threads_known_ns(&l), 3000 * MS);
    ck_assert_uint_eq(pass_of(&l, 4000, 8, &again), 900 * MS); /* not 8 times as long */
    ck_assert(!looked_threads_find(&l, 7)->placed);
    ck_assert_uint_eq(l.lost_ns, 0);
    looked_threads_forget(&l);
    pass(&l, 5000, 1, LOOKS_ALIKE, false, 405, 0);
    ck_assert(l.forgotten);
    looked_threads_deinit(&l);
}
END_TEST

/* The thread has run and waits again, and passes have no time for its stack. */
START_TEST(a_place_that_it_left_counts_for_a_while)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 1, LOOKS_PLACE, false, 5, 0);
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    place(&l, 1, LOOKED_BLOCKED, 0);
    ck_assert(looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 2000, 8, LOOKS_PASSED, false, 6, 0);
    ck_assert(!looked_threads_find(&l, 7)->placed);
    ck_assert(looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 3000, 8, LOOKS_RUNS, false, 7, 0);
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 4000, 8, LOOKS_LEFT, false, 8, 0);
    ck_assert(looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 31000, 8, LOOKS_PASSED, false, 9, 0);
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    place(&l, 2, LOOKED_BLOCKED, 0);
    looked_threads_forget(&l); /* the stack is no longer valid */
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    looked_threads_deinit(&l);
}
END_TEST

/* A thread that waits for a processor waits for nothing else, wherever it was seen before. */
START_TEST(a_queued_thread_runs)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 8, LOOKS_PASSED, true, 5, 0); /* its place was never known */
    ck_assert(looked_threads_find(&l, 7)->runs);
    pass(&l, 2000, 1, LOOKS_PLACE, false, 6, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    pass(&l, 3000, 1, LOOKS_SAME, true, 6, 1);
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 4000, 1, LOOKS_PASSED, true, 7, 2);
    ck_assert(looked_threads_find(&l, 7)->runs);
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 5000, 1, LOOKS_PASSED, false, 8, 3);
    ck_assert(looked_thread_waits(&l, looked_threads_find(&l, 7)));
    looked_threads_deinit(&l);
}
END_TEST

/* In each second the thread runs 0.2 s, waits 0.1 s for a processor, and blocks at one of two
 * places. */
START_TEST(time_goes_by_state_to_where_it_is_met)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    uint64_t runnable_ns = 0;

    pass(&l, 1000, 1, LOOKS_PLACE, false, 0, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    for (uint64_t i = 1; i <= 100; i++) {
        bool runs = i % 5 == 0, queued = i % 10 == 1;
        uint64_t ns =
            pass(&l, (i + 1) * 1000, 1, runs ? LOOKS_RUNS : LOOKS_PLACE, queued, 200 * i, 100 * i);

        if (runs)
            continue;
        place(&l, 1 + i % 2, queued ? LOOKED_RUNNABLE : LOOKED_BLOCKED, ns);
        runnable_ns += queued ? ns : 0;
    }
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[1][LOOKED_RUNNABLE] + s.ns[2][LOOKED_RUNNABLE], runnable_ns);
    ck_assert_uint_ge(runnable_ns, 9000 * MS); /* of 10 s; the rest comes with the next pass */
    ck_assert_uint_le(runnable_ns, 10000 * MS);
    ck_assert_uint_ge(s.ns[1][LOOKED_BLOCKED] + s.ns[2][LOOKED_BLOCKED], 69000 * MS);
    ck_assert_uint_le(s.ns[1][LOOKED_BLOCKED] + s.ns[2][LOOKED_BLOCKED], 70000 * MS);
    looked_threads_deinit(&l);
}
END_TEST

/* Three of four passes skip the thread. The fourth stands for all, and no time is lost. */
/* Its stack may be delivered late. */
START_TEST(a_thread_is_found_before_the_next_pass_meets_it)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    struct looks_entry before = { .host_pid = 5, .host_tid = 6, .found = LOOKS_RUNS };

    pass(&l, 1000, 1, LOOKS_PLACE, false, 0, 0);
    looked_threads_begin(&l, 2000 * MS, 1, 1, 0);
    looked_threads_take(&l, &before, OWNER);
    place(&l, 1, LOOKED_BLOCKED, 0);
    before.host_tid = 8; /* thread 7 has ended */
    looked_threads_take(&l, &before, OWNER);
    ck_assert_ptr_null(looked_threads_find(&l, 7));
    looked_threads_end(&l);
    ck_assert_ptr_null(looked_threads_find(&l, 7));
    ck_assert_ptr_nonnull(looked_threads_find(&l, 8));
    looked_threads_deinit(&l);
}
END_TEST

START_TEST(a_share_stands_for_all)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    uint64_t ns = 0;

    pass(&l, 1000, 1, LOOKS_PASSED, false, 0, 0);
    for (uint64_t i = 2; i <= 401; i++)
        ns += pass(&l, i * 1000, 4, i % 4 ? LOOKS_PASSED : LOOKS_PLACE, false, i, 0);
    ck_assert_uint_ge(ns, 399000 * MS);
    ck_assert_uint_le(ns, 401000 * MS);
    ck_assert_uint_eq(l.lost_ns, 0);
    pass(&l, 402000, 1, LOOKS_PASSED, false, 402, 0); /* no pass stands for this one */
    ck_assert_uint_gt(l.lost_ns, 900 * MS);
    looked_threads_deinit(&l);
}
END_TEST

/* A pass that ran out of time does not find a thread's place. The next pass that does gets all the
 * time. */
START_TEST(time_of_a_pass_that_was_cut_short_stays_owed)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 4, LOOKS_LEFT, false, 0, 0);
    pass(&l, 2000, 4, LOOKS_LEFT, false, 1, 0);
    pass(&l, 3000, 4, LOOKS_LEFT, false, 2, 0);
    ck_assert_uint_eq(pass(&l, 4000, 1, LOOKS_PLACE, false, 3, 0), 2997 * MS);
    ck_assert_uint_eq(l.lost_ns, 0);
    for (uint64_t i = 5; i <= 24; i++)
        pass(&l, i * 1000, 4, LOOKS_LEFT, false, 3, 0);
    ck_assert_uint_eq(l.lost_ns, 20000 * MS - LOOKED_OWED_MAX_NS);
    looked_threads_deinit(&l);
}
END_TEST

/* The program reports an unchanged place, but the place is no longer known. */
START_TEST(a_forgotten_place_is_noticed_and_its_time_stays_owed)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 1, LOOKS_PLACE, false, 0, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    pass(&l, 2000, 1, LOOKS_SAME, false, 0, 0);
    ck_assert(!l.forgotten);
    looked_threads_forget(&l);
    pass(&l, 3000, 1, LOOKS_SAME, false, 0, 0);
    ck_assert(l.forgotten);
    ck_assert_uint_eq(pass(&l, 4000, 1, LOOKS_PLACE, false, 0, 0), 2000 * MS);
    ck_assert(!l.forgotten);
    ck_assert_uint_eq(l.lost_ns, 0);
    looked_threads_deinit(&l);
}
END_TEST

/* For a minute there was no pass. Little of that time counts, for new and known threads. */
START_TEST(a_long_time_without_a_pass_is_lost_and_counted)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    looked_threads_begin(&l, 1000 * MS, 1, 1, 0);
    looked_threads_end(&l);
    ck_assert_uint_eq(pass(&l, 61000, 1, LOOKS_PLACE, false, 0, 0), LOOKED_OWED_MAX_NS);
    ck_assert_uint_eq(l.lost_ns, 60000 * MS - LOOKED_OWED_MAX_NS);
    ck_assert_uint_eq(pass(&l, 121000, 1, LOOKS_PLACE, false, 1, 0), LOOKED_OWED_MAX_NS);
    ck_assert_uint_eq(l.lost_ns, 119999 * MS - 2 * LOOKED_OWED_MAX_NS);
    looked_threads_deinit(&l);
}
END_TEST

/* Threads that each wait for a second, one after another. Each ends before the second pass after
 * its start. Those that passes meet stand for the others. */
START_TEST(a_new_thread_stands_for_those_between_passes)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 1, LOOKS_PLACE, false, 0, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    looked_threads_begin(&l, 2000 * MS, 1, 1, 0);
    looked_threads_end(&l); /* the thread has ended */
    ck_assert_ptr_null(looked_threads_find(&l, 7));
    ck_assert_uint_eq(pass(&l, 3500, 1, LOOKS_PLACE, false, 0, 0), 1500 * MS);
    ck_assert_uint_eq(pass(&l, 4000, 1, LOOKS_PLACE, false, 0, 0), 500 * MS);
    ck_assert_uint_eq(pass(&l, 5000, 1, LOOKS_RUNS, false, 900, 0), 0);
    ck_assert_uint_eq(pass(&l, 6000, 1, LOOKS_RUNS, false, 1800, 0), 0);
    ck_assert_uint_eq(pass(&l, 7000, 1, LOOKS_PLACE, false, 2000, 0), (100 + 100 + 800) * MS);
    looked_threads_deinit(&l);
}
END_TEST

/* Each pass may find the threads of other JVMs, as many as before. */
START_TEST(each_pass_has_its_jvms)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    struct looks_entry e = { .host_tid = 7, .found = LOOKS_RUNS };

    ck_assert_ptr_nonnull(looked_threads_pids(&l)); /* no thread is known yet */
    for (uint32_t i = 1; i <= 3; i++) {
        e.host_pid = i;
        pass_of(&l, i * 1000, 1, &e);
        ck_assert_uint_eq(looked_threads_pids(&l)[0], i);
    }
    looked_threads_deinit(&l);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("looked_threads");

    tcase_add_test(tc, a_thread_that_stays_costs_a_sample_a_minute);
    tcase_add_test(tc, a_place_stays_until_it_is_known_better);
    tcase_add_test(tc, a_thread_that_waits_as_before_stays_at_its_place);
    tcase_add_test(tc, a_place_that_it_left_counts_for_a_while);
    tcase_add_test(tc, a_queued_thread_runs);
    tcase_add_test(tc, time_goes_by_state_to_where_it_is_met);
    tcase_add_test(tc, a_thread_is_found_before_the_next_pass_meets_it);
    tcase_add_test(tc, a_share_stands_for_all);
    tcase_add_test(tc, time_of_a_pass_that_was_cut_short_stays_owed);
    tcase_add_test(tc, a_forgotten_place_is_noticed_and_its_time_stays_owed);
    tcase_add_test(tc, a_long_time_without_a_pass_is_lost_and_counted);
    tcase_add_test(tc, a_new_thread_stands_for_those_between_passes);
    tcase_add_test(tc, each_pass_has_its_jvms);
    return suite_run_case("looked_threads", tc);
}
