/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox.h"

#include "base/cleanup.h"
#include "base/common_calls.h"
#include "base/landlock.h"
#include "base/list.h"
#include "privileged/worker_calls.h"
#include "proc/exit_status.h"
#include "proc/procmap.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- capabilities and limits ---- */

static bool has_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

    if (syscall(SYS_capget, &header, sets) < 0)
        return true;
    return ANY_OF(i, ARRAY_SIZE(sets),
                  sets[i].effective || sets[i].permitted || sets[i].inheritable);
}

static int drop_capabilities(struct error *err)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    /* PR_CAPBSET_DROP needs SETPCAP, which an unprivileged flamed never had. EINVAL marks the end
     * of the list. */
    for (unsigned long cap = 0; cap < 64; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            break;
    }
    /* A process without capabilities does not call capset(): its unit forbids the call. */
    if (has_capabilities() && syscall(SYS_capset, &header, none) < 0)
        return error_errno(err, "cannot drop our capabilities");
    return 0;
}

static int set_limits(struct error *err)
{
    static const struct rlimit NONE = { 0, 0 };

    if (setrlimit(RLIMIT_CORE, &NONE) < 0)
        return error_errno(err, "cannot forbid core files");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_errno(err, "cannot become undumpable");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_errno(err, "cannot set no_new_privs");
    return 0;
}

/* ---- Landlock ---- */

#define STORE_RIGHTS                                                                               \
    (LANDLOCK_READS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |             \
     LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |   \
     (UINT64_C(1) << 13) /* refer */ | (UINT64_C(1) << 14) /* truncate */)

static int restrict_files(const struct sandbox_opts *o, struct sandbox_report *ret,
                          struct error *err)
{
    _cleanup_close_ int proc = -1;
    _cleanup_(landlock_deinit) struct landlock l = LANDLOCK_NULL;
    int r = landlock_new(/* net_too= */ true, &l, err);

    if (r > 0) {
        snprintf(ret->landlock_problem, sizeof(ret->landlock_problem),
                 "the kernel has no Landlock: only flamed's user and the filter of system calls "
                 "limit which files it can reach; boot with lsm=landlock,... (Linux 5.13)");
        return 0;
    }
    if (r < 0)
        return r;
    if (o->proc_fd < 0) {
        proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (proc < 0)
            return error_errno(err, "cannot open /proc");
    }
    r = landlock_allow(&l, o->proc_fd < 0 ? proc : o->proc_fd, LANDLOCK_READS, err);
    if (r == 0 && o->cgroup_fd > 0)
        r = landlock_allow(&l, o->cgroup_fd, LANDLOCK_READS, err);
    if (r == 0 && o->store_fd >= 0)
        r = landlock_allow(&l, o->store_fd, STORE_RIGHTS, err);
    if (r == 0)
        r = landlock_enter(&l, err);
    return r;
}

/* ---- seccomp ---- */

