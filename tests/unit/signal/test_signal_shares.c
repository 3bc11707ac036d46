/* SPDX-License-Identifier: Apache-2.0 */
/* Which JVMs are watched if there are too many. */
#include "../discover/discover_fixture.h"

#include "signal/signal.h"

#include <signal.h>

#define CROWD 666 /* an owner of many JVMs */
#define LIVED_NS (3600 * NSEC_PER_SEC)

static char empty_folder[] = "/tmp/flamed-test-XXXXXX";
static struct discover *d;
static struct signals *s;
static size_t shown;

static struct process *add_jvm(int32_t pid, uint64_t owner)
{
    uint64_t start_ns = clock_ns(CLOCK_BOOTTIME) - LIVED_NS, now_ns = clock_monotonic_ns();
    struct process *p = discover_get(d, pid, start_ns, 1, now_ns, "java");

    ck_assert_ptr_nonnull(p);
    p->jvm = JVM_UNSUPPORTED;
    p->exited = false; /* it counts as running */
    image_of(p)->end_ns = UINT64_MAX;
    p->payer = owner;
    return p;
}

/* Ends @p, as discover/ does. */
static void end_jvm(struct process *p)
{
    image_end(d, image_of(p), clock_monotonic_ns(), /* replaced= */ false);
    ck_assert(p->exited);
}

static void poll_after(uint64_t ns)
{
    static uint64_t now_ns;

    now_ns = MAX(now_ns, clock_monotonic_ns()) + ns;
    signals_poll(s, now_ns);
}

static void poll_again(void)
{
    poll_after(2 * NSEC_PER_SEC);
}

static void count_of(void *cookie, const struct signal *signal)
{
    const uint64_t *owner = cookie;

    shown += signal->process->payer == *owner;
}

START_TEST(a_crowd_leaves_room_for_others)
{
    struct signals_stats stats;
    struct process *p;

    for (int32_t i = 0; i < SIGNAL_JVMS_MAX + 100; i++)
        add_jvm(1000 + i, CROWD);
    poll_again();
    signals_stats(s, &stats);
    ck_assert_uint_eq(stats.jvms, SIGNAL_JVMS_MAX);
    ck_assert_uint_eq(stats.left_out, 100);
    p = add_jvm(9000, 7);
    ck_assert_uint_eq(p->pins, 0);
    for (size_t i = 0; i < 3; i++) {
        poll_after(10 * NSEC_PER_SEC); /* the list is made again */
        signals_stats(s, &stats);
        ck_assert_uint_eq(stats.jvms, SIGNAL_JVMS_MAX);
        ck_assert_uint_eq(stats.left_out, 101);
        ck_assert_uint_eq(p->pins, 1); /* a watched JVM is pinned */
    }
}
END_TEST

START_TEST(ended_ones_of_a_crowd_leave_those_of_others)
{
    uint64_t crowd = CROWD, other = 7;
    struct process *all[3 * SIGNAL_ENDED_MAX];
    struct signals_stats stats;

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) /* the first and oldest is another's */
        all[i] = add_jvm(1000 + (int32_t)i, i ? crowd : other);
    poll_again();
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        end_jvm(all[i]);
        if (i == 0)
            poll_again();
    }
    for (size_t i = 0; i < 100; i++)
        poll_again();
    shown = 0;
    signals_each(s, NULL, count_of, &crowd);
    ck_assert_uint_eq(shown, SIGNAL_ENDED_MAX - 1);
    shown = 0;
    signals_each(s, NULL, count_of, &other);
    ck_assert_uint_eq(shown, 1);
    signals_stats(s, &stats);
    ck_assert_uint_eq(stats.ends_dropped, ARRAY_SIZE(all) - SIGNAL_ENDED_MAX);
}
END_TEST

static uint64_t slept_ns; /* how long the system has slept, as the test says */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    int r = __real_clock_gettime(clock, ret);

    if (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME)
        ret->tv_sec += (time_t)(slept_ns / NSEC_PER_SEC);
    return r;
}

static void see_since(void *cookie, const struct signal *signal)
{
    *(uint64_t *)cookie = signal->since_ns;
}

/* The system falls asleep after a JVM has ended. */
START_TEST(an_end_before_a_sleep_stays)
{
    struct process *p = add_jvm(1000, 7);
    uint64_t before_ns = 0, after_ns = 0;

    poll_again();
    end_jvm(p);
    for (size_t i = 0; i < 20; i++)
        poll_again();
    signals_each(s, NULL, see_since, &before_ns);
    slept_ns = 7200 * NSEC_PER_SEC;
    poll_again();
    signals_each(s, NULL, see_since, &after_ns);
    slept_ns = 0;
    ck_assert_uint_gt(before_ns, 0);
    ck_assert_uint_gt(after_ns, before_ns - NSEC_PER_SEC);
    ck_assert_uint_lt(after_ns, before_ns + NSEC_PER_SEC);
}
END_TEST

static void count_past(void *cookie, const struct signal *signal)
{
    ck_assert_str_eq(signal->rule->name, "ended");
    ck_assert_uint_ne(signal->until_ns, 0);
    ck_assert_uint_eq(signal->times, 1);
    ++*(size_t *)cookie;
}

