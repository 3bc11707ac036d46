/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tracer beside a fake JVM, in the same container. It takes every process that appears in its pid
 * namespace the moment that it may, says what that process holds, and has it make a system call.
 *
 *   tracer JVM LIBJVM MODE DEVICE [CALL [ANCESTOR]]
 *
 * Starts "JVM LIBJVM MODE" (fakejvm.c). DEVICE is the number of a block device of the host. CALL:
 * the one that it makes; "all": those that are known in turn; with "!" behind it, once the filters
 * of calls are switched off, as CAP_SYS_ADMIN may. ANCESTOR: in the host's pid namespace, of whom
 * the processes must descend; no others are touched. Prints "started", and for each process that it
 * took one line:
 *
 *   caught CapInh=0 ... FD=TARGET ... NS=own ... CALL=OUTCOME
 *
 * OUTCOME: the result (say-...: all bytes together), an errno's name, or the signal that ended the
 * process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "held.h"
#include "traced.h"

#define NODE "/dev/host-disk" /* on a file system that may have devices */

#define GONE_MS 20
#define NAP_US 50
#define SAY_MOST 1000 /* times */
#define PIPES 64
#define PIPE_BYTES (1 << 20)

/* Each is none of the talker's. P: the address of the path NODE in its memory. */
#define P UINT64_MAX
static uint64_t device;
static int without_filters;
static struct call {
    const char *name;
    long number;
    uint64_t args[6];
} CALLS[] = {
    { "openat", SYS_openat, { (uint64_t)AT_FDCWD, P, O_RDONLY } },
    { "mknodat-block", SYS_mknodat, { (uint64_t)AT_FDCWD, P, S_IFBLK | 0600, 0 } },
    { "socket-inet", SYS_socket, { AF_INET, SOCK_STREAM, 0 } },
    { "ptrace", SYS_ptrace, { PTRACE_TRACEME } },
    { "clone", SYS_clone, { CLONE_PIDFD | SIGCHLD, 0, P } },
    { "clone-other", SYS_clone, { SIGCHLD } },
    { "openat2", SYS_openat2, { (uint64_t)AT_FDCWD, P, P, 24 } },
#ifdef SYS_open /* aarch64 has neither */
    { "open", SYS_open, { P, O_RDONLY } },
    { "vfork", SYS_vfork, { 0 } },
#endif
    { "execve", SYS_execve, { P, 0, 0 } },
    { "setns", SYS_setns, { 3, 0 } },
    { "unshare", SYS_unshare, { CLONE_NEWUSER } },
    { "mount", SYS_mount, { P, P, P, 0 } },
    { "write-memory", SYS_write, { 6, P, 1 } },
    { "mmap", SYS_mmap, { 0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1ul } },
    { "socket-netlink", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 } },
    { "pidfd_open", SYS_pidfd_open, { 1 } },
    { "kill", SYS_kill, { 1, 0 } },
    { "chroot", SYS_chroot, { P } },
    { "setuid", SYS_setuid, { 0 } },
    { "capset", SYS_capset, { P, P } },
    { "prctl-keepcaps", SYS_prctl, { PR_SET_KEEPCAPS, 1 } },
    { "mknodat-file", SYS_mknodat, { (uint64_t)AT_FDCWD, P, S_IFREG | 0600, 0 } },
    { "pread-status", SYS_pread64, { 8, P, 1, 0 } },
    { "read-agent", SYS_read, { 5, P, 0 } },
    { "memfd_create", SYS_memfd_create, { P, 0 } },
    { "keyctl", SYS_keyctl, { 0 } },
    { "process_vm_readv", SYS_process_vm_readv, { 1 } },
    { "clone3", SYS_clone3, { P, sizeof(struct clone_args) } },
    { "io_uring_setup", 425, { 1, P } },
    { "sendmsg", SYS_sendmsg, { 0, P, 0 } },
    /* It makes these itself, until the JVM may look at it. */
    { "readlinkat", SYS_readlinkat, { (uint64_t)AT_FDCWD, P, P, 1 } },
    { "connect", SYS_connect, { 0, P, 2 } },
    { "getsockopt", SYS_getsockopt, { 0, SOL_SOCKET, SO_PEERCRED, P, P } },
    { "seccomp", SYS_seccomp, { 1, 0, P } },
};
/* Those that it makes itself, once: descriptor, and bytes at most. */
static struct call SAID[] = {
    { "say-result", SYS_write, { 3, 0, 4000 } },
    { "say-request", SYS_sendto, { 0, 0, 256 } },
};
#define CALL_COUNT (sizeof(CALLS) / sizeof(CALLS[0]))

/* An instruction in its program that calls the kernel; 0: none was found. */
static uint64_t find_instruction(pid_t pid, uint64_t ip)
{
    char path[64], line[512];
    uint64_t found = 0;
    FILE *f;

    if (is_call(pid, ip - CALL_BYTES))
        return ip - CALL_BYTES;
    path_of(path, sizeof(path), pid, "maps");
    f = fopen(path, "r");
    while (f && !found && fgets(line, sizeof(line), f)) {
        uint64_t from, to;
        char mode[8];

        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || !strchr(mode, 'x') ||
            strstr(line, "[v"))
            continue;
        for (uint64_t at = from; at + 8 <= to && !found; at += CALL_ALIGNMENT) {
            if (is_call(pid, at))
                found = at;
        }
    }
    if (f)
        fclose(f);
    return found;
}

