/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: the process that the launcher started and waits for. It uses no file of the container,
 * so no file system there can block it. It has three tasks.
 *
 * - The porter forks once. Its filter of calls, which the talker inherits, asks the guard about
 *   each fork. A tracer in the container that catches the talker at its first instruction could
 *   otherwise fill flamed's cgroup with processes.
 * - The talker sends one request and writes one result, each of bounded size. The filter asks about
 *   these calls, too. Written pages are charged to flamed. A tracer could otherwise write through
 *   the talker without end, and put the pages into pipes.
 * - It ends the porter when it ends itself. The porter is another user by then, hence CAP_KILL.
 *
 * It closes the listener when the result is written or the porter has ended. From then on the
 * kernel refuses all these calls.
 */
#include "agent/raw.h"
#include "helper/become.h"
#include "helper/calls.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

static int confine_guard(void)
{
    const struct call_rule rules[] = {
        CALL(close),
        CALL(exit_group),
        CALL_WITH(ioctl, 1, SECCOMP_IOCTL_NOTIF_RECV),
        CALL_WITH(ioctl, 1, SECCOMP_IOCTL_NOTIF_SEND),
        CALL(ppoll),
        CALL(recvmsg),
        CALL(restart_syscall),
        CALL(wait4),
    };

    return calls_allow_only(rules);
}

/* Receives the listener from the porter. Return: its descriptor, or -errno if the porter ended
 * first. */
static int receive_listener(int from)
{
    char byte, control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
    struct iovec part = { &byte, 1 };
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    const struct cmsghdr *c = (const void *)control;
    long n;

    do {
        n = raw3(SYS_recvmsg, from, &m, MSG_CMSG_CLOEXEC);
    } while (n == -EINTR);
    if (n != 1 || m.msg_controllen < sizeof(*c) || c->cmsg_type != SCM_RIGHTS)
        return -EPIPE;
    return *(const int *)(const void *)CMSG_DATA(c);
}

/* Bits for calls that have been allowed. Each is allowed once. */
enum done {
    DONE_FORK = 1,
    DONE_REQUEST = 2,
    DONE_RESULT = 4,
};

/* Decides about the call @asked. Returns its bit if it is allowed, else 0. The arguments are the
 * kernel's copy and cannot change. */
static uint32_t judge(const struct seccomp_notif *asked, long porter, uint32_t done)
{
    const struct seccomp_data *call = &asked->data;
    bool is_porter = asked->pid == (uint32_t)porter;
    uint32_t bit = 0;

    if (call->nr == SYS_clone && is_porter)
        bit = DONE_FORK;
    else if (call->nr == SYS_sendto && !is_porter && call->args[2] <= ATTACH_REQUEST_MAX)
        bit = DONE_REQUEST;
    else if (call->nr == SYS_write && call->args[2] == sizeof(struct attach_result))
        bit = DONE_RESULT;
    return done & bit ? 0 : bit;
}

/* Reads and answers one request of the filter. Returns the bit of the allowed call, or 0. */
static uint32_t answer_one(int listener, long porter, uint32_t done)
{
    struct seccomp_notif asked = { 0 };
    struct seccomp_notif_resp answer = { 0 };
    uint32_t bit;

    if (raw3(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
        return 0; /* the calling thread has ended */
    bit = judge(&asked, porter, done);
    answer.id = asked.id;
    if (bit)
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
        answer.error = -EPERM;
    return raw3(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 ? 0 : bit;
}

/* Answers requests until a result is written, or until the porter, with the pidfd @porter_fd, has
 * ended. */
static void answer_all(int listener, long porter, int porter_fd)
{
    uint32_t done = 0;

    while (!(done & DONE_RESULT)) {
        struct pollfd p[] = { { .fd = listener, .events = POLLIN },
                              { .fd = porter_fd, .events = POLLIN } };
        long r;

        do {
            r = raw5(SYS_ppoll, p, 2, NULL, NULL, 8);
        } while (r == -EINTR);
        if (r < 0 || !(p[0].revents & POLLIN))
            return;
        done |= answer_one(listener, porter, done);
    }
}

static void close_all_but(int one, int other)
{
    for (int fd = 0; fd < ATTACH_FILES_MAX; fd++) {
        if (fd != one && fd != other)
            raw1(SYS_close, fd);
    }
}

__attribute__((noreturn)) static void guard_run(int from, long porter, int porter_fd)
{
    int status = 0, listener;

    close_all_but(from, porter_fd);
    drop_capabilities(CAP_TO_MASK(CAP_KILL));
    confine_guard();
    listener = receive_listener(from);
    raw1(SYS_close, from);
    if (listener >= 0) {
        answer_all(listener, porter, porter_fd);
        raw1(SYS_close, listener);
    }
    while (raw4(SYS_wait4, porter, &status, 0, NULL) == -EINTR)
        continue;
    for (;;)
        raw1(SYS_exit_group, status != 0);
}

int guard_start(struct attach *a)
{
    long guard = raw0(SYS_getpid), r;
    int pair[2] = { -1, -1 }, porter_fd = -1;

    a->step = ATTACH_STEP_FORK;
    r = raw4(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
    if (r < 0)
        return (int)r;
    r = raw5(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &porter_fd, 0, 0);
    if (r < 0)
        return (int)r;
    if (r > 0)
        guard_run(pair[0], r, porter_fd);
    raw1(SYS_close, pair[0]);
    a->guard_fd = pair[1];
    raw2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    return raw0(SYS_getppid) == guard ? 0 : -ESRCH;
}
