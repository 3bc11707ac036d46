/* SPDX-License-Identifier: Apache-2.0 */
/* broker/file_openers.c: what a request costs the owner of its process. */
#include "suite.h"

#include "base/clock.h"
#include "broker/file_openers.h"
#include "broker_client/wire.h"
#include "privileged/memfd.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The opener may compute for this long before its processor time is looked at. */
#define SLACK_NS (300 * NSEC_PER_MSEC)
#define LATE_BYTES ((size_t)1 << 20)

/* Starts a process that computes and never answers. */
static pid_t start_busy(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (volatile unsigned i = 0;; i++)
            ;
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

static uint64_t ns_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_usec * 1000;
}

/* Ends the process. Returns its processor time. */
static uint64_t stop_busy(pid_t pid)
{
    struct rusage used;

    kill(pid, SIGKILL);
    ck_assert_int_eq(wait4(pid, NULL, 0, &used), pid);
    return ns_of(used.ru_utime) + ns_of(used.ru_stime);
}

/* Asks an opener that computes. Gets its processor time, and what the owner was charged with. */
static void ask_busy(uint64_t *ret_cpu_ns, uint64_t *ret_charged_ns)
{
    static struct server s;
    struct broker_request q = { .version = BROKER_WIRE_VERSION,
                                .kind = BROKER_MAPS,
                                .fields.target.host_pid = getpid() };
    struct error err = ERROR_NULL;
    struct reply rep = { 0 };
    struct proc_id id = { .host_pid = getpid() };
    int64_t left_ns;
    int fds[2];

    ck_assert_int_eq(server_init(&s, /* client= */ 0, &err), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    s.openers[s.opener_count++] =
        (struct opener){ .pid = start_busy(), .fd = fds[0], .late_fd = -1 };
    ck_assert_int_eq(proc_read_start(s.proc_fd, getpid(), &id.start_ticks), 0);
    q.fields.target.start_ticks = id.start_ticks;
    ck_assert_int_eq(file_openers_ask(&s, &q, &rep), -ETIMEDOUT);
    *ret_cpu_ns = stop_busy(s.openers[0].pid);
    left_ns = owner_budget_of(&s.owners.budgets, server_owner(&s, &id), 0)->left_ns;
    *ret_charged_ns = (uint64_t)((int64_t)OWNER_BUDGET_AT_ONCE_NS - left_ns);
    close(fds[1]);
    file_openers_stop(&s);
    server_deinit(&s);
}

/* A process can make an opener compute, by a folder with many files. On a busy machine the opener
 * may have too little of a processor to show that. */
START_TEST(an_owner_pays_for_what_an_opener_computes)
{
    uint64_t cpu_ns = 0, charged_ns = 0;

    for (int i = 0; i < 20 && cpu_ns < 2 * SLACK_NS; i++)
        ask_busy(&cpu_ns, &charged_ns);
    ck_assert_uint_ge(charged_ns + SLACK_NS, cpu_ns);
}
END_TEST

/* Starts an opener that answers each request with a file. */
static pid_t start_answering(int socket)
{
    pid_t pid = fork();

    if (pid == 0) {
        int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
        struct broker_request q;

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        while (wire_receive(socket, &q, sizeof(q), NULL, 0, NULL) == sizeof(q)) {
            const struct broker_answer a = { .version = BROKER_WIRE_VERSION, .kind = q.kind };

            wire_send(socket, &a, sizeof(a), &file, 1);
        }
        _exit(0);
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

/* Leaves this process no free descriptor, until it is given the returned limits. */
static struct rlimit use_up_descriptors(void)
{
    int next = dup(STDIN_FILENO);
    struct rlimit were, few;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &were), 0);
    few = (struct rlimit){ .rlim_cur = (rlim_t)next, .rlim_max = were.rlim_max };
    close(next);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    return were;
}

static void open_server(struct server *s)
{
    struct error err = ERROR_NULL;

    ck_assert_int_eq(server_init(s, /* client= */ 0, &err), 0);
    s->has_openers = true;
}

/* The kernel drops a file that comes when the broker has no descriptor left. The opener did its
 * work, and goes on. */
START_TEST(a_lack_of_descriptors_ends_no_opener)
{
    static struct server s;
    struct broker_request q = { .version = BROKER_WIRE_VERSION,
                                .kind = BROKER_PERFMAP,
                                .fields.target.host_pid = getpid() };
    struct reply rep = { 0 };
    struct rlimit were;
    int fds[2];
    pid_t pid;

    open_server(&s);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    pid = start_answering(fds[1]);
    s.openers[s.opener_count++] = (struct opener){ .pid = pid, .fd = fds[0], .late_fd = -1 };
    were = use_up_descriptors();
    ck_assert_int_eq(file_openers_ask(&s, &q, &rep), -EMFILE);
    ck_assert_uint_eq(rep.fd_count, 0);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &were), 0);
    ck_assert_uint_eq(s.opener_count, 1);
    ck_assert_int_eq(file_openers_ask(&s, &q, &rep), 0);
    ck_assert_uint_eq(rep.fd_count, 1);
    close(rep.fds[0]);
    close(fds[1]);
    file_openers_stop(&s);
    server_deinit(&s);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* The broker asks the nursery for openers until it has them: when a fork failed, when the broker
 * had no descriptor for it, and without any request. No other process opens files meanwhile. */
