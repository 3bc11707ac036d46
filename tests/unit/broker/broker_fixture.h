/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real flamed-broker as a child on a socket pair, and processes as its targets. For
 * test_broker*.c; FLAMED_BROKER is the path of the program.
 */
#pragma once

#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker_client/broker.h"
#include "broker_client/requests.h"
#include "broker_client/wire.h"
#include "ready_child.h"
#include "tests/maps_of.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The file for the request `config`. %d: the test's pid. */
#define FIXTURE_CONFIG "/tmp/test_broker.%d.yaml"

struct fixture {
    pid_t broker;
    int fd;           /* raw: the client's end, until fixture_client() */
    struct broker *b; /* of fixture_client() */
    int proc_fd;
    char dir[64]; /* the test's own folder */
};

static struct fixture fx;

/* Starts the broker without the capabilities @without (bits), as if the machine lacked them. */
static inline pid_t start_broker_without(uint64_t without, int *ret_fd)
{
    int pair[2];
    pid_t pid;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    pid = fork();
    if (pid == 0) {
        char client[32], fd[16], config[64];
        char *argv[] = { (char *)"flamed-broker",     fd,  client, config,
                         (char *)"--log-level=error", NULL };

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        snprintf(client, sizeof(client), "--client=%d", getppid());
        snprintf(config, sizeof(config), "--config=" FIXTURE_CONFIG, getppid());
        snprintf(fd, sizeof(fd), "--fd=%d", dup(pair[1]));
        for (unsigned long cap = 0; cap < 64; cap++) {
            if (without >> cap & 1)
                prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
        }
        /* The leak sanitizer needs system calls that the broker has given up. */
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        execv(FLAMED_BROKER, argv);
        _exit(127);
    }
    close(pair[1]);
    *ret_fd = pair[0];
    return pid;
}

static inline pid_t start_broker(int *ret_fd)
{
    return start_broker_without(0, ret_fd);
}

static inline void fixture_start(void)
{
    fx = (struct fixture){ .fd = -1 };
    fx.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(fx.dir, sizeof(fx.dir), "/tmp/flamed-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(fx.dir));
    chmod(fx.dir, 0755);
    fx.broker = start_broker(&fx.fd);
}

static inline void fixture_client(void)
{
    ck_assert_int_eq(broker_new(take_fd(&fx.fd), &fx.b), 0);
}

static inline void fixture_with_client(void)
{
    fixture_start();
    fixture_client();
}

/* Gets the facts once the kernel has checked the BPF programs. That takes seconds on a busy
 * machine. */
static inline void facts_once_loaded(struct broker *b, struct broker_facts *ret)
{
    struct error err = ERROR_NULL;

    do {
        ck_assert_msg(broker_facts(b, ret, &err) == 0, "%s", err.msg);
        usleep(ret->bpf_loading ? 10000 : 0);
    } while (ret->bpf_loading);
}

static inline void remove_tree(const char *path)
{
    pid_t rm = fork();

    if (rm == 0) {
        execlp("rm", "rm", "-rf", "--one-file-system", path, NULL);
        _exit(127);
    }
    waitpid(rm, NULL, 0);
}

/* Fails if the broker ended before its client closed the connection. */
static inline void fixture_stop(void)
{
    int status;

    ck_assert_int_eq(waitpid(fx.broker, &status, WNOHANG), 0);
    fx.b = broker_free(fx.b);
    fx.fd = close_fd(fx.fd);
    ck_assert_int_eq(waitpid(fx.broker, &status, 0), fx.broker);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", status);
    close_fd(fx.proc_fd);
    remove_tree(fx.dir);
}

/* Sets up a fixture without this broker: the peer is another program, or there is none. */
static inline void fixture_without_broker(void)
{
    fx = (struct fixture){ .fd = -1 };
    fx.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static inline void fixture_without_broker_end(void)
{
    close(fx.proc_fd);
}

static inline int count_fds(pid_t pid)
{
    char path[40];
    DIR *d;
    int n = 0;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    d = opendir(path);
    ck_assert_ptr_nonnull(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static inline struct proc_id id_of(pid_t pid)
{
    struct proc_id id = { .host_pid = pid };

    ck_assert_int_eq(proc_read_start(fx.proc_fd, pid, &id.start_ticks), 0);
    return id;
}

/* Sends @sig to the children of @parent with the name @called. Returns their number, and the last
 * one's pid. */
static inline int signal_children(int parent, const char *name, int sig, int *ret_last)
{
    struct proc_stat st;
    char path[64];
    int pid, found = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
    _cleanup_fclose_ FILE *children = fopen(path, "re");
    ck_assert_ptr_nonnull(children);
    while (fscanf(children, "%d", &pid) == 1) {
        if (proc_read_stat(fx.proc_fd, pid, &st) == 0 && strcmp(st.comm, name) == 0 &&
            kill(pid, sig) == 0) {
            *ret_last = pid;
            found++;
        }
    }
    return found;
}

/* Kills all processes of the broker @pid that open files. Checks that the broker, asked by @b, then
 * ends with an error. Frees @b. */
static inline void check_end_without_openers(struct broker *b, pid_t pid)
{
    struct error err = ERROR_NULL;
    struct proc_id id = id_of(getpid());
    int fd = -1, status, last, n;

    for (n = 0; signal_children(pid, "flamed-opener", 0, &last) < 4 && n < 500; n++)
        usleep(10000);
    ck_assert_int_eq(signal_children(pid, "flamed-nursery", SIGKILL, &last), 1);
    ck_assert_int_eq(signal_children(pid, "flamed-opener", SIGKILL, &last), 4);
    for (n = 0; waitpid(pid, &status, WNOHANG) == 0 && n < 1000; n++) {
        ck_assert_int_lt(broker_perfmap(b, &id, &fd, &err), 0);
        usleep(10000);
    }
    ck_assert_int_lt(n, 1000);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 1, "status 0x%x", status);
    broker_free(b);
}

/* Starts a child that runs @fn, then waits to be killed. Returns when @fn is done. */
static inline pid_t start_child(void (*fn)(void *), void *cookie)
{
    int ready[2];
    char c;
    pid_t pid;

    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        /* An open copy in the child would hide from the broker that its client left. */
        close(fx.b ? broker_fd(fx.b) : fx.fd);
        if (fn)
            fn(cookie);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

/* Reads the maps of a process from the broker's @fd, which it borrows. Needs maps_deinit(). */
static inline void read_maps(int fd, struct maps *ret)
{
    ck_assert_int_eq(maps_of(fd, ret), 0);
}

static inline void write_file(const char *path, const void *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    ck_assert_int_eq(write(fd, p, n), (ssize_t)n);
    close(fd);
}

static inline bool file_is(int fd, const char *content)
{
    char text[256];
    ssize_t n = pread(fd, text, sizeof(text), 0);

    return n == (ssize_t)strlen(content) && memcmp(text, content, strlen(content)) == 0;
}

/* Returns 0 if the broker can be tested here, else 77 to skip. */
static inline int can_test_broker(void)
{
    if (geteuid() != 0) {
        fprintf(stderr, "skipped: needs root\n");
        return 77;
    }
    return 0;
}
