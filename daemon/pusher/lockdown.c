/* SPDX-License-Identifier: Apache-2.0 */
#include "pusher/lockdown.h"

#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/landlock.h"
#include "base/log.h"

#include <fcntl.h>
#include <netdb.h>
#include <nss.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define MEMORY_BYTES ((rlim_t)256 << 20)
#define DESCRIPTORS 128

/* Sockets, waiting, memory, threads that resolve names, files to read. No exec, no kill. */
static const int ALLOWED[] = {
    SCMP_SYS(bind), /* of netlink and UDP: resolving names; Landlock forbids it for TCP */
    SCMP_SYS(brk),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(close),
    SCMP_SYS(connect),
    SCMP_SYS(dup),
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(eventfd2),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(fcntl),
    SCMP_SYS(fstat),
    SCMP_SYS(futex),
    SCMP_SYS(getegid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getpeername),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(getrandom),
    SCMP_SYS(getsockname),
    SCMP_SYS(getsockopt),
    SCMP_SYS(gettid),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(getuid),
    SCMP_SYS(lseek),
    SCMP_SYS(madvise),
    SCMP_SYS(mremap),
    SCMP_SYS(munmap),
    SCMP_SYS(nanosleep),
    SCMP_SYS(newfstatat),
    SCMP_SYS(pipe2),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(prctl),
    SCMP_SYS(pread64),
    SCMP_SYS(read),
    SCMP_SYS(readlink),
    SCMP_SYS(readv),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(rseq),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(sendmsg),
    SCMP_SYS(sendto),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(socket),
    SCMP_SYS(socketpair),
    SCMP_SYS(stat),
    SCMP_SYS(statx),
    SCMP_SYS(sysinfo),
    SCMP_SYS(uname),
    SCMP_SYS(wait4),
    SCMP_SYS(write),
    SCMP_SYS(writev),
};

#define OPENS_TO_CHANGE (O_ACCMODE | O_CREAT | O_TRUNC)
#define EXACT UINT64_C(0xffffffff)
static const struct {
    int call;
    unsigned argument;
    uint64_t mask, value;
} ALLOWED_WITH[] = {
    { SCMP_SYS(mmap), 2, PROT_EXEC, 0 },
    { SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
    /* threads and the worker's process, but no namespaces */
    { SCMP_SYS(clone), 0,
      CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
          CLONE_NEWNET,
      0 },
    { SCMP_SYS(ioctl), 1, EXACT, FIONREAD },
    { SCMP_SYS(ioctl), 1, EXACT, FIONBIO },
    { SCMP_SYS(open), 1, OPENS_TO_CHANGE, 0 },
    { SCMP_SYS(openat), 2, OPENS_TO_CHANGE, 0 },
};

/* What is not here fails: a library goes on without. */
static int filter_calls(void)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = ctx ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ALLOWED); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, ALLOWED[i], 0);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ALLOWED_WITH); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, ALLOWED_WITH[i].call, 1,
                             SCMP_CMP(ALLOWED_WITH[i].argument, SCMP_CMP_MASKED_EQ,
                                      ALLOWED_WITH[i].mask, ALLOWED_WITH[i].value));
    if (r == 0) /* its flags cannot be looked at: glibc falls back to clone() */
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (r == 0)
        r = seccomp_load(ctx);
    seccomp_release(ctx);
    return r;
}

/* /etc has resolv.conf and hosts, or links to files in these folders. */
static int restrict_files(struct error *err)
{
    static const char *const FOLDERS[] = { "/etc", "/run/systemd/resolve", "/run/resolvconf",
                                           "/run/NetworkManager" };
    _cleanup_(landlock_deinit) struct landlock l = LANDLOCK_NULL;
    int r = landlock_new(/* net_too= */ false, &l, err);

    if (r > 0)
        return 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(FOLDERS); i++) {
        _cleanup_close_ int fd = open(FOLDERS[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0)
            r = landlock_allow(&l, fd, LANDLOCK_READS, err);
    }
    return r < 0 ? r : landlock_enter(&l, err);
}

static void limit(int resource, rlim_t value)
{
    const struct rlimit limit = { value, value };

    setrlimit(resource, &limit);
}

int pusher_lockdown(struct error *err)
{
    int r;

    /* No module of another name service is loaded later: nothing becomes executable then. */
    __nss_configure_lookup("hosts", "files dns");
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_DATA, MEMORY_BYTES);
    limit(RLIMIT_NOFILE, DESCRIPTORS);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_errno(err, "cannot set no_new_privs");
    r = capabilities_drop();
    if (r < 0)
        return error_code(err, r, "cannot drop capabilities");
    r = restrict_files(err);
    if (r < 0)
        return r;
    r = filter_calls();
    return r < 0 ? error_code(err, r, "cannot install the filter of system calls") : 0;
}
