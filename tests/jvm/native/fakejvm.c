/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM that is none, and an enemy. It maps a file called libjvm.so, and answers SIGQUIT as
 * HotSpot's attach listener does. Then it does to flamed-attach what its MODE says:
 *
 *   fakejvm LIBJVM MODE
 *
 * Prints "started", then a line for each thing that it tried: "KEY: RESULT" (ok, or an errno).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20)
#define CUT_AGAIN_S 0.5 /* before the next attach, which comes after a second */

static volatile sig_atomic_t asked;
static const char *mode;

static void on_quit(int signal)
{
    (void)signal;
    asked = 1;
}

static void told(const char *key, int ok)
{
    printf("%s: %s\n", key, ok ? "ok" : strerrorname_np(errno));
}

static void wait_s(double s)
{
    struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };

    nanosleep(&t, NULL);
}

static int is(const char *what)
{
    return strcmp(mode, what) == 0;
}

static int open_of(int helper, const char *name, int flags)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", helper, name);
    return open(path, flags | O_CLOEXEC);
}

/* ---- the thief: everything that one user can take of another of his processes ---- */

static void list_fds(int helper)
{
    char path[64], target[256];
    struct dirent *e;
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%d/fd", helper);
    d = opendir(path);
    told("fds", d != NULL);
    while (d && (e = readdir(d))) {
        char name[320];
        ssize_t n;

        if (e->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        n = readlink(name, target, sizeof(target) - 1);
        target[n < 0 ? 0 : n] = 0;
        printf("fd %s: %s\n", e->d_name, target);
    }
    if (d)
        closedir(d);
}

static void print_file(int helper, const char *name)
{
    char text[8192];
    int fd = open_of(helper, name, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    char *save = NULL;

    if (n < 0) {
        told(name, 0);
        return;
    }
    text[n] = 0;
    printf("%s bytes: %zd\n", name, n);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        printf("%s> %s\n", name, line);
    close(fd);
}

/* Whether the helper's root is ours. */
static void compare_root(int helper)
{
    struct stat ours, its;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/root", helper);
    if (stat(path, &its) < 0) {
        told("root", 0);
        return;
    }
    stat("/", &ours);
    printf("root: %s\n", ours.st_ino == its.st_ino && ours.st_dev == its.st_dev ? "own" : "other");
    snprintf(path, sizeof(path), "/proc/%d/cwd", helper);
    if (stat(path, &its) == 0)
        printf("cwd: %s\n",
               ours.st_ino == its.st_ino && ours.st_dev == its.st_dev ? "own" : "other");
}

/* Which of our namespaces it is in. */
static void compare_namespaces(int helper)
{
    static const char *const NAMES[] = {
        "user", "mnt", "pid", "ipc", "net", "uts", "cgroup", "time"
    };

    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        struct stat ours, its;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/ns/%s", helper, NAMES[i]);
        if (stat(path, &its) < 0) {
            told(path, 0);
            continue;
        }
        snprintf(path, sizeof(path), "/proc/self/ns/%s", NAMES[i]);
        stat(path, &ours);
        printf("ns %s: %s\n", NAMES[i], ours.st_ino == its.st_ino ? "own" : "other");
    }
}

static void try_write(const char *key, int fd)
{
    told(key, fd >= 0);
    if (fd >= 0) {
        char with[64];

        snprintf(with, sizeof(with), "%s-write", key);
        told(with, write(fd, "OWNED", 5) == 5);
        snprintf(with, sizeof(with), "%s-cut", key);
        told(with, ftruncate(fd, 0) == 0);
        close(fd);
    }
}

static void steal(int helper)
{
    int fd;

    print_file(helper, "status");
    print_file(helper, "environ");
    print_file(helper, "cmdline");
    print_file(helper, "cgroup");
    compare_root(helper);
    compare_namespaces(helper);
    list_fds(helper);
    try_write("agent", open_of(helper, "fd/5", O_RDWR));
    try_write("stream-cut", open_of(helper, "fd/6", O_RDONLY)); /* cannot be cut either way */
    try_write("exe", open_of(helper, "exe", O_RDWR));
    fd = open_of(helper, "mem", O_RDWR);
    told("mem", fd >= 0);
    if (fork() == 0) { /* whose end lets go of it */
        told("trace", ptrace(PTRACE_SEIZE, helper, NULL, NULL) == 0);
        _exit(0);
    }
    wait(NULL);
}

/* Keeps the program's file by a descriptor, and writes to it when nobody executes it any more. */
static void overwrite(int exe)
{
    char path[64];
    int fd = -1;

    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", exe);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd >= 0 || errno != ETXTBSY)
            break;
        wait_s(0.1);
    }
    try_write("late-exe", fd);
}

