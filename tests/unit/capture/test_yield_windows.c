/* SPDX-License-Identifier: Apache-2.0 */
/* capture/yield_windows.c: no time of a virtual thread counts twice, by probes and by looking. */
#include "suite.h"

#include "capture/yield_windows.h"

static struct yield_windows windows;

static const struct proc_id ONE = { .host_pid = 7, .start_ticks = 1 },
                            AGAIN = { .host_pid = 7, .start_ticks = 2 };

static void reset(void)
{
    windows = (struct yield_windows){ 0 };
}

START_TEST(parts_of_both_ways_add_up)
{
    struct yield_window *w = yield_window_begin(&windows, &ONE, 100);

    w->until_ns = 200;
    for (uint64_t from = 50; from < 250; from += 7) {
        for (uint64_t to = from; to < 260; to += 11)
            ck_assert_uint_eq(yield_window_part(w, true, from, to) +
                                  yield_window_part(w, false, from, to),
                              to - from);
    }
    ck_assert_uint_eq(yield_window_part(w, true, 50, 150), 50);
    ck_assert_uint_eq(yield_window_part(w, false, 50, 150), 50);
    ck_assert_uint_eq(yield_window_part(w, true, 150, 120), 0);
}
END_TEST

START_TEST(without_probes_all_time_is_by_looking)
{
    ck_assert_uint_eq(yield_window_part(NULL, false, 50, 150), 100);
    ck_assert_uint_eq(yield_window_part(NULL, true, 50, 150), 0);
    ck_assert(!yield_window_takes(NULL, &(struct sample_record){ .time_ns = 1 }));
}
END_TEST

/* A wait that the look at the end has counted ends later: its probe's sample does not count. */
START_TEST(a_wait_counts_once_at_the_end)
{
    struct yield_window *w = yield_window_begin(&windows, &ONE, 100);
    struct sample_record early = { .time_ns = 290 }, late = { .time_ns = 310 },
                         look = { .time_ns = 300, .flush = 5 };

    ck_assert(yield_window_takes(w, &early) && yield_window_takes(w, &late));
    ck_assert(!yield_window_takes(w, &look)); /* another capture's */
    w->closing_no = 5;
    w->cutoff_ns = 300;
    ck_assert(yield_window_takes(w, &early) && yield_window_takes(w, &look));
    ck_assert(!yield_window_takes(w, &late));
}
END_TEST

/* Looks sample the image that an exec has made. */
START_TEST(an_exec_ends_a_window)
{
    struct yield_window *w = yield_window_begin(&windows, &ONE, 100);
    struct sample_record early = { .time_ns = 190 }, late = { .time_ns = 210 };

    ck_assert(!yield_window_replace(&windows, &ONE, 200));
    ck_assert_uint_eq(yield_window_part(w, false, 150, 300), 0);
    ck_assert(yield_window_replace(&windows, &AGAIN, 200));
    ck_assert(!yield_window_replace(&windows, &AGAIN, 250));
    ck_assert_uint_eq(yield_window_part(w, false, 150, 300), 100);
    ck_assert_uint_eq(yield_window_part(w, true, 150, 300), 50);
    ck_assert(yield_window_takes(w, &early) && !yield_window_takes(w, &late));
}
END_TEST

START_TEST(windows_are_bounded_and_of_one_image)
{
    struct proc_id id = ONE;

    ck_assert_ptr_eq(yield_window_begin(&windows, &ONE, 100),
                     yield_window_begin(&windows, &ONE, 150));
    ck_assert_uint_eq(yield_window_find(&windows, 7)->from_ns, 100);
    ck_assert_ptr_null(yield_window_begin(&windows, &AGAIN, 100));
    while (windows.count < YIELDS_MAX) {
        id.host_pid++;
        ck_assert_ptr_nonnull(yield_window_begin(&windows, &id, 100));
    }
    id.host_pid++;
    ck_assert_ptr_null(yield_window_begin(&windows, &id, 100));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("yield_windows");

    tcase_add_checked_fixture(tc, reset, NULL);
    tcase_add_test(tc, parts_of_both_ways_add_up);
    tcase_add_test(tc, without_probes_all_time_is_by_looking);
    tcase_add_test(tc, a_wait_counts_once_at_the_end);
    tcase_add_test(tc, an_exec_ends_a_window);
    tcase_add_test(tc, windows_are_bounded_and_of_one_image);
    return suite_run_case("yield_windows", tc);
}
