/* SPDX-License-Identifier: Apache-2.0 */
/* capture/probe/yields.c: hits are counted first, and as long as the probes stand; too many end
 * them. */
#include "fake_broker.h"
#include "suite.h"

#include "base/clock.h"
#include "capture/probe/yields.h"

static struct fake_broker *fake;
static struct broker *broker;
static struct yields_probe y;

static void setup(void)
{
    int fd;

    fake = fake_broker_start(&fd);
    ck_assert_int_eq(broker_new(fd, &broker), 0);
    y = (struct yields_probe){ .entry = { .id = { .host_pid = getpid() },
                                          .asked = { .there = true } } };
}

static void teardown(void)
{
    broker_free(broker);
    fake_broker_stop(fake);
}

/* A look, @ms after the last one, which finds @counts. */
static void look_at(uint64_t ms, struct yields_counts counts)
{
    if (y.looked_ns)
        y.looked_ns -= MIN(ms * NSEC_PER_MSEC, y.looked_ns - 1);
    if (y.over_ns)
        y.over_ns -= ms * NSEC_PER_MSEC;
    fake_broker_yields(fake, &counts);
    YIELDS.look(broker, &y.entry);
}

static void look(uint64_t ms, uint64_t hits, bool missed)
{
    look_at(ms, (struct yields_counts){ .hits = hits, .missed = missed });
}

static void expect_gone(void)
{
    ck_assert(!y.entry.asked.there && !yields_stand(&y));
    ck_assert_int_eq(y.entry.asked.reason.code, -EDQUOT);
    ck_assert_uint_eq(y.entry.asked.again_ns, UINT64_MAX);
    fake_broker_expect(fake, "probe_drop P yields 0\n");
}

START_TEST(a_trial_comes_first)
{
    look(0, 1000, false);
    ck_assert(!yields_stand(&y));
    look(50, 1500, false);
    ck_assert(!yields_stand(&y));
    look(200, 2000, false);
    ck_assert(yields_stand(&y));
    fake_broker_expect(fake, "");
}
END_TEST

START_TEST(too_many_in_the_trial_end_them_at_once)
{
    look(0, 1000, false);
    look(1, 1000 + YIELDS_PER_SECOND_MAX / 4, false);
    ck_assert_uint_eq(y.since_ns, 0);
    ck_assert_ptr_nonnull(strstr(y.entry.asked.reason.msg, "yield so often"));
    expect_gone();
}
END_TEST

/* Later, the waits that go on are sampled first. */
START_TEST(too_many_later_end_them_after_a_while)
{
    look(0, 0, false);
    look(300, 100, false);
    ck_assert(yields_stand(&y));
    look(1000, 100 + YIELDS_PER_SECOND_MAX, false);
    ck_assert(yields_stand(&y));
    look(1000, 200 + 3 * YIELDS_PER_SECOND_MAX, false);
    ck_assert(!yields_stand(&y) && y.over_ns && y.entry.asked.there);
    look(0, 0, false);
    ck_assert(y.entry.asked.there);
    look(300, 0, false);
    expect_gone();
}
END_TEST

START_TEST(a_lost_begin_begins_the_trial_again)
{
    look(0, 0, false);
    look(300, 10, true);
    ck_assert(!yields_stand(&y) && y.entry.asked.there);
    look(100, 20, false);
    ck_assert(!yields_stand(&y));
    look(300, 30, false);
    ck_assert(yields_stand(&y));
    look(100, 40, true);
    ck_assert(y.over_ns && !yields_stand(&y));
}
END_TEST

START_TEST(begins_that_are_always_lost_end_the_trial)
{
    look(0, 0, false);
    for (int i = 0; i < 40 && y.entry.asked.there; i++)
        look(300, 0, true);
    ck_assert_ptr_nonnull(strstr(y.entry.asked.reason.msg, "lost track"));
    expect_gone();
}
END_TEST

/* The message has the number of waits that had no room since the look before. */
START_TEST(waits_without_room_end_them)
{
    look_at(0, (struct yields_counts){ .refused = 30, .missed = true });
    look_at(300, (struct yields_counts){ .refused = 30 });
    look_at(300, (struct yields_counts){ .refused = 30 });
    look_at(300, (struct yields_counts){ .refused = 47, .missed = true });
    ck_assert(y.over_ns && !yields_stand(&y));
    ck_assert_ptr_nonnull(strstr(y.entry.asked.reason.msg, "no room for 17 of its waits"));
    look(300, 0, false);
    expect_gone();
}
END_TEST

/* The stacks of the threads may be described much later. */
START_TEST(trials_count_once_stacks_are_described)
{
    y.unread = true;
    look(0, 0, false);
    for (int i = 0; i < 40; i++)
        look(300, 0, true);
    ck_assert(y.entry.asked.there && !y.tries);
    y.unread = false;
    look(300, 0, false);
    look(300, 0, false);
    ck_assert(yields_stand(&y));
}
END_TEST

START_TEST(a_broker_that_does_not_answer_changes_nothing)
{
    look(0, 0, false);
    fake_broker_answer(fake, BROKER_YIELDS_OF, -ENOENT, 1);
    look(300, UINT64_MAX, true);
    ck_assert(y.entry.asked.there && !y.since_ns && !y.over_ns);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("yields_probe");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_trial_comes_first);
    tcase_add_test(tc, too_many_in_the_trial_end_them_at_once);
    tcase_add_test(tc, too_many_later_end_them_after_a_while);
    tcase_add_test(tc, a_lost_begin_begins_the_trial_again);
    tcase_add_test(tc, begins_that_are_always_lost_end_the_trial);
    tcase_add_test(tc, waits_without_room_end_them);
    tcase_add_test(tc, trials_count_once_stacks_are_described);
    tcase_add_test(tc, a_broker_that_does_not_answer_changes_nothing);
    return suite_run_case("yields_probe", tc);
}
