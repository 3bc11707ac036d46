/* SPDX-License-Identifier: Apache-2.0 */
#include "privileged/lockdown.h"

#include "base/common_calls.h"
#include "base/fds.h"
#include "privileged/worker_calls.h"

#include <cap-ng.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* The broker's capabilities, which docs/privilege.md explains. SYS_ADMIN covers map_files, so
 * CHECKPOINT_RESTORE is missing. The last four start an attach. */
static const unsigned KEPT[] = {
    CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_PERFMON, CAP_BPF,
    CAP_SYSLOG,    CAP_SYS_CHROOT, CAP_SETUID,          CAP_SETGID,  CAP_KILL,
};

/* The launcher's capabilities, for entering a target and becoming its user. */
static const unsigned KEPT_BY_LAUNCHER[] = {
    CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_SYS_CHROOT, CAP_SETUID, CAP_SETGID, CAP_KILL,
};

/* The supervisor's capabilities, for its children and for starting them: emptying their bounding
 * sets and raising their priority. */
static const unsigned KEPT_BY_SUPERVISOR[] = {
    CAP_SYS_ADMIN,  CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_PERFMON, CAP_BPF,     CAP_SYSLOG,
    CAP_SYS_CHROOT, CAP_SETUID,     CAP_SETGID,          CAP_KILL,    CAP_SETPCAP, CAP_SYS_NICE,
};

/* An opener's capabilities, for opening files of targets. */
static const unsigned KEPT_BY_OPENER[] = { CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH };

static int drop_capabilities(const unsigned *kept, size_t kept_count, struct error *err)
{
    bool have[CAP_LAST_CAP + 1], bounds;
    int r;

    if (capng_get_caps_process() < 0)
        return error_set(err, -EIO, "cannot read our own capabilities");
    for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
        have[cap] = capng_have_capability(CAPNG_PERMITTED, cap);
    bounds = have[CAP_SETPCAP];
    capng_clear(CAPNG_SELECT_ALL);
    for (size_t i = 0; i < kept_count; i++) {
        if (have[kept[i]])
            capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
                         kept[i]);
    }
    /* bounding set first: lowering it needs CAP_SETPCAP, which is dropped next */
    if (bounds && (r = capng_apply(CAPNG_SELECT_BOUNDS)) < 0)
        return error_set(err, -EPERM, "cannot lower the capability bounding set (%d)", r);
    r = capng_apply(CAPNG_SELECT_CAPS);
    if (r < 0)
        return error_set(err, -EPERM, "cannot drop capabilities (%d)", r);
    return 0;
}

/* Raises the soft limit to the hard limit. */
static void raise_limit(int resource)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
}

/* Sets both limits to 0, so that no child can raise them. */
static void forbid(int resource)
{
    static const struct rlimit NOTHING = { 0, 0 };

    setrlimit(resource, &NOTHING);
}

/* Raises the limit beyond the hard limit, if CAP_SYS_RESOURCE allows it. Otherwise raises it to the
 * hard limit. */
static void raise_memlock(void)
{
    static const struct rlimit NONE = { RLIM_INFINITY, RLIM_INFINITY };

    if (setrlimit(RLIMIT_MEMLOCK, &NONE) < 0)
        raise_limit(RLIMIT_MEMLOCK);
}

/* Calls that requests, libbpf and the C library need in addition to COMMON_CALLS. Other calls fail
 * with EPERM, so a C library with other needs loses functions but does not end. Missing on purpose:
 * execve, fork, socket, ptrace, mount, setns, setuid, kill of other processes, calls for modules
 * and keys. */
static const int ALLOWED[] = {
    /* for files; only memfds are open for writing */
    SCMP_SYS(access), SCMP_SYS(close_range), SCMP_SYS(dup3), SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(fallocate), SCMP_SYS(fcntl), SCMP_SYS(fstatfs),
    SCMP_SYS(ftruncate), SCMP_SYS(getcwd), SCMP_SYS(getdents64), SCMP_SYS(memfd_create),
    SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(pwrite64), SCMP_SYS(readlinkat), SCMP_SYS(statfs),
    /* for sockets */
    SCMP_SYS(accept4), SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(setsockopt),
    /* for sampling */
    SCMP_SYS(bpf), SCMP_SYS(ioctl), SCMP_SYS(perf_event_open),
    /* for the broker itself; capset() drops a capability for a moment */
    SCMP_SYS(capget), SCMP_SYS(capset), SCMP_SYS(getrlimit), SCMP_SYS(getrusage),
    SCMP_SYS(pidfd_open), SCMP_SYS(prctl), SCMP_SYS(prlimit64), SCMP_SYS(setitimer)
};

/* Further calls of the broker alone. */
static const int ALLOWED_IN_BROKER[] = {
    SCMP_SYS(unlinkat), /* removes pins of probes (sample/uprobe.h) */
};