/* Calls that are allowed only with certain arguments: (argument & mask) == value. */
#define EXACT UINT64_C(0xffffffff) /* ints: the kernel ignores the upper half */
#define OPENS_TO_CHANGE (O_ACCMODE | O_CREAT | O_TRUNC)
static const struct {
    int call;
    unsigned argument;
    uint64_t mask, value;
} ALLOWED_WITH[] = {
    { SCMP_SYS(mmap), 2, PROT_EXEC, 0 },
    { SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
    /* allows threads; no processes and no namespaces */
    { SCMP_SYS(clone), 0,
      CLONE_THREAD | CLONE_VM | CLONE_SIGHAND | CLONE_VFORK | CLONE_NEWNS | CLONE_NEWCGROUP |
          CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET,
      CLONE_THREAD | CLONE_VM | CLONE_SIGHAND },
    { SCMP_SYS(ioctl), 1, EXACT, FIONREAD },
    { SCMP_SYS(ioctl), 1, EXACT, FIONBIO },
    { SCMP_SYS(ioctl), 1, EXACT, PROCMAP_QUERY_CALL }, /* works only on maps files */
    { SCMP_SYS(ioctl), 1, EXACT, EXIT_STATUS_CALL },   /* works only on pidfds */
    { SCMP_SYS(prctl), 0, EXACT, PR_SET_NAME },
    { SCMP_SYS(prctl), 0, EXACT, PR_GET_NAME },
    { SCMP_SYS(setpriority), 2, EXACT, 0 },   /* no higher priority than others have */
    { SCMP_SYS(sched_getattr), 0, EXACT, 0 }, /* of the calling thread: the length of its turns */
    { SCMP_SYS(sched_setattr), 0, EXACT, 0 },
    /* Allows only sending without an address. With one, a listening socket that was shut down could
     * connect (MSG_FASTOPEN), which Landlock does not see. The socket of sd_notify could write to
     * any other socket. */
    { SCMP_SYS(sendto), 4, UINT64_MAX, 0 },
    { SCMP_SYS(fcntl), 1, EXACT, F_GETFD },
    { SCMP_SYS(fcntl), 1, EXACT, F_SETFD },
    { SCMP_SYS(fcntl), 1, EXACT, F_GETFL },
    { SCMP_SYS(fcntl), 1, EXACT, F_SETFL },
    { SCMP_SYS(fcntl), 1, EXACT, F_DUPFD },
    { SCMP_SYS(fcntl), 1, EXACT, F_DUPFD_CLOEXEC },
    { SCMP_SYS(fcntl), 1, EXACT, F_GETLK },
    { SCMP_SYS(fcntl), 1, EXACT, F_SETLK },
    { SCMP_SYS(fcntl), 1, EXACT, F_SETLKW },
    { SCMP_SYS(fcntl), 1, EXACT, F_OFD_GETLK },
    { SCMP_SYS(fcntl), 1, EXACT, F_OFD_SETLK },
    { SCMP_SYS(fcntl), 1, EXACT, F_OFD_SETLKW },
    { SCMP_SYS(fcntl), 1, EXACT, F_GET_SEALS },
    /* Allows open() for reading, or for writing but never through a link. Files that the broker
     * passed for reading could be opened again for writing through /proc/self/fd. Landlock does not
     * refuse that for files that are mounted nowhere, such as a process's code in a file in memory.
     * O_PATH is only for folders: it would keep a file of the broker's in memory, and the broker
     * does not see that (broker/given.h). */
    { SCMP_SYS(open), 1, OPENS_TO_CHANGE | O_PATH, 0 },
    { SCMP_SYS(open), 1, OPENS_TO_CHANGE | O_PATH | O_DIRECTORY, O_PATH | O_DIRECTORY },
    { SCMP_SYS(open), 1, O_NOFOLLOW, O_NOFOLLOW },
    { SCMP_SYS(openat), 2, OPENS_TO_CHANGE | O_PATH, 0 },
    { SCMP_SYS(openat), 2, OPENS_TO_CHANGE | O_PATH | O_DIRECTORY, O_PATH | O_DIRECTORY },
    { SCMP_SYS(openat), 2, O_NOFOLLOW, O_NOFOLLOW },
};

/* Calls that fail instead of killing, because a library makes them and works without them. */
static const struct {
    int call;
    int error;
} REFUSED[] = {
    { SCMP_SYS(clone3), ENOSYS }, /* glibc falls back to clone(), with flags in a register */
};

/* Options that the HTTP library sets. Other options of the listening sockets would outlive this
 * process: the next one gets the same sockets. A locked filter of packets would outlive it, too. */
static int allow_socket_options(scmp_filter_ctx ctx)
{
    static const int OPTIONS[] = { TCP_NODELAY, TCP_CORK };
    int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setsockopt), 1,
                             SCMP_A1(SCMP_CMP_NE, IPPROTO_TCP));

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(OPTIONS); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 2,
                             SCMP_A1(SCMP_CMP_EQ, IPPROTO_TCP),
                             SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)OPTIONS[i]));
    return r;
}

static int add_rules(scmp_filter_ctx ctx)
{
    int r = calls_allow(ctx, COMMON_CALLS, ARRAY_SIZE(COMMON_CALLS))
                ?: calls_allow(ctx, WORKER_CALLS, ARRAY_SIZE(WORKER_CALLS));

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ALLOWED_WITH); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, ALLOWED_WITH[i].call, 1,
                             SCMP_CMP(ALLOWED_WITH[i].argument, SCMP_CMP_MASKED_EQ,
                                      ALLOWED_WITH[i].mask, ALLOWED_WITH[i].value));
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(REFUSED); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO((uint32_t)REFUSED[i].error), REFUSED[i].call, 0);
    /* stdio asks whether its output is a terminal. */
    if (r == 0)
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, EXACT, TCGETS));
    if (r == 0)
        r = allow_socket_options(ctx);
    /* The process may read its own limits, but set none. */
    if (r == 0)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0),
                             SCMP_A2(SCMP_CMP_EQ, 0));
    /* abort() and pthread_kill() may send signals to threads of this process only. */
    if (r == 0)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                             SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
    return r;
}

static int filter_calls(struct error *err)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int r = ctx ? add_rules(ctx) : -ENOMEM;

    if (r == 0)
        r = seccomp_load(ctx);
    seccomp_release(ctx);
    return r < 0 ? error_code(err, r, "cannot install the filter of system calls") : 0;
}

int sandbox_enter(const struct sandbox_opts *o, struct sandbox_report *ret, struct error *err)
{
    int r;

    *ret = (struct sandbox_report){ 0 };
    r = set_limits(err) ?: drop_capabilities(err) ?: restrict_files(o, ret, err);
    return r < 0 ? r : filter_calls(err);
}
