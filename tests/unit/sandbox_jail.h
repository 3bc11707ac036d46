/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children locked in by the real filter, and the objects that they had before. For
 * test_sandbox_*.c.
 */
#pragma once

#include "suite.h"

#include "sandbox.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Objects that a child has from before it was locked in. */
struct jail {
    char store[64];
    int store_fd, perf_fd, host_file_fd, memory_fd, ns_fd, listen_fd, shut_fd, unix_fd,
        unix_peer_fd;
    uint16_t port;
    pid_t victim; /* another process of the test */
};

static struct jail jail;
static bool landlock;

#define KILLED 1 /* the filter killed it; negative: its error */

/* In a child: reports an expression that is false, and fails. */
#define NEED(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            dprintf(2, "line %d: %s: %s\n", __LINE__, #x, strerror(errno));                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static inline pid_t in_sandbox(int (*fn)(void), int pipe_fd)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct sandbox_opts o = { .store_fd = jail.store_fd, .proc_fd = -1 };
        struct sandbox_report rep;
        struct error err = ERROR_NULL;
        int r = sandbox_enter(&o, &rep, &err);

        if (r < 0) {
            dprintf(2, "%s\n", err.msg);
            _exit(99);
        }
        r = fn();
        if (pipe_fd >= 0 && write(pipe_fd, &r, sizeof(r)) != sizeof(r))
            _exit(98);
        _exit(0);
    }
    return pid;
}

/* Returns KILLED, or the result of @fn. */
static inline int run(int (*fn)(void))
{
    int pipe_fds[2], status, r = 12345;
    pid_t pid;

    ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
    pid = in_sandbox(fn, pipe_fds[1]);
    close(pipe_fds[1]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        ck_assert_int_eq(WTERMSIG(status), SIGSYS);
        r = KILLED;
    } else {
        ck_assert_int_eq(WEXITSTATUS(status), 0);
        ck_assert_int_eq(read(pipe_fds[0], &r, sizeof(r)), sizeof(r));
    }
    close(pipe_fds[0]);
    return r;
}

/* Returns a file in memory, open for reading only, as a process may map one to execute. */
static inline int read_only_memory(void)
{
    int memory = memfd_create("code", MFD_CLOEXEC), fd;
    char path[40];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    close(memory);
    return fd;
}

static inline void set_up(void)
{
    struct perf_event_attr attr = { .size = sizeof(attr),
                                    .type = PERF_TYPE_SOFTWARE,
                                    .config = PERF_COUNT_SW_DUMMY };
    struct sockaddr_in sa = { .sin_family = AF_INET };
    socklen_t n = sizeof(sa);
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    jail.unix_fd = pair[0];
    jail.unix_peer_fd = pair[1];
    snprintf(jail.store, sizeof(jail.store), "/tmp/flamed-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(jail.store));
    jail.store_fd = open(jail.store, O_PATH | O_DIRECTORY | O_CLOEXEC);
    jail.host_file_fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
    jail.memory_fd = read_only_memory();
    jail.ns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    jail.perf_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    jail.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(jail.listen_fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    ck_assert_int_eq(listen(jail.listen_fd, 8), 0);
    ck_assert_int_eq(getsockname(jail.listen_fd, (struct sockaddr *)&sa, &n), 0);
    jail.port = ntohs(sa.sin_port);
    jail.shut_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(listen(jail.shut_fd, 8), 0);
    landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
    jail.victim = fork();
    if (jail.victim == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (;;)
            pause();
    }
}

static inline void tear_down(void)
{
    kill(jail.victim, SIGKILL);
    waitpid(jail.victim, NULL, 0);
    rmdir(jail.store);
    close(jail.listen_fd);
    close(jail.shut_fd);
    close(jail.store_fd);
    close(jail.host_file_fd);
    close(jail.memory_fd);
    close(jail.unix_fd);
    close(jail.unix_peer_fd);
    close(jail.ns_fd);
    close_fd(jail.perf_fd);
}
