/* SPDX-License-Identifier: Apache-2.0 */
/* broker/file_openers.c: what a request costs the owner of its process. */
#include "suite.h"

#include "base/clock.h"
#include "broker/file_openers.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The opener may compute for this long before its processor time is looked at. */
#define SLACK_NS (300 * NSEC_PER_MSEC)

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

int main(void)
{
    TCase *tc = tcase_create("openers");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, an_owner_pays_for_what_an_opener_computes);
    return suite_run_case("openers", tc);
}
