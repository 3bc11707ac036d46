/* SPDX-License-Identifier: Apache-2.0 */
/* Children that hold descriptors until they are killed. */
#pragma once

#include "suite.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void say_ready(int ready)
{
    if (write(ready, "x", 1) != 1)
        _exit(1);
}

/* Runs @body in a child with copies of this process's descriptors, and returns once it has called
 * say_ready() with the descriptor that it gets. */
static inline pid_t start_holder(void (*body)(int ready, int fd), int fd)
{
    int ready[2];
    pid_t pid;
    char c;

    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body(ready[1], fd);
        pause();
        _exit(0);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

static inline void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
