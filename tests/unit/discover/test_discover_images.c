/* SPDX-License-Identifier: Apache-2.0 */
/* discover: which image of a process a sample belongs to, with made-up side-band records. */
#include "discover_fixture.h"

START_TEST(keeps_images_apart_by_exec_records)
{
    struct discover *d = make(NODE, false);
    uint64_t t = clock_monotonic_ns();
    struct process *old, *new;

    old = discover_get(d, 60, 6100 * TICK_NS, 0, t, "sh");
    ck_assert_ptr_nonnull(old);
    t = clock_monotonic_ns() + 1000;
    tell(d, SIDEBAND_EXEC, 60, t, "sleep");
    new = discover_get(d, 60, 6100 * TICK_NS, 0, t + NSEC_PER_MSEC, "sleep");
    ck_assert_ptr_ne(old, new);
    ck_assert(old->exited && !new->exited);
    ck_assert_uint_eq(new->id.exec_no, old->id.exec_no + 1);
    ck_assert_uint_eq(new->exec_time_ns, t);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 0, t - 1, "x"), old);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 0, t + 2, "x"), new);
    ck_assert_ptr_eq(discover_get(d, 60, 0, 0, t - 1, "x"), old); /* no start time */
    ck_assert_ptr_eq(discover_find(d, 60), new);
    discover_poll(d, t + NSEC_PER_SEC);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 0, t - 1, "x"), old); /* kept for 2 s */
    discover_poll(d, t + 2 * NSEC_PER_SEC + 1);
    ck_assert_uint_eq(dropped, 1);
    end(d);
}
END_TEST

START_TEST(an_exec_in_the_middle_of_a_reading_is_one)
{
    struct discover *d = make(NODE, false);
    struct process *read = discover_find(d, 60), *next;

    ck_assert_ptr_nonnull(read);
    tell(d, SIDEBAND_EXEC, 60, asked_ns, "sleep"); /* reported only after the reading */
    next = discover_find(d, 60);
    ck_assert(next && next != read && read->exited);
    ck_assert_uint_eq(next->id.exec_no, read->id.exec_no + 1);
    end(d);
}
END_TEST

START_TEST(keeps_images_apart_by_exec_numbers)
{
    struct discover *d = make(NODE, false);
    uint64_t t = clock_monotonic_ns();
    struct process *a, *b, *c;

    a = discover_get(d, 60, 6100 * TICK_NS, 7, t, "sh");
    b = discover_get(d, 60, 6100 * TICK_NS, 8, t + 1000, "sleep"); /* no record yet */
    ck_assert(a && b && a != b);
    ck_assert(a->exited && a->replaced && !b->exited);
    ck_assert_uint_eq(a->exec_id, 7);
    ck_assert_uint_eq(b->exec_id, 8);
    tell(d, SIDEBAND_EXEC, 60, t + 500, "sleep"); /* here is the record: no third image */
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 8, t + 2000, "sleep"), b);
    ck_assert_uint_eq(b->exec_time_ns, t + 500);
    tell(d, SIDEBAND_EXEC, 60, clock_monotonic_ns() + 5000, "late");
    c = discover_get(d, 60, 6100 * TICK_NS, 9, clock_monotonic_ns() + 500000, "late");
    ck_assert(c != a && c != b);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 7, t + 1, "sh"), a);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 8, t + 1, "sh"), b);
    ck_assert_uint_eq(c->id.exec_no, 2);
    /* a sample older than all of them */
    c = discover_get(d, 60, 6100 * TICK_NS, 6, t - 1, "first");
    ck_assert(c && c->exited && c->replaced && c != a && c != b);
    ck_assert_str_eq(c->command, "first");
    ck_assert(!proc_id_equal(&c->id, &a->id) && !proc_id_equal(&c->id, &b->id));
    end(d);
}
END_TEST

