/* SPDX-License-Identifier: Apache-2.0 */
#include "privileged/child.h"

#include "base/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHILD_FD 3

int child_start(const char *name, int (*run)(int socket), int *ret_fd)
{
    int pair[2], r;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    pid = fork();
    if (pid == 0) {
        if (pair[1] != CHILD_FD && dup3(pair[1], CHILD_FD, O_CLOEXEC) < 0)
            _exit(1);
        fds_close(CHILD_FD + 1, ~0u);
        fcntl(CHILD_FD, F_SETFD, FD_CLOEXEC);
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        prctl(PR_SET_NAME, name);
        _exit(run(CHILD_FD) < 0);
    }
    r = -errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return r;
    }
    *ret_fd = pair[0];
    return pid;
}
