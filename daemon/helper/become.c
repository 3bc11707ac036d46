/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The porter becomes the target, without a way back. It is then still outside of the container's
 * pid namespace, so no process in the container can see, trace or signal it. The reasons for the
 * order of the steps:
 *
 * - setgroups before the user namespace is joined, because that may forbid setgroups
 *   (setgroups=deny).
 * - setns by pidfd: it joins the pinned process or fails. The user namespace comes last, since some
 *   of the others may belong to one around it. The pid namespace affects only children.
 * - chroot, because a chrooted target has another root than its mount namespace. It runs with the
 *   rights of the target's user namespace, which some file systems require.
 * - seccomp before the change of user: from then on, other processes have the same user.
 * - setresgid and setresuid: all three ids, so that there is no way back.
 * - No capability in any set: a target that runs as root must be able to read /proc/<us>.
 *
 * The porter is never dumpable, and it was executed in the host's user namespace. So even if the
 * target shares flamed's pid namespace, tracing the porter takes CAP_SYS_PTRACE on the host.
 */
#include "helper/become.h"

#include "agent/raw.h"
#include "helper/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define CAPABILITIES_MAX 64

int drop_capabilities(uint32_t keep)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { .effective = keep, .permitted = keep }, { 0 } };

    /* fails in some places, and no_new_privs makes it redundant */
    for (unsigned cap = 0; cap < CAPABILITIES_MAX; cap++)
        raw2(SYS_prctl, PR_CAPBSET_DROP, cap);
    raw5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return (int)raw2(SYS_capset, &head, sets);
}

/* Restores the settings that a change of credentials resets. */
static void keep_private(void)
{
    raw2(SYS_prctl, PR_SET_DUMPABLE, 0);
    raw2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
}

static int join_namespaces(struct attach *a)
{
    uint32_t user = a->job.ns_flags & CLONE_NEWUSER, others = a->job.ns_flags & ~user;
    uint64_t took_ns = attach_now_ns() - a->started_ns;
    long r = 0;

    if (others)
        r = raw2(SYS_setns, ATTACH_FD_TARGET, others);
    if (r == 0 && user)
        r = raw2(SYS_setns, ATTACH_FD_TARGET, user);
    keep_private();
    a->started_ns = attach_now_ns() - took_ns; /* by the clock of the joined time namespace */
    a->deadline_ns = attach_now_ns() + a->job.timeout_ms * UINT64_C(1000000);
    return (int)r;
}

static int enter_root(void)
{
    long r = raw1(SYS_fchdir, ATTACH_FD_ROOT);

    if (r == 0)
        r = raw1(SYS_chroot, ".");
    if (r == 0)
        r = raw1(SYS_chdir, "/");
    raw1(SYS_close, ATTACH_FD_ROOT);
    return (int)r;
}

/* Installs the porter's filter. It also bounds the filters that the porter installs later
 * (inside.c). No allowed call opens an existing file: in flamed's cgroup that could be a device of
 * the host. */
static int confine_porter(const struct attach *a)
{
    const struct call_rule rules[] = {
        CALL(capset),
        CALL(clock_gettime),
        CALL_WITH(clone, 0, CLONE_PIDFD | SIGCHLD),
        CALL(close),
        CALL(connect),
        CALL(exit_group),
        CALL(getpid),
        CALL(getppid),
        CALL(getsockopt),
        CALL(landlock_create_ruleset),
        CALL(landlock_restrict_self),
        CALL_WITH(mknodat, 2, S_IFREG | 0600),
        CALL(newfstatat),
        CALL_WITH(pidfd_send_signal, 1, SIGQUIT),
        CALL_WITH(pidfd_send_signal, 1, SIGKILL),
        CALL(ppoll),
        CALL(prctl),
        CALL_WITH(pread64, 0, ATTACH_FD_STATUS),
        CALL_WITH(pread64, 0, ATTACH_FD_AGENT),
        CALL(read),
        CALL(readlinkat),
        CALL(restart_syscall),
        CALL(rt_sigreturn),
        CALL_WITH(seccomp, 0, SECCOMP_SET_MODE_FILTER),
        CALL_WITH(sendmsg, 0, a->guard_fd),
        CALL(sendto),
        CALL(setresgid),
        CALL(setresuid),
        CALL(setuid),
        CALL_WITH(socket, 0, AF_UNIX),
        CALL(unlinkat),
        CALL(wait4),
        CALL(write),
        /* only for copies, hence last; creates a file and never opens an existing one */
        CALL_WITH(openat, 2, COPY_FLAGS),
    };
    uint16_t count = sizeof(rules) / sizeof(rules[0]);

    return calls_allow(rules, a->job.mode == ATTACH_COPY ? count : (uint16_t)(count - 1), 0);
}

static int change_user(const struct attach_job *job)
{
    long r = raw3(SYS_setresgid, job->gid, job->gid, job->gid);

    if (r == 0)
        r = raw3(SYS_setresuid, job->uid, job->uid, job->uid);
    keep_private();
    return (int)r;
}

/* Checks that the guard is alive: if it died before, the porter got no signal. */
static int check_guard(long guard)
{
    return raw0(SYS_getppid) == guard ? 0 : -ESRCH;
}

int become_target(struct attach *a)
{
    long guard = raw0(SYS_getppid), r;

    a->step = ATTACH_STEP_GROUPS;
    r = raw2(SYS_setgroups, 0, NULL);
    if (r < 0)
        return (int)r;
    a->step = ATTACH_STEP_NAMESPACES;
    r = join_namespaces(a);
    if (r < 0)
        return (int)r;
    a->step = ATTACH_STEP_ROOT;
    r = enter_root();
    if (r < 0)
        return (int)r;
    a->step = ATTACH_STEP_FILTER;
    r = confine_porter(a);
    if (r < 0)
        return (int)r;
    a->step = ATTACH_STEP_USER;
    r = change_user(&a->job);
    if (r < 0)
        return (int)r;
    /* The joined user namespace granted all its capabilities. A change of user drops them only if
     * it leaves that namespace's uid 0. */
    a->step = ATTACH_STEP_CAPABILITIES;
    r = drop_capabilities(0);
    if (r < 0)
        return (int)r;
    a->step = ATTACH_STEP_USER;
    if (a->job.uid != 0 && raw1(SYS_setuid, 0) == 0)
        return -EPERM;
    return check_guard(guard);
}