START_TEST(gives_a_just_born_image_its_number)
{
    /* The kernel raises the exec number a moment after the record's time. */
    struct discover *d = make(NODE, false);
    struct process *old, *new;
    uint64_t t;

    old = discover_get(d, 60, 6100 * TICK_NS, 0, clock_monotonic_ns(), "sh");
    t = clock_monotonic_ns() + 1000;
    tell(d, SIDEBAND_EXEC, 60, t, "sleep");
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 3, t + 2000, "sh"), old);
    new = discover_get(d, 60, 6100 * TICK_NS, 4, t + 100000, "sleep");
    ck_assert_ptr_ne(new, old);
    ck_assert_uint_eq(old->exec_id, 3);
    ck_assert_uint_eq(new->exec_id, 4);
    ck_assert_uint_eq(d->count, 2);
    end(d);
}
END_TEST

START_TEST(names_what_is_gone_by_its_comm)
{
    struct discover *d = make(NODE, false);
    uint64_t t = clock_monotonic_ns();
    struct process *p = discover_get(d, 4711, 123 * TICK_NS, 1, t, "short\x1b");

    ck_assert_ptr_nonnull(p);
    ck_assert(p->exited);
    ck_assert_str_eq(p->comm, "short\xef\xbf\xbd");
    ck_assert_str_eq(p->command, "short\xef\xbf\xbd");
    ck_assert_ptr_eq(discover_get(d, 4711, 123 * TICK_NS, 1, t + 1, "other"), p);
    /* another process with this pid */
    ck_assert_ptr_ne(discover_get(d, 4711, 999 * TICK_NS, 1, t + 2, "next"), p);
    ck_assert(!p->replaced);
    ck_assert_ptr_eq(discover_get(d, 4711, 123 * TICK_NS, 1, t + 1, "other"), p);
    ck_assert_ptr_null(discover_get(d, 0, 0, 0, t, "swapper"));
    ck_assert_ptr_null(discover_get(d, -1, 0, 0, t, "x"));
    end(d);
}
END_TEST

START_TEST(keeps_an_image_of_before_an_exec_that_was_only_noted)
{
    /* The process was not looked up before. Then samples come of before and after its exec. */
    struct discover *d = make(NODE, false);
    uint64_t t = clock_monotonic_ns();
    struct process *old, *new;

    tell(d, SIDEBAND_FORK, 60, t, "");
    tell(d, SIDEBAND_EXEC, 60, t + NSEC_PER_MSEC, "sh");
    tell(d, SIDEBAND_EXEC, 60, t + 2 * NSEC_PER_MSEC, "sleep");
    ck_assert_uint_eq(d->count, 0);
    old = discover_get(d, 60, 6100 * TICK_NS, 5, t + NSEC_PER_MSEC + 500000, "sh");
    new = discover_get(d, 60, 6100 * TICK_NS, 6, t + 3 * NSEC_PER_MSEC, "sleep");
    ck_assert(old && new &&old != new);
    ck_assert(old->exited && old->replaced && !new->exited);
    ck_assert_str_eq(old->command, "sh");
    ck_assert_uint_eq(new->id.exec_no, 2);
    ck_assert_uint_eq(old->id.exec_no, 1);
    end(d);
}
END_TEST

START_TEST(revives_a_process_whose_first_thread_ended)
{
    struct discover *d = make(NODE, false);
    uint64_t t = clock_monotonic_ns();
    struct process *p = discover_get(d, 60, 6100 * TICK_NS, 1, t, "x");

    tell(d, SIDEBAND_EXIT, 60, t + 10, "");
    ck_assert(p->exited);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 1, t + 5, "x"), p);
    ck_assert(p->exited); /* a sample older than the end does not revive it */
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 1, t + NSEC_PER_SEC, "x"), p);
    ck_assert(!p->exited);
    end(d);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("discover_images");

    tcase_add_test(tc, keeps_images_apart_by_exec_records);
    tcase_add_test(tc, an_exec_in_the_middle_of_a_reading_is_one);
    tcase_add_test(tc, keeps_images_apart_by_exec_numbers);
    tcase_add_test(tc, gives_a_just_born_image_its_number);
    tcase_add_test(tc, names_what_is_gone_by_its_comm);
    tcase_add_test(tc, keeps_an_image_of_before_an_exec_that_was_only_noted);
    tcase_add_test(tc, revives_a_process_whose_first_thread_ended);
    tcase_set_timeout(tc, 60);
    return suite_run_case("discover_images", tc);
}