static void print_end(const char *name, int status)
{
    if (WIFSIGNALED(status))
        printf(" %s=SIG%s", name, sigabbrev_np(WTERMSIG(status)));
    else
        printf(" %s=exit-%d", name, WEXITSTATUS(status));
}

/* Has the process, which is stopped, make the call. True: it lives. */
static int make_call(pid_t pid, const struct call *c)
{
    struct user_regs_struct r;
    uint64_t text, at, args[6];
    int status;

    if (get_registers(pid, &r) < 0) {
        printf(" %s=registers-%s", c->name, strerrorname_np(errno));
        return 1;
    }
    at = find_instruction(pid, PC(r));
    text = (SP(r) - 512) & ~15ul;
    for (size_t i = 0; i < sizeof(NODE); i += sizeof(long)) {
        long word = 0;

        memcpy(&word, NODE + i, sizeof(NODE) - i < sizeof(word) ? sizeof(NODE) - i : sizeof(word));
        ptrace(PTRACE_POKEDATA, pid, (void *)(text + i), (void *)word);
    }
    for (int i = 0; i < 6; i++)
        args[i] = c->args[i] == P ? text : c->args[i];
    if (!at || set_call(pid, &r, at, c->number, args) < 0 ||
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0) {
        printf(" %s=not-made", c->name);
        return 1;
    }
    waitpid(pid, &status, __WALL);
    if (!WIFSTOPPED(status)) {
        print_end(c->name, status);
        return 0;
    }
    get_registers(pid, &r);
    if (RESULT(r) < 0)
        printf(" %s=%s", c->name, strerrorname_np((int)-RESULT(r)));
    else
        printf(" %s=ok-%ld", c->name, RESULT(r));
    return 1;
}

/* The largest of its mappings. */
static size_t find_memory(pid_t pid, uint64_t *ret)
{
    char path[64], line[512];
    size_t most = 0;
    FILE *f;

    path_of(path, sizeof(path), pid, "maps");
    f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f)) {
        uint64_t from, to;

        if (sscanf(line, "%lx-%lx r", &from, &to) == 2 && !strstr(line, "[") && to - from > most) {
            most = to - from;
            *ret = from;
        }
    }
    if (f)
        fclose(f);
    return most;
}

/* Moves what is in its pipe into pipes of ours, with the pages. */
static void keep_pages(int from)
{
    static int pipes[PIPES][2];
    static size_t count, at;

    for (;;) {
        if (at == count) {
            if (count == PIPES || pipe2(pipes[count], O_CLOEXEC | O_NONBLOCK) < 0)
                return;
            fcntl(pipes[count++][1], F_SETPIPE_SZ, PIPE_BYTES);
        }
        if (splice(from, NULL, pipes[at][1], NULL, PIPE_BYTES, SPLICE_F_NONBLOCK) > 0)
            continue;
        if (poll(&(struct pollfd){ .fd = from, .events = POLLIN }, 1, 0) <= 0)
            return;
        at++; /* it is full */
    }
}

/* Has the process say as much as it may. True: it lives. */
static int say(pid_t pid, const struct call *c)
{
    struct user_regs_struct began, r;
    uint64_t at = 0, memory = 0;
    size_t n = find_memory(pid, &memory), sum = 0;
    char path[64];
    int status, from;

    path_of(path, sizeof(path), pid, "fd/3");
    from = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (from >= 0)
        fcntl(from, F_SETPIPE_SZ, PIPE_BYTES);
    if (get_registers(pid, &began) == 0)
        at = find_instruction(pid, PC(began));
    for (int i = 0; at && i < SAY_MOST; i++) {
        uint64_t args[6] = { c->args[0], memory, i % 2 ? n : c->args[2], MSG_DONTWAIT };

        r = began;
        if (set_call(pid, &r, at, c->number, args) < 0 ||
            ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 ||
            waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status) ||
            get_registers(pid, &r) < 0)
            break;
        keep_pages(from);
        if (RESULT(r) >= 0)
            sum += (size_t)RESULT(r);
        else if (RESULT(r) != -EPERM)
            break;
    }
    printf(" last=%s %s=ok-%zu", RESULT(r) < 0 ? strerrorname_np((int)-RESULT(r)) : "ok", c->name,
           sum);
    return WIFSTOPPED(status);
}

static void took(pid_t pid, const struct call *c)
{
    int status;

    printf("caught");
    if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0 || waitpid(pid, &status, __WALL) != pid) {
        printf(" gone\n");
        return;
    }
    if (!WIFSTOPPED(status)) {
        print_end("ended", status);
        printf("\n");
        return;
    }
    print_all(pid);
    if (without_filters)
        printf(" suspend=%s",
               ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_SUSPEND_SECCOMP) == 0
                   ? "ok"
                   : strerrorname_np(errno));
    if (c >= SAID && c < SAID + 2 ? say(pid, c) : make_call(pid, c)) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, __WALL);
    }
    printf("\n");
}

