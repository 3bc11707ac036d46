/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that flamed's sandbox (sandbox.c) allows with any arguments, in addition to
 * COMMON_CALLS. The list is shared because filters are inherited: the supervisor's filter must
 * allow what its children need.
 */
#pragma once

#include <seccomp.h>

static const int WORKER_CALLS[] = {
    /* for files, which Landlock and the user limit; sandbox.c allows open() and openat() */
    SCMP_SYS(access), SCMP_SYS(close_range), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(fadvise64), SCMP_SYS(fallocate), SCMP_SYS(fchmod), SCMP_SYS(fdatasync),
    SCMP_SYS(flock), SCMP_SYS(fstatfs), SCMP_SYS(fsync), SCMP_SYS(ftruncate), SCMP_SYS(getcwd),
    SCMP_SYS(getdents64), SCMP_SYS(lstat), SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(preadv),
    SCMP_SYS(pwrite64), SCMP_SYS(readlinkat), SCMP_SYS(rename), SCMP_SYS(renameat),
    SCMP_SYS(renameat2), SCMP_SYS(rmdir), SCMP_SYS(stat), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
    SCMP_SYS(name_to_handle_at), /* returns a handle only; open_by_handle_at() is missing here */
    /* for existing and accepted sockets; sandbox.c allows some of sendto() and setsockopt() */
    SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(getpeername), SCMP_SYS(getsockname),
    /* for waiting */
    SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(eventfd2), SCMP_SYS(nanosleep),
    SCMP_SYS(pselect6), SCMP_SYS(select), SCMP_SYS(signalfd4), SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_gettime), SCMP_SYS(timerfd_settime),
    /* for memory and threads */
    SCMP_SYS(futex_waitv), SCMP_SYS(get_robust_list), SCMP_SYS(membarrier),
    SCMP_SYS(rt_sigtimedwait), SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler),
    SCMP_SYS(set_robust_list), SCMP_SYS(set_tid_address),
    /* about flamed itself; a pidfd can only watch: calls that signal through it are missing */
    SCMP_SYS(clock_getres), SCMP_SYS(getcpu), SCMP_SYS(getegid), SCMP_SYS(getgid),
    SCMP_SYS(getrlimit), SCMP_SYS(getrusage), SCMP_SYS(pidfd_open), SCMP_SYS(time), SCMP_SYS(times),
    SCMP_SYS(umask)
};
