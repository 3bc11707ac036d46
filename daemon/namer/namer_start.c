/* SPDX-License-Identifier: Apache-2.0 */
#include "namer/namer_process.h"

#include "base/cleanup.h"
#include "base/fds.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static int become_namer(void)
{
    char *const argv[] = { (char *)"flamed-namer", (char *)NAMER_OPTION, NULL };
    char *const environment[] = { NULL };

    execve("/proc/self/exe", argv, environment);
    return 1;
}

static int start(int (*run)(void), int *ret_fd, struct error *err)
{
    int pair[2], moved;
    pid_t parent = getpid(), pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "cannot make a socket to the namer");
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        moved = fcntl(pair[1], F_DUPFD, NAMER_FD + 1); /* dup2() to the same number would keep
                                                        * CLOEXEC */
        if (getppid() != parent || moved < 0 || dup2(moved, NAMER_FD) < 0)
            _exit(1);
        fds_close(NAMER_FD + 1, ~0u);
        _exit(run());
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return error_errno(err, "cannot start the namer");
    }
    *ret_fd = pair[0];
    return 0;
}

int namer_start(int *ret_fd, struct error *err)
{
    return start(become_namer, ret_fd, err);
}

int namer_fork(int *ret_fd, struct error *err)
{
    return start(namer_run, ret_fd, err);
}