/* Further calls of the process that forks openers. */
static const int ALLOWED_TO_FORK[] = { SCMP_SYS(clone), SCMP_SYS(seccomp),
                                       SCMP_SYS(set_robust_list), SCMP_SYS(socketpair) };

/* Calls of the launcher and of flamed-attach, which inherits this filter and then installs narrower
 * ones. */
static const int ALLOWED_IN_LAUNCHER[] = {
    /* for both programs */
    SCMP_SYS(brk), SCMP_SYS(capset), SCMP_SYS(chdir), SCMP_SYS(chroot), SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(clone), SCMP_SYS(close), SCMP_SYS(close_range),
    SCMP_SYS(connect), SCMP_SYS(dup3), SCMP_SYS(execveat), SCMP_SYS(exit), SCMP_SYS(exit_group),
    SCMP_SYS(fchdir), SCMP_SYS(fcntl), SCMP_SYS(fstat), SCMP_SYS(futex), SCMP_SYS(getpid),
    SCMP_SYS(getppid), SCMP_SYS(getrandom), SCMP_SYS(getsockopt), SCMP_SYS(gettid),
    SCMP_SYS(keyctl), SCMP_SYS(kill), SCMP_SYS(landlock_create_ruleset),
    SCMP_SYS(landlock_restrict_self), SCMP_SYS(lseek), SCMP_SYS(memfd_create), SCMP_SYS(munmap),
    SCMP_SYS(nanosleep), SCMP_SYS(newfstatat), SCMP_SYS(openat), SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_send_signal), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(prctl),
    SCMP_SYS(pread64), SCMP_SYS(prlimit64), SCMP_SYS(read), SCMP_SYS(readlinkat), SCMP_SYS(recvmsg),
    SCMP_SYS(restart_syscall), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(seccomp), SCMP_SYS(sendto), SCMP_SYS(set_robust_list),
    SCMP_SYS(setgroups), SCMP_SYS(setns), SCMP_SYS(setresgid), SCMP_SYS(setresuid),
    SCMP_SYS(setsid), SCMP_SYS(setuid), SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(umask),
    SCMP_SYS(unlinkat), SCMP_SYS(wait4), SCMP_SYS(write),
    SCMP_SYS(sigaltstack), /* sanitizers query the stack before a process that forked ends */
    /* for flamed-attach alone */
    SCMP_SYS(mknodat), /* creates an empty file */
    SCMP_SYS(sendmsg)  /* to its own guard */
};

/* Further calls where mounting in containers is allowed (mounter.h). flamed-attach forbids them
 * before it talks to a JVM. */
static const int ALLOWED_TO_MOUNT[] = {
    SCMP_SYS(fallocate),  SCMP_SYS(fchmodat), SCMP_SYS(fsconfig),  SCMP_SYS(fsmount),
    SCMP_SYS(fsopen),     SCMP_SYS(fstatfs),  SCMP_SYS(ftruncate), SCMP_SYS(getdents64),
    SCMP_SYS(getegid),    SCMP_SYS(geteuid),  SCMP_SYS(mkdirat),   SCMP_SYS(mount_setattr),
    SCMP_SYS(move_mount), SCMP_SYS(openat2),  SCMP_SYS(pipe2),     SCMP_SYS(setfsgid),
    SCMP_SYS(setfsuid),   SCMP_SYS(statx),    SCMP_SYS(umount2),
};

/* Calls of the supervisor and of its children until they install their own, narrower filters. */
static const int ALLOWED_IN_SUPERVISOR[] = {
    /* for starting programs */
    SCMP_SYS(arch_prctl), SCMP_SYS(clone), SCMP_SYS(dup2), SCMP_SYS(execve), SCMP_SYS(getgroups),
    SCMP_SYS(landlock_add_rule), SCMP_SYS(landlock_create_ruleset),
    SCMP_SYS(landlock_restrict_self), SCMP_SYS(mmap), SCMP_SYS(mount_setattr), SCMP_SYS(mprotect),
    SCMP_SYS(open), SCMP_SYS(rt_sigtimedwait), SCMP_SYS(sched_getattr), SCMP_SYS(sched_setattr),
    SCMP_SYS(set_tid_address), SCMP_SYS(setpriority), SCMP_SYS(setrlimit), SCMP_SYS(socketpair),
    SCMP_SYS(tgkill),
    /* for flamed-push: resolving host names */
    SCMP_SYS(bind), SCMP_SYS(sendmmsg),
    /* for flamed-attach's file, on a tmpfs where memfds may not be executed */
    SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fsopen)
};

/* A list of calls that are allowed with any arguments. */
struct calls {
    const int *p;
    size_t n;
};
#define CALLS(list)                                                                                \
    {                                                                                              \
        list, ARRAY_SIZE(list)                                                                     \
    }

