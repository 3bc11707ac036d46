/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The porter forks the talker into the container's pid namespace, as the last step before talking.
 * From here on the container can see the talker, which has no rights any more. The porter waits
 * outside, kills the talker at the deadline, and removes the copy of the agent.
 */
#include "agent/raw.h"
#include "helper/become.h"
#include "helper/calls.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define KILL_AFTER_NS UINT64_C(500000000) /* time beyond the talker's own deadline */
#define REAP_MS 200                       /* for a talker that has ended */

static int send_to_guard(int guard_fd, int listener)
{
    char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
    struct iovec part = { (void *)"", 1 };
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    struct cmsghdr *c = (void *)control;

    c->cmsg_len = CMSG_LEN(sizeof(int));
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    *(int *)(void *)CMSG_DATA(c) = listener;
    return (int)raw3(SYS_sendmsg, guard_fd, &m, MSG_NOSIGNAL);
}

/* Installs the filter that the talker starts with. The guard decides about some calls (guard.c). So
 * even a tracer that stops the talker at its first instruction cannot fork, and can write no more
 * than the talker. */
static int confine_at_birth(const struct attach *a)
{
    const struct call_rule rules[] = {
        /* calls of the porter */
        CALL_ASKED(clone, 0, CLONE_PIDFD | SIGCHLD),
        CALL_WITH(pidfd_send_signal, 1, SIGKILL),
        CALL_WITH(sendmsg, 0, a->guard_fd),
        CALL(unlinkat),
        CALL(wait4),
        /* calls of the talker */
        CALL(clock_gettime),
        CALL(close),
        CALL_WITH(connect, 0, a->jvm_fd),
        CALL(exit_group),
        CALL(getpid),
        CALL(getppid),
        CALL_WITH(getsockopt, 0, a->jvm_fd),
        CALL(ppoll),
        CALL_WITH(prctl, 0, PR_SET_DUMPABLE),
        CALL_WITH(prctl, 0, PR_SET_PDEATHSIG),
        CALL_WITH(read, 0, a->jvm_fd),
        CALL(readlinkat),
        CALL(restart_syscall),
        CALL(rt_sigreturn),
        CALL_WITH(seccomp, 1, 0),
        CALL_ASKED(sendto, 0, a->jvm_fd),
        CALL_ASKED(write, 0, ATTACH_FD_RESULT),
    };
    int listener = calls_allow(rules, sizeof(rules) / sizeof(rules[0]), /* listener= */ 1), r;

    if (listener < 0)
        return listener;
    r = send_to_guard(a->guard_fd, listener);
    raw1(SYS_close, listener);
    raw1(SYS_close, a->guard_fd);
    return r < 0 ? r : 0;
}

/* Installs the talker's own filter, its first step: no fork, no wait, no file. */
static int confine_talker(const struct attach *a)
{
    const struct call_rule rules[] = {
        CALL(clock_gettime),
        CALL_WITH(connect, 0, a->jvm_fd),
        CALL(exit_group),
        CALL(getpid),
        CALL(getppid),
        CALL_WITH(getsockopt, 0, a->jvm_fd),
        CALL(ppoll),
        CALL_WITH(prctl, 0, PR_SET_DUMPABLE),
        CALL_WITH(prctl, 0, PR_SET_PDEATHSIG),
        CALL_WITH(read, 0, a->jvm_fd),
        CALL(readlinkat),
        CALL(restart_syscall),
        CALL(rt_sigreturn),
        CALL_WITH(seccomp, 1, 0),
        CALL_WITH(sendto, 0, a->jvm_fd),
        CALL_WITH(write, 0, ATTACH_FD_RESULT),
    };

    return calls_allow_only(rules);
}

static void clean_up(const struct attach *a)
{
    if (a->job.mode == ATTACH_COPY)
        copy_remove();
}

/* Runs the porter from the fork of the talker to its end. */
__attribute__((noreturn)) static void wait_outside(struct attach *a, long talker, int pidfd)
{
    int status = 0;

    raw1(SYS_close, ATTACH_FD_AGENT);
    raw1(SYS_close, ATTACH_FD_OUT);
    raw1(SYS_close, a->jvm_fd);
    if (!wait_for(pidfd, POLLIN, a->deadline_ns + KILL_AFTER_NS)) {
        /* a user in the container has stopped the talker */
        raw4(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        a->result.step = ATTACH_STEP_KILLED;
        a->result.error = ETIMEDOUT;
        write_result(&a->result);
    }
    clean_up(a);
    /* The talker stays a zombie if its tracer never waits for it. The porter does not wait for
     * that; the launcher records it. */
    for (unsigned ms = 0; ms < REAP_MS; ms++) {
        if (raw4(SYS_wait4, talker, &status, WNOHANG, NULL) != 0)
            break;
        pause_ms(1);
    }
    for (;;)
        raw1(SYS_exit_group, status != 0);
}

/* First steps of the talker. @porter: pid of its parent; 0: the parent is in another pid
 * namespace. */
static int begin_inside(const struct attach *a, long porter)
{
    int r = confine_talker(a);

    raw2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    if (r < 0)
        return r;
    return raw0(SYS_getppid) == porter ? 0 : -ESRCH;
}

int go_inside(struct attach *a)
{
    long porter = a->job.ns_flags & CLONE_NEWPID ? 0 : raw0(SYS_getpid), r = 0;
    int pidfd = -1;

    raw1(SYS_close, ATTACH_FD_TARGET);
    raw1(SYS_close, ATTACH_FD_STATUS);
    if (a->job.mode == ATTACH_COPY) {
        a->step = ATTACH_STEP_COPY;
        r = copy_agent();
    }
    if (r == 0) {
        a->step = ATTACH_STEP_CONNECT;
        r = raw3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        a->jvm_fd = (int)r;
    }
    if (r >= 0) {
        a->step = ATTACH_STEP_FILTER;
        forbid_files();
        r = confine_at_birth(a);
    }
    if (r == 0) {
        a->step = ATTACH_STEP_FORK;
        r = raw5(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &pidfd, 0, 0);
    }
    if (r == 0)
        return begin_inside(a, porter);
    if (r > 0)
        wait_outside(a, r, pidfd);
    clean_up(a);
    return (int)r;
}
