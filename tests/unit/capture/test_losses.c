/* SPDX-License-Identifier: Apache-2.0 */
/* capture/losses.c: which captures learn of a loss. Two processes; one is another user's. */
#include "../discover/live_source.h"
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "capture/capture_impl.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALICE 64111u
#define NOBODYS_PID 4194303 /* above pid_max's default */
#define PERIOD (10 * NSEC_PER_MSEC)

static struct captures all;
static struct capture captures[8];
static pid_t alices, roots;
static int proc_fd;

/* Starts a process of @uid that waits. */
static pid_t start_process(uid_t uid)
{
    int ready[2];
    pid_t pid;
    char byte;

    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
            prctl(PR_SET_DUMPABLE, 1) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end_process(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void setup(void)
{
    alices = start_process(ALICE);
    roots = start_process(0);
    all = (struct captures){ .discover = live_discover(&proc_fd, "/proc") };
    memset(captures, 0, sizeof(captures));
}

static void teardown(void)
{
    for (struct capture *c = all.running; c; c = c->next)
        target_free(c->target);
    discover_free(all.discover);
    close(proc_fd);
    end_process(alices);
    end_process(roots);
}

/* Adds a capture of set @set, of all that @viewer sees, or of @pid alone. */
static struct capture *add_capture(const struct viewer *viewer, pid_t pid, uint32_t set)
{
    struct target_selector s = { .viewer = viewer, .pids = { pid }, .pid_count = pid != 0 };
    struct capture *c = &captures[all.capture_count++];

    *c = (struct capture){ .next = all.running, .state = CAPTURE_RUNNING, .event_count = 1 };
    c->events[0] =
        (struct capture_event){ .source = &event_source_timer,
                                .info = events_find("cpu"),
                                .period = PERIOD,
                                .sets = { { set, PERIOD }, { .set = NO_SET }, { .set = NO_SET } } };
    ck_assert_int_eq(target_new(&s, &c->target, NULL), 0);
    all.running = c;
    return c;
}

static struct loss loss_of(pid_t pid, uint32_t set, uint64_t unread, uint64_t costly)
{
    struct loss l = { .of = { .host_pid = (uint32_t)pid, .set = set },
                      .count = { .unread = unread, .costly = costly } };
    struct proc_stat st;

    if (proc_read_stat(proc_fd, pid, &st) == 0)
        l.of.start_boottime_ns = st.start_ticks * (NSEC_PER_SEC / 100);
    return l;
}

static void lose(struct loss l)
{
    captures_add_losses(&all, &l, 1, clock_monotonic_ns());
}

static void expect(const struct capture *c, unsigned unread, unsigned costly)
{
    ck_assert_uint_eq((unsigned)c->lost.unread, unread);
    ck_assert_uint_eq((unsigned)c->lost.costly, costly);
}

START_TEST(each_learns_of_its_own)
{
    const struct viewer alice = { .uid = ALICE };
    struct capture *node = add_capture(&VIEWER_WHOLE, 0, 0), *own = add_capture(&alice, 0, 0),
                   *one = add_capture(&VIEWER_WHOLE, alices, 0),
                   *other_set = add_capture(&VIEWER_WHOLE, 0, 1);

    lose(loss_of(alices, 0, 10, 2));
    lose(loss_of(roots, 0, 300, 40));
    expect(node, 310, 42);
    expect(own, 10, 2);
    expect(one, 10, 2);
    expect(other_set, 0, 0);
    lose(loss_of(roots, 1, 5, 0));
    expect(other_set, 5, 0);
    expect(node, 310, 42);
    lose(loss_of(roots, 7, 1000, 0)); /* a set without a capture */
    lose(loss_of(roots, 4000, 1000, 0));
    expect(node, 310, 42);
}
END_TEST

/* Losses of a process that has ended go only to viewers of all processes. */
START_TEST(what_nobody_knows_is_of_who_sees_all)
{
    const struct viewer alice = { .uid = ALICE };
    struct capture *node = add_capture(&VIEWER_WHOLE, 0, 0), *own = add_capture(&alice, 0, 0),
                   *one = add_capture(&VIEWER_WHOLE, alices, 0);

    lose(loss_of(NOBODYS_PID, 0, 7, 0));
    expect(node, 7, 0);
    expect(own, 0, 0);
    expect(one, 0, 0);
}
END_TEST

START_TEST(what_is_lost_after_the_end_is_not_told)
{
    struct capture *node = add_capture(&VIEWER_WHOLE, 0, 0);

    node->state = CAPTURE_NAMING;
    lose(loss_of(roots, 0, 10, 0));
    expect(node, 0, 0);
}
END_TEST

/* A capture that keeps every fourth sample of a set has lost a fourth of the set's losses. */
START_TEST(a_slower_capture_has_lost_less)
{
    struct capture *slow = add_capture(&VIEWER_WHOLE, 0, 0);

    slow->events[0].period = 4 * PERIOD;
    lose(loss_of(roots, 0, 100, 40));
    expect(slow, 25, 10);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("losses");
    int skip = live_missing();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, each_learns_of_its_own);
    tcase_add_test(tc, what_nobody_knows_is_of_who_sees_all);
    tcase_add_test(tc, what_is_lost_after_the_end_is_not_told);
    tcase_add_test(tc, a_slower_capture_has_lost_less);
    return suite_run_case("losses", tc);
}