struct lockdown {
    const unsigned *kept;
    size_t kept_count;
    struct calls calls[6];
    /* The filter allows executable memory, which the start of a program needs. */
    bool starts_programs;
    bool answers_filters; /* the filter allows ioctl(2) on the listener of a seccomp filter
                           * (helper/guard.c) */
};

/* Allows @call with arguments that meet @when. */
static int allow_when(scmp_filter_ctx ctx, int call, struct scmp_arg_cmp when)
{
    return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 1, when);
}

/* Allows mappings that are not executable, and signals to this process only. */
static int add_narrow_rules(scmp_filter_ctx ctx)
{
    const struct scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);

    return allow_when(ctx, SCMP_SYS(mmap), not_executable) ?:
           allow_when(ctx, SCMP_SYS(mprotect), not_executable) ?:
           allow_when(ctx, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
}

static int add_filter_answers(scmp_filter_ctx ctx)
{
    return allow_when(ctx, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, SECCOMP_IOCTL_NOTIF_RECV))
               ?: allow_when(ctx, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, SECCOMP_IOCTL_NOTIF_SEND));
}

static int filter_calls(const struct lockdown *l, struct error *err)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = ctx ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(l->calls); i++)
        r = calls_allow(ctx, l->calls[i].p, l->calls[i].n);
    if (r == 0 && !l->starts_programs)
        r = add_narrow_rules(ctx);
    if (r == 0 && l->answers_filters)
        r = add_filter_answers(ctx);
    /* makes the C library use clone(), which is on the lists */
    if (r == 0 && l->starts_programs)
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (r == 0)
        r = seccomp_load(ctx);
    seccomp_release(ctx);
    return r < 0 ? error_code(err, r, "cannot install the filter of system calls") : 0;
}

static int lock_down(const struct lockdown *l, struct error *err)
{
    int r = drop_capabilities(l->kept, l->kept_count, err);

    if (r < 0)
        return r;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_errno(err, "cannot set no_new_privs");
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return filter_calls(l, err);
}

int broker_lockdown(struct error *err)
{
    const struct lockdown l = {
        .kept = KEPT,
        .kept_count = ARRAY_SIZE(KEPT),
        .calls = { CALLS(COMMON_CALLS), CALLS(ALLOWED), CALLS(ALLOWED_IN_BROKER) },
    };

    forbid(RLIMIT_CORE);
    fds_raise_limit(FDS_WANTED);
    raise_memlock();
    return lock_down(&l, err);
}

int launcher_lockdown(bool mounts, struct error *err)
{
    const struct lockdown l = {
        .kept = KEPT_BY_LAUNCHER,
        .kept_count = ARRAY_SIZE(KEPT_BY_LAUNCHER),
        .calls = { CALLS(ALLOWED_IN_LAUNCHER),
                   { ALLOWED_TO_MOUNT, mounts ? ARRAY_SIZE(ALLOWED_TO_MOUNT) : 0 } },
        .answers_filters = true,
    };

    forbid(RLIMIT_CORE);
    raise_limit(RLIMIT_NPROC); /* flamed-attach forks as the target's user */
    forbid(RLIMIT_MEMLOCK);    /* a process that enters a container must not keep this right */
    return lock_down(&l, err);
}

int opener_lockdown(struct error *err)
{
    const struct lockdown l = {
        .kept = KEPT_BY_OPENER,
        .kept_count = ARRAY_SIZE(KEPT_BY_OPENER),
        .calls = { CALLS(COMMON_CALLS), CALLS(ALLOWED) },
    };

    forbid(RLIMIT_CORE);
    forbid(RLIMIT_MEMLOCK);
    return lock_down(&l, err);
}

int supervisor_lockdown(bool mounts, struct error *err)
{
    const struct lockdown l = {
        .kept = KEPT_BY_SUPERVISOR,
        .kept_count = ARRAY_SIZE(KEPT_BY_SUPERVISOR),
        .calls = { CALLS(COMMON_CALLS),
                   CALLS(ALLOWED),
                   CALLS(ALLOWED_IN_LAUNCHER),
                   CALLS(ALLOWED_IN_SUPERVISOR),
                   CALLS(WORKER_CALLS),
                   { ALLOWED_TO_MOUNT, mounts ? ARRAY_SIZE(ALLOWED_TO_MOUNT) : 0 } },
        .starts_programs = true,
    };

    forbid(RLIMIT_CORE);
    raise_memlock();
    return lock_down(&l, err);
}

int nursery_lockdown(struct error *err)
{
    const struct lockdown l = {
        .kept = KEPT_BY_OPENER,
        .kept_count = ARRAY_SIZE(KEPT_BY_OPENER),
        .calls = { CALLS(COMMON_CALLS), CALLS(ALLOWED), CALLS(ALLOWED_TO_FORK) },
    };

    forbid(RLIMIT_CORE);
    forbid(RLIMIT_MEMLOCK);
    return lock_down(&l, err);
}