START_TEST(an_end_is_past_for_an_hour)
{
    uint64_t owner = 7;
    struct process *p = add_jvm(1000, owner);
    size_t past = 0;

    poll_again();
    end_jvm(p);
    for (size_t i = 0; i < 20; i++)
        poll_again();
    shown = 0;
    signals_each(s, NULL, count_of, &owner);
    signals_each_past(s, count_past, &past);
    ck_assert_uint_eq(shown, 1);
    ck_assert_uint_eq(past, 0);
    poll_after(SIGNAL_ENDED_NS);
    shown = 0;
    signals_each(s, NULL, count_of, &owner);
    signals_each_past(s, count_past, &past);
    ck_assert_uint_eq(shown, 0);
    ck_assert_uint_eq(past, 1);
    poll_after(SIGNAL_PAST_NS);
    signals_each_past(s, count_past, &past);
    ck_assert_uint_eq(past, 1);
    ck_assert_uint_eq(p->pins, 0);
}
END_TEST

static int status = -1; /* of JVMs that end; -1: is not known */

bool __wrap_exit_status_of(int pidfd, int *ret);
bool __wrap_exit_status_of(int pidfd, int *ret)
{
    (void)pidfd;
    *ret = status;
    return status >= 0;
}

static void replace(void *cookie, const struct process *p, uint64_t ended_ns,
                    struct rule_release *ret)
{
    (void)cookie, (void)p;
    ret->replaced = ended_ns != 0;
}

static const struct {
    int status;
    bool shown;
} RELEASED[] = { { (128 + SIGTERM) << 8, false }, { SIGTERM, false }, { 1 << 8, true } };

/* A release replaces a JVM by SIGTERM; all else is no part of that. */
START_TEST(an_end_for_a_release_is_not_shown)
{
    uint64_t owner = 7;
    struct process *p = add_jvm(1000, owner);
    size_t past = 0;

    poll_again();
    end_jvm(p);
    status = RELEASED[_i].status;
    poll_again();
    shown = 0;
    signals_each(s, NULL, count_of, &owner);
    ck_assert_uint_eq(shown, 1);
    signals_set_releases(s, replace, NULL);
    shown = 0;
    signals_each(s, NULL, count_of, &owner);
    ck_assert_uint_eq(shown, RELEASED[_i].shown);
    poll_again();
    poll_after(SIGNAL_ENDED_NS);
    signals_each_past(s, count_past, &past);
    ck_assert_uint_eq(past, RELEASED[_i].shown);
    status = -1;
}
END_TEST

static void count_crash(void *cookie, const struct signal *signal)
{
    *(size_t *)cookie += signal->process->id.host_pid == 999;
}

/* A release of many JVMs hides that they ended: none of them takes the place of a crash before. */
START_TEST(hidden_ends_are_dropped_first)
{
    struct process *all[SIGNAL_ENDED_MAX + 8];
    struct signals_stats stats;
    size_t crashes = 0;

    for (int32_t i = 0; i < (int32_t)ARRAY_SIZE(all); i++)
        all[i] = add_jvm(999 + i, 7);
    for (size_t i = 0; i < 20; i++)
        poll_again();
    status = SIGSEGV;
    end_jvm(all[0]);
    for (size_t i = 0; i < 20; i++)
        poll_again();
    status = SIGTERM;
    for (size_t i = 1; i < ARRAY_SIZE(all); i++) {
        end_jvm(all[i]);
        for (size_t k = 0; k < 20; k++)
            poll_again();
        signals_set_releases(s, replace, NULL);
    }
    signals_each(s, NULL, count_crash, &crashes);
    signals_each_past(s, count_crash, &crashes);
    ck_assert_uint_eq(crashes, 1);
    signals_stats(s, &stats);
    ck_assert_uint_eq(stats.ends_dropped, 0);
    status = -1;
}
END_TEST

static void setup(void)
{
    d = make(empty_folder, false);
    ck_assert_int_eq(signals_new(&(struct signals_opts){ .proc_fd = proc_fd, .discover = d }, &s),
                     0);
}

static void teardown(void)
{
    s = signals_free(s);
    end(d);
}

int main(void)
{
    TCase *tc = tcase_create("signal_shares");
    int failed;

    if (!mkdtemp(empty_folder)) /* no assertion works outside of a test */
        return 1;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_crowd_leaves_room_for_others);
    tcase_add_test(tc, ended_ones_of_a_crowd_leave_those_of_others);
    tcase_add_test(tc, an_end_is_past_for_an_hour);
    tcase_add_test(tc, an_end_before_a_sleep_stays);
    tcase_add_loop_test(tc, an_end_for_a_release_is_not_shown, 0, ARRAY_SIZE(RELEASED));
    tcase_add_test(tc, hidden_ends_are_dropped_first);
    tcase_set_timeout(tc, 60);
    failed = suite_run_case("signal_shares", tc);
    rmdir(empty_folder);
    return failed;
}