START_TEST(openers_come_back)
{
    static struct server s;
    struct broker_request q = { .version = BROKER_WIRE_VERSION,
                                .kind = BROKER_PERFMAP,
                                .fields.target.host_pid = getpid() };
    const pid_t none = -1, one = 1;
    struct reply rep = { 0 };
    struct rlimit were;
    int nursery[2], pair[2];
    char byte;

    open_server(&s);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, nursery), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    s.nursery.fd = nursery[0];
    for (int i = 0; i < 3; i++) {
        ck_assert(file_openers_need_tending(&s));
        file_openers_tend(&s);
        ck_assert_int_eq(recv(nursery[1], &byte, 1, MSG_DONTWAIT), 1);
        file_openers_tend(&s); /* asks only once */
        ck_assert_int_lt(recv(nursery[1], &byte, 1, MSG_DONTWAIT), 0);
        ck_assert(file_openers_take(&s, q.kind));
        ck_assert_int_eq(file_openers_ask(&s, &q, &rep), -EAGAIN);
        ck_assert_int_eq(file_openers_try(&s, &q, &rep.err), -EAGAIN);
        wire_send(nursery[1], i ? &one : &none, sizeof(one), &pair[1], i ? 1 : 0);
        if (i == 1)
            were = use_up_descriptors();
        file_openers_tend(&s);
        if (i == 1)
            ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &were), 0);
        ck_assert_int_eq(s.nursery.fd, nursery[0]);
        ck_assert_uint_eq(s.opener_count, i == 2);
        file_openers_tend(&s);
        ck_assert_int_eq(recv(nursery[1], &byte, 1, MSG_DONTWAIT), i == 2 ? 1 : -1);
        s.nursery.again_ns = 0; /* the pause is over */
    }
    close(nursery[1]);
    close(pair[0]);
    close(pair[1]);
    file_openers_stop(&s);
    server_deinit(&s);
}
END_TEST

/* Without a nursery no opener comes back. So the broker must end when none is free, whether the
 * nursery ended before or after it was asked. */
START_TEST(without_a_free_opener_and_a_nursery_the_broker_must_end)
{
    const bool asked = _i;
    static struct server s;
    struct error err = ERROR_NULL;
    int nursery[2], pair[2];

    open_server(&s);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, nursery), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    s.nursery.fd = nursery[0];
    if (asked)
        file_openers_tend(&s);
    ck_assert_int_eq(file_openers_check(&s, &err), 0);
    close(nursery[1]);
    file_openers_tend(&s);
    ck_assert_int_eq(s.nursery.fd, -1);
    ck_assert_int_eq(file_openers_check(&s, &err), -ECHILD);
    ck_assert_msg(strstr(err.msg, "started again"), "%s", err.msg);
    s.openers[s.opener_count++] = (struct opener){ .pid = 1, .fd = pair[0], .late_fd = -1 };
    ck_assert_int_eq(file_openers_check(&s, &err), 0);
    s.openers[0].owner = 1; /* a file system that does not answer holds it */
    ck_assert_int_eq(file_openers_check(&s, &err), -ECHILD);
    s.has_openers = false; /* none could be forked at the start */
    ck_assert_int_eq(file_openers_check(&s, &err), 0);
    close(pair[1]);
    file_openers_stop(&s);
    server_deinit(&s);
}
END_TEST

/* Before the broker itself reads a process, an opener has to, each time. A late answer is no sign
 * that the process still answers: it could have begun an exec that does not end. */
