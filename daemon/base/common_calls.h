/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of system calls for filters: the calls that most programs of flamed need. Thread: any. */
#pragma once

#include <seccomp.h>

static const int COMMON_CALLS[] = {
    /* for open files and sockets */
    SCMP_SYS(close), SCMP_SYS(dup), SCMP_SYS(fstat), SCMP_SYS(getsockopt), SCMP_SYS(lseek),
    SCMP_SYS(newfstatat), SCMP_SYS(pread64), SCMP_SYS(read), SCMP_SYS(readlink), SCMP_SYS(readv),
    SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(shutdown), SCMP_SYS(statx), SCMP_SYS(write),
    SCMP_SYS(writev),
    /* for waiting */
    SCMP_SYS(clock_nanosleep), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
    SCMP_SYS(futex), SCMP_SYS(pipe2), SCMP_SYS(poll), SCMP_SYS(ppoll),
    /* for memory, threads and signals */
    SCMP_SYS(brk), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(madvise), SCMP_SYS(mremap),
    SCMP_SYS(munmap), SCMP_SYS(restart_syscall), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_yield), SCMP_SYS(sigaltstack),
    /* for the program itself */
    SCMP_SYS(clock_gettime), SCMP_SYS(geteuid), SCMP_SYS(getpid), SCMP_SYS(getppid),
    SCMP_SYS(getrandom), SCMP_SYS(gettid), SCMP_SYS(gettimeofday), SCMP_SYS(getuid),
    SCMP_SYS(sysinfo), SCMP_SYS(uname)
};

/* Makes the filter @ctx allow @count calls with any arguments. 0 or -errno. */
static inline int calls_allow(scmp_filter_ctx ctx, const int *calls, size_t count)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
    return r;
}
