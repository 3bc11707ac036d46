/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: the process that the launcher started and waits for. It touches nothing of the
 * container, so no file system there can hold it; and it sees to two things.
 *
 * - The porter forks once. Its filter of calls, which the talker inherits, asks the guard about
 *   fork. The guard allows the porter's and closes the listener: after that nobody can fork. A
 *   tracer in the container that catches the talker at its first instruction could otherwise fill
 *   flamed's cgroup with processes.
 * - The porter ends with it. The porter is another user by then, hence CAP_KILL.
 */
#include "agent/raw.h"
#include "helper/become.h"
#include "helper/calls.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
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

/* Return: the listener that the porter sent, or -errno if it ended before. */
static int receive_listener(int from)
{
    char byte, control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
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

/* Lets the porter fork, once. */
static void allow_fork(int listener, long porter)
{
    struct seccomp_notif asked = { 0 };
    struct seccomp_notif_resp answer = { 0 };
    struct pollfd p = { .fd = listener, .events = POLLIN };
    long r;

    do {
        r = raw5(SYS_ppoll, &p, 1, NULL, NULL, 8);
    } while (r == -EINTR);
    if (!(p.revents & POLLIN) || raw3(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
        return;
    answer.id = asked.id;
    if (asked.pid == (uint32_t)porter)
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
        answer.error = -EPERM;
    raw3(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

__attribute__((noreturn)) static void guard_run(int from, long porter)
{
    int status = 0, listener;

    if (from > 0)
        raw3(SYS_close_range, 0, from - 1, 0);
    raw3(SYS_close_range, from + 1, ~0u, 0);
    drop_capabilities(CAP_TO_MASK(CAP_KILL));
    confine_guard();
    listener = receive_listener(from);
    raw1(SYS_close, from);
    if (listener >= 0) {
        allow_fork(listener, porter);
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
    int pair[2];

    a->step = ATTACH_STEP_FORK;
    r = raw4(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
    if (r < 0)
        return (int)r;
    r = raw5(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (r < 0)
        return (int)r;
    if (r > 0)
        guard_run(pair[0], r);
    raw1(SYS_close, pair[0]);
    a->guard_fd = pair[1];
    raw2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    return raw0(SYS_getppid) == guard ? 0 : -ESRCH;
}