/* ---- the listener ---- */

/* Fills all of the memory file with bytes that mean nothing, behind a header that is half right. */
static int fill(int helper, unsigned seed)
{
    int fd = open_of(helper, "fd/6", O_RDWR);
    static char part[65536];
    off_t at = 0;
    ssize_t n = 0;

    told("stream", fd >= 0);
    for (size_t i = 0; i < sizeof(part); i++) {
        seed = seed * 1103515245u + 12345u;
        part[i] = (char)(seed >> 16);
    }
    for (; fd >= 0 && at < (64 << 20); at += n) {
        n = pwrite(fd, part, sizeof(part), at ? at : 192);
        if (n <= 0)
            break;
    }
    printf("filled: %lld\n", (long long)at);
    told("filled-past", n > 0);
    if (fd >= 0) {
        uint64_t head = 1 << 20;
        uint32_t state = 2;

        told("grow", ftruncate(fd, 1 << 30) == 0);
        told("shrink", ftruncate(fd, 0) == 0);
        pwrite(fd, &state, 4, 136);
        pwrite(fd, &head, 8, 128); /* stream_header.head */
    }
    return fd;
}

static void cut_pages(int fd)
{
    off_t end = lseek(fd, 0, SEEK_END);

    told("cut", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end) == 0);
}

/* Keeps all pages of the memory file in pipes: they stay charged to whom they were made for. With
 * "pages-cut" it takes them out of the file then, so that others must be made for it, and returns
 * the open file: what flamed had begun to write just then may have made its first page again. */
static int keep_pages(int helper)
{
    int fd = open_of(helper, "fd/6", O_RDWR);
    struct stat st = { 0 };
    static char part[65536];
    uint32_t streaming = 2; /* stream_header.state: so that it is read as an agent's */
    long kept = 0;
    loff_t at = 0;

    told("stream", fd >= 0 && fstat(fd, &st) == 0);
    pwrite(fd, &streaming, 4, 136);
    for (off_t to = 4096; to < st.st_size; to += (off_t)sizeof(part))
        pwrite(
            fd, part,
            (size_t)(st.st_size - to < (off_t)sizeof(part) ? st.st_size - to : (off_t)sizeof(part)),
            to);
    while (at < st.st_size) {
        loff_t before = at;
        int ends[2];
        ssize_t n;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
            break;
        fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
        while ((n = splice(fd, &at, ends[1], NULL, PIPE_BYTES, SPLICE_F_NONBLOCK)) > 0)
            kept += n;
        close(ends[1]);
        if (at == before)
            break;
    }
    printf("kept: %ld\n", kept);
    if (is("pages-cut")) {
        cut_pages(fd);
        return fd;
    }
    close(fd);
    return -1;
}

