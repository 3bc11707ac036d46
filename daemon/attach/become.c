/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed-attach becomes the target, for good. Each step is where it is because of the next:
 *
 *   setgroups      before the user namespace is joined, where it may be forbidden (setgroups=deny)
 *   setns          of all namespaces in one call by pidfd: what was pinned, or nothing
 *   fork           only a child lives in the new pid namespace; its parent waits, to take it along
 *   fchdir, chroot the target's root is not its mount namespace's where it is chroot'ed
 *   close          the root's descriptor, before anyone in the container could take it
 *   setresgid/uid  all three ids, so that there is no way back
 *   capabilities   none, in every set: a target that runs as root must be able to read /proc/<us>
 *   seccomp        only what talk.c needs
 *
 * Not dumpable all the time, and executed in the host's user namespace, so that the container's own
 * root in a user namespace cannot trace us; container root without one can, so there is nothing
 * here to be had: no file of the host, no directory, no memory of anybody's; a status file of the
 * host's /proc until the request is sent.
 */
#include "attach/become.h"

#include "agent/raw.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define CAPABILITIES_MAX 64

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* Allows @calls and nothing else: anything other ends the process. */
static int filter_calls(const uint32_t *calls, uint16_t count)
{
    struct sock_filter f[4 + 32 + 2];
    struct sock_fprog prog = { .filter = f };
    uint16_t n = 0;

    if (count > 32)
        return -E2BIG;
    f[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    f[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (uint16_t i = 0; i < count; i++)
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i],
                                              (uint8_t)(count - i), 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    prog.len = n;
    return (int)raw3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

/* No capability in any set but the bits of @keep. */
static int drop_capabilities(uint32_t keep)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { .effective = keep, .permitted = keep }, { 0 } };

    /* The bounding set where that is allowed; no_new_privs makes it moot. */
    for (unsigned cap = 0; cap < CAPABILITIES_MAX; cap++)
        raw2(SYS_prctl, PR_CAPBSET_DROP, cap);
    raw5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return (int)raw2(SYS_capset, &head, sets);
}

/* The parent: lives only to be the child's, without anything, and ends with it. The signal that the
 * child gets when the parent ends (at its deadline, or with flamed) is sent with the parent's
 * rights, and the child is another user's: hence CAP_KILL. */
__attribute__((noreturn)) static void wait_for(long child)
{
    const uint32_t calls[] = { SYS_wait4, SYS_exit_group };
    int status = 0;

    raw3(SYS_close_range, 0, ~0u, 0);
    drop_capabilities(CAP_TO_MASK(CAP_KILL));
    filter_calls(calls, sizeof(calls) / sizeof(calls[0]));
    while (raw4(SYS_wait4, child, &status, 0, NULL) == -EINTR)
        continue;
    for (;;)
        raw1(SYS_exit_group, status != 0);
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

static int change_user(const struct attach_job *job)
{
    long r = raw3(SYS_setresgid, job->gid, job->gid, job->gid);

    if (r == 0)
        r = raw3(SYS_setresuid, job->uid, job->uid, job->uid);
    if (r < 0)
        return (int)r;
    /* A change of user takes both back. */
    raw2(SYS_prctl, PR_SET_DUMPABLE, 0);
    raw2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    return 0;
}

static int confine(void)
{
    const uint32_t calls[] = {
        SYS_clock_gettime,
        SYS_close,
        SYS_connect,
        SYS_exit_group,
        SYS_getpid,
        SYS_getsockopt,
        SYS_nanosleep,
        SYS_newfstatat,
        SYS_openat,
        SYS_ppoll,
        SYS_pidfd_send_signal,
        SYS_prctl,
        SYS_pread64,
        SYS_read,
        SYS_readlinkat,
        SYS_sendto,
        SYS_socket,
        SYS_unlinkat,
        SYS_write,
        SYS_restart_syscall,
        SYS_rt_sigreturn,
    };

    return filter_calls(calls, sizeof(calls) / sizeof(calls[0]));
}

int become_target(const struct attach_job *job, uint32_t *ret_step)
{
    long parent, r;

    *ret_step = ATTACH_STEP_GROUPS;
    r = raw2(SYS_setgroups, 0, NULL);
    if (r < 0)
        return (int)r;
    *ret_step = ATTACH_STEP_NAMESPACES;
    r = job->ns_flags ? raw2(SYS_setns, ATTACH_FD_TARGET, job->ns_flags) : 0;
    if (r < 0)
        return (int)r;
    *ret_step = ATTACH_STEP_FORK;
    parent = raw0(SYS_getpid);
    r = raw5(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (r < 0)
        return (int)r;
    if (r > 0)
        wait_for(r);
    *ret_step = ATTACH_STEP_ROOT;
    r = enter_root();
    if (r < 0)
        return (int)r;
    *ret_step = ATTACH_STEP_USER;
    r = change_user(job);
    if (r < 0)
        return (int)r;
    /* Should the parent be gone already, we belong to somebody else: 0 is a parent outside. */
    r = raw0(SYS_getppid);
    if (job->ns_flags & CLONE_NEWPID ? r != 0 : r != parent)
        return -ESRCH;
    /* A joined user namespace gave us all capabilities in it, which a change of user takes away
     * only from its own uid 0. */
    *ret_step = ATTACH_STEP_CAPABILITIES;
    r = drop_capabilities(0);
    if (r < 0)
        return (int)r;
    *ret_step = ATTACH_STEP_USER;
    if (job->uid != 0 && raw1(SYS_setuid, 0) == 0)
        return -EPERM;
    *ret_step = ATTACH_STEP_FILTER;
    return confine();
}