START_TEST(a_late_answer_is_no_check)
{
    static struct server s;
    const struct broker_answer a = { .version = BROKER_WIRE_VERSION, .kind = BROKER_MAPS };
    struct broker_request q = { .version = BROKER_WIRE_VERSION,
                                .kind = BROKER_CGROUP_NUMBERS,
                                .fields.target.host_pid = getpid() };
    struct error err = ERROR_NULL;
    int fds[2];

    open_server(&s);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    s.openers[s.opener_count++] = (struct opener){ .pid = 1, .fd = fds[0], .late_fd = -1 };
    for (int i = 0; i < 2; i++) {
        struct broker_request got;

        ck_assert_int_eq(file_openers_try(&s, &q, &err), -ETIMEDOUT);
        ck_assert_int_eq(recv(fds[1], &got, sizeof(got), MSG_DONTWAIT), sizeof(got));
        ck_assert_uint_eq(got.kind, BROKER_MAPS);
        ck_assert_int_eq(wire_send(fds[1], &a, sizeof(a), NULL, 0), 0);
        file_openers_tend(&s);
        ck_assert(s.openers[0].kept);
    }
    close(fds[1]);
    file_openers_stop(&s);
    server_deinit(&s);
}
END_TEST

/* Sends a late answer with a sealed file of @bytes, as an opener does that copied a file. */
static void answer_late(int socket, size_t bytes)
{
    const struct broker_answer a = { .version = BROKER_WIRE_VERSION, .kind = BROKER_PERFMAP };
    char *text = calloc(1, bytes);
    struct broker_request q;
    int file = -1;

    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(memfd_sealed("copy", MEMFD_DATA, text, bytes, &file), 0);
    free(text);
    ck_assert_int_eq(wire_receive(socket, &q, sizeof(q), NULL, 0, NULL), sizeof(q));
    ck_assert_int_eq(wire_send(socket, &a, sizeof(a), &file, 1), 0);
    close(file);
}

/* A late answer is kept for a time. Its file counts as one that flamed has, and is none if flamed
 * has half of what it may have: the rest is for answers in time. */
START_TEST(late_answers_are_kept_for_a_time)
{
    static struct server s;
    struct broker_request q = { .version = BROKER_WIRE_VERSION,
                                .kind = BROKER_PERFMAP,
                                .fields.target.host_pid = getpid() };
    struct opener *o = s.openers;
    struct reply rep = { 0 };
    int fds[2];

    open_server(&s);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    s.openers[s.opener_count++] = (struct opener){ .pid = 1, .fd = fds[0], .late_fd = -1 };
    for (int i = 0; i < 3; i++) {
        const bool wanted = i == 0, too_many = i == 2;

        ck_assert_int_eq(file_openers_ask(&s, &q, &rep), -ETIMEDOUT);
        ck_assert(file_openers_need_tending(&s));
        answer_late(fds[1], LATE_BYTES);
        s.given.bytes = too_many ? GIVEN_LATE_BYTES_MAX - LATE_BYTES + 1 : 0;
        file_openers_tend(&s);
        ck_assert_uint_eq(s.given.count, !too_many);
        ck_assert_int_eq(o->late_fd >= 0, !too_many);
        ck_assert_int_eq(o->kept, !too_many);
        if (wanted) {
            ck_assert_int_eq(file_openers_ask(&s, &q, &rep), 0);
            ck_assert_uint_eq(rep.fd_count, 1);
            close(rep.fds[0]);
        } else if (!too_many) {
            ck_assert_uint_eq(s.given.bytes, LATE_BYTES);
            ck_assert(file_openers_need_tending(&s));
            o->late_ns -= OPENER_KEEP_NS;
            file_openers_tend(&s);
        }
        ck_assert(o->late_fd == -1 && !o->kept && !file_openers_need_tending(&s));
        given_forget_closed(&s.given);
        ck_assert_uint_eq(s.given.count, 0);
    }
    close(fds[1]);
    file_openers_stop(&s);
    server_deinit(&s);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("openers");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, an_owner_pays_for_what_an_opener_computes);
    tcase_add_test(tc, a_lack_of_descriptors_ends_no_opener);
    tcase_add_test(tc, openers_come_back);
    tcase_add_loop_test(tc, without_a_free_opener_and_a_nursery_the_broker_must_end, 0, 2);
    tcase_add_test(tc, a_late_answer_is_no_check);
    tcase_add_test(tc, late_answers_are_kept_for_a_time);
    return suite_run_case("openers", tc);
}