/* A tracer that never waits: what it traces stays a zombie. */
static void keep_process(int helper)
{
    int ready[2];
    char byte;
    pid_t pid;

    signal(SIGCHLD, SIG_IGN); /* what the tracer leaves becomes ours, and goes */
    if (pipe(ready) < 0)
        exit(3);
    pid = fork();
    if (pid == 0) {
        byte = ptrace(PTRACE_SEIZE, helper, NULL, NULL) == 0;
        write(ready[1], &byte, 1);
        close_range(3, ~0u, 0); /* the connection is not ours to keep */
        wait_s(3600);
    }
    read(ready[0], &byte, 1);
    close(ready[0]);
    close(ready[1]);
    printf("tracer: %d\n", byte ? pid : 0);
}

static void reply(int client, const char *text)
{
    if (write(client, text, strlen(text)) < 0)
        told("reply", 0);
}

/* One request, after which the helper waits for us. */
static void serve(int client, int helper)
{
    static char endless[4096];
    int fd = -1, exe = -1, cut = -1;

    if (is("die-request"))
        _exit(0);
    if (is("hold"))
        wait_s(3);
    if (is("pause") || is("pause-less"))
        wait_s(0.1);
    if (is("never"))
        wait_s(3600);
    if (is("steal")) {
        steal(helper);
        wait_s(0.5);
    }
    if (is("overwrite")) {
        exe = open_of(helper, "exe", O_PATH);
        told("exe-path", exe >= 0);
    }
    if (is("stop")) {
        told("stop", kill(helper, SIGSTOP) == 0);
        wait_s(3600); /* and no answer */
    }
    if (is("kill")) {
        told("kill", kill(helper, SIGKILL) == 0);
        return;
    }
    if (is("fill"))
        fd = fill(helper, 1);
    if (is("zombie"))
        keep_process(helper);
    if (is("pages") || is("pages-cut"))
        cut = keep_pages(helper);
    if (is("endless")) {
        memset(endless, 'x', sizeof(endless));
        while (send(client, endless, sizeof(endless), MSG_NOSIGNAL) > 0)
            continue;
        printf("endless: over\n");
    } else if (is("die-reply")) {
        reply(client, "0\n");
        _exit(0);
    } else {
        reply(client, "0\nreturn code: 0\n");
    }
    close(client);
    if (is("overwrite"))
        overwrite(exe);
    if (cut >= 0) {
        wait_s(CUT_AGAIN_S);
        cut_pages(cut);
        close(cut);
    }
    for (int i = 1; fd >= 0 && i < 300; i++) { /* writes on when nobody asks any more */
        uint64_t head = (uint64_t)i << 16;

        pwrite(fd, &head, 8, 128);
        wait_s(0.01);
    }
}

static int begin_to_listen(struct sockaddr_un *sa)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    sa->sun_family = AF_UNIX;
    snprintf(sa->sun_path, sizeof(sa->sun_path), "/tmp/.java_pid%d", getpid());
    unlink(sa->sun_path);
    if (fd < 0 || bind(fd, (struct sockaddr *)sa, sizeof(*sa)) < 0 || listen(fd, 8) < 0)
        exit(3);
    return fd;
}

int main(int argc, char **argv)
{
    struct sockaddr_un sa = { 0 };
    int fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, listener;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
        perror("libjvm.so");
        return 2;
    }
    close(fd);
    mode = argv[2];
    if (is("pause-less") && prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN) < 0)
        return 4;
    signal(SIGQUIT, on_quit);
    signal(SIGPIPE, SIG_IGN);
    printf("started\n");
    while (!asked)
        wait_s(0.01);
    if (is("die-signal"))
        _exit(0);
    listener = begin_to_listen(&sa);
    for (;;) {
        char request[4096];
        size_t n = 0, zeros = 0;
        struct ucred peer = { 0 };
        socklen_t size = sizeof(peer);
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        if (is("die-accept"))
            _exit(0);
        while (zeros < 5 && n < sizeof(request) && read(client, request + n, 1) == 1)
            zeros += request[n++] == 0;
        if (zeros == 5) {
            getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size);
            printf("helper: %d uid %d\n", peer.pid, peer.uid);
            serve(client, peer.pid);
        }
        close(client);
    }
}