static pid_t last_pid(int fd)
{
    char text[32] = { 0 };

    return pread(fd, text, sizeof(text) - 1, 0) > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Whether it has ended. A number is taken a moment before anybody has it. */
static int is_gone(pid_t pid)
{
    struct timespec t = { 0 };
    static struct timespec since;
    static pid_t missed;

    if (kill(pid, 0) == 0 || errno != ESRCH) {
        missed = 0;
        return 0;
    }
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (missed != pid) {
        missed = pid;
        since = t;
    }
    return (t.tv_sec - since.tv_sec) * 1000 + (t.tv_nsec - since.tv_nsec) / 1000000 >= GONE_MS;
}

/* Short beside the life of any process. Who has slept comes before who has used up its turn, on a
 * busy machine: so it misses less than one that never sleeps. */
static void nap(void)
{
    usleep(NAP_US);
}

static const struct call *find_call(const char *name)
{
    size_t n = strcspn(name, "!");

    without_filters = name[n] == '!';
    for (size_t i = 0; i < CALL_COUNT; i++) {
        if (strncmp(CALLS[i].name, name, n) == 0 && CALLS[i].name[n] == 0)
            return &CALLS[i];
    }
    for (size_t i = 0; i < sizeof(SAID) / sizeof(SAID[0]); i++) {
        if (strcmp(SAID[i].name, name) == 0)
            return &SAID[i];
    }
    exit(4);
}

static void make_node(void)
{
    CALLS[1].args[3] = device;
    printf("mknod: %s\n", mknod(NODE, S_IFBLK | 0600, device) == 0 ? "ok" : strerrorname_np(errno));
    printf("own-open: %s\n", open(NODE, O_RDONLY) >= 0 ? "ok" : strerrorname_np(errno));
}

/* ---- in the host's pid namespace, among all its processes ---- */

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512] = { 0 };
    int fd;
    pid_t parent = 0;
    const char *p;

    path_of(path, sizeof(path), pid, "stat");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) > 0 && (p = strrchr(text, ')')))
        sscanf(p + 1, " %*c %d", &parent);
    close(fd);
    return parent;
}

static int descends(pid_t pid, pid_t ancestor)
{
    for (pid = parent_of(pid); pid > 1; pid = parent_of(pid)) {
        if (pid == ancestor)
            return 1;
    }
    return 0;
}

/* Tries all descendants that began since, again and again. */
static void take_descendants(pid_t ancestor, int last_fd, const struct call *only)
{
    static pid_t tried[4096];
    pid_t done = last_pid(last_fd);
    unsigned tries = 0;
    size_t n = 0;

    for (;;) {
        pid_t last = last_pid(last_fd);

        if (last - done > 4096 || last < done)
            done = last;
        for (pid_t pid = done + 1; pid <= last && n < 4096; pid++) {
            if (descends(pid, ancestor))
                tried[n++] = pid;
            else if (kill(pid, 0) < 0 && errno == ESRCH && pid == last)
                last--; /* nobody has it yet */
        }
        done = last;
        for (size_t i = 0; i < n; i++) {
            if (ptrace(PTRACE_SEIZE, tried[i], NULL, NULL) == 0)
                took(tried[i], only ? only : &CALLS[tries++ % CALL_COUNT]);
            else if (errno == EPERM)
                continue;
            tried[i--] = tried[--n];
        }
        nap();
    }
}

/* ---- in a pid namespace of its own: the next one is known ---- */

static void take_next(int last_fd, const struct call *only)
{
    pid_t done = last_pid(last_fd);
    unsigned tries = 0;

    for (;;) {
        pid_t pid = done + 1;

        if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0) {
            took(pid, only ? only : &CALLS[tries++ % CALL_COUNT]);
            done = pid;
        } else if (last_pid(last_fd) >= pid && is_gone(pid)) {
            done = pid;
        } else {
            nap();
        }
    }
}

int main(int argc, char **argv)
{
    int last_fd = open("/proc/sys/kernel/ns_last_pid", O_RDONLY);
    const struct call *only = argc > 5 && strcmp(argv[5], "all") != 0 ? find_call(argv[5]) : NULL;

    if (argc < 5 || last_fd < 0)
        return 2;
    if (argc <= 6 && getpid() != 1) /* whoever is next may be anybody's */
        return 5;
    setvbuf(stdout, NULL, _IOLBF, 0);
    prctl(PR_SET_TIMERSLACK, 1); /* ns: else a nap is twice as long */
    device = strtoull(argv[4], NULL, 10);
    make_node();
    if (fork() == 0) {
        execl(argv[1], argv[1], argv[2], argv[3], (char *)NULL);
        _exit(127);
    }
    if (argc > 6)
        take_descendants((pid_t)strtol(argv[6], NULL, 10), last_fd, only);
    take_next(last_fd, only);
}
