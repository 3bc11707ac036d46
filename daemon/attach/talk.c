/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed-attach talks to the JVM: the protocol of HotSpot's attach listener, version 1, which JDK 8
 * to 26 speak. All names are fixed ones below the target's own root.
 *
 *   /tmp/.java_pidN     the JVM's socket; there since somebody attached, or from the start
 *   /tmp/.attach_pidN   exists while SIGQUIT is sent: tells the JVM that it is to listen, not to
 *                       print a thread dump
 *
 * SIGQUIT ends a process that does not catch it (-Xrs, a JVM in its first moments), and one that is
 * stopped would take it later, when our file is gone, and print the dump: so the target's state is
 * read right before, from the host's own /proc.
 */
#include "attach/become.h"

#include "agent/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#define STATUS_MAX 65536
#define POLL_FIRST_MS 1
#define POLL_MOST_MS 100

static bool starts(const char *s, const char *with)
{
    while (*with) {
        if (*s++ != *with++)
            return false;
    }
    return true;
}

/* Appends a NUL-terminated text (the NUL too), or a number. The new end. */
static char *add_text(char *to, const char *s)
{
    while ((*to = *s++))
        to++;
    return to;
}

static char *add_number(char *to, long n)
{
    char digits[24];
    int count = 0;

    do {
        digits[count++] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    while (count)
        *to++ = digits[--count];
    *to = '\0';
    return to;
}

/* Our pid as the target's /proc has it, which may be that of another pid namespace than its. */
static long own_pid(void)
{
    char text[24] = { 0 };
    long n = raw4(SYS_readlinkat, AT_FDCWD, "/proc/self", text, sizeof(text) - 1), pid = 0;

    for (const char *p = text; n > 0 && n < 11 && *p >= '0' && *p <= '9'; p++)
        pid = pid * 10 + (*p - '0');
    return pid > 0 ? pid : raw0(SYS_getpid);
}

static void sleep_ms(uint64_t ms)
{
    struct timespec t = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000) };

    raw2(SYS_nanosleep, &t, NULL);
}

/* Waits for @fd. 1: there is something; 0: not before @deadline_ns. */
static int wait_for(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd p = { .fd = fd, .events = events };
    long r;

    do {
        uint64_t ms = attach_deadline_left_ms(deadline_ns, attach_now_ns());
        struct timespec t = { .tv_sec = (time_t)(ms / 1000),
                              .tv_nsec = (long)(ms % 1000 * 1000000) };

        if (!ms)
            return 0;
        r = raw5(SYS_ppoll, &p, 1, &t, NULL, 8);
    } while (r == -EINTR);
    return r > 0;
}

/* Whether SIGQUIT may be sent: it is caught, and the process is neither stopped nor dead. 0, or
 * -EBUSY (stopped), -ESRCH (gone), -ENOTSUP (not caught). */
static int check_state(void)
{
    static char text[STATUS_MAX];
    long n = raw4(SYS_pread64, ATTACH_FD_STATUS, text, sizeof(text) - 1, 0);
    uint64_t caught = 0;
    bool line_start = true;

    if (n <= 0)
        return -ESRCH;
    text[n] = '\0';
    for (const char *p = text; *p; line_start = *p == '\n', p++) {
        if (!line_start)
            continue;
        if (starts(p, "State:\t")) {
            char state = p[7];

            if (state == 'T' || state == 't')
                return -EBUSY;
            if (state == 'Z' || state == 'X')
                return -ESRCH;
        } else if (starts(p, "SigCgt:\t")) {
            for (const char *q = p + 8; *q && *q != '\n'; q++)
                caught = caught << 4 | (uint64_t)(*q <= '9' ? *q - '0' : *q - 'a' + 10);
        }
    }
    return caught >> (SIGQUIT - 1) & 1 ? 0 : -ENOTSUP;
}

/* Connects to @path, a socket of our own user's. The descriptor; -ENOENT: there is none, or nobody
 * listens at it. */
static int connect_to(const char *path, uint32_t uid, uint32_t *ret_step)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    struct stat st;
    long fd, r;

    *ret_step = ATTACH_STEP_SOCKET;
    r = raw4(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);
    if (r < 0)
        return (int)r;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel wrote it */
    if (!S_ISSOCK(st.st_mode))
        return -ENOTSOCK;
    if (st.st_uid != uid)
        return -EPERM;
    *ret_step = ATTACH_STEP_CONNECT;
    fd = raw3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return (int)fd;
    add_text(sa.sun_path, path);
    r = raw3(SYS_connect, fd, &sa, sizeof(sa));
    if (r < 0) {
        raw1(SYS_close, fd);
        return r == -ECONNREFUSED ? -ENOENT : (int)r;
    }
    return (int)fd;
}

/* Tells the JVM to listen. The file is removed by the caller when *ret_made. */
static int trigger(const char *path, bool *ret_made, uint32_t *ret_step)
{
    long fd, r;

    *ret_step = ATTACH_STEP_STATE;
    r = check_state();
    if (r < 0)
        return (int)r;
    *ret_step = ATTACH_STEP_TRIGGER;
    fd = raw4(SYS_openat, AT_FDCWD, path,
              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd == -EEXIST) /* somebody else is doing the same: wait for their socket */
        return 0;
    if (fd < 0)
        return (int)fd;
    raw1(SYS_close, fd);
    *ret_made = true;
    *ret_step = ATTACH_STEP_STATE;
    r = check_state(); /* again: the file took its time */
    if (r < 0)
        return (int)r;
    *ret_step = ATTACH_STEP_SIGNAL;
    return (int)raw4(SYS_pidfd_send_signal, ATTACH_FD_TARGET, SIGQUIT, NULL, 0);
}

/* A connection to the JVM's listener, which is made to listen if it does not. */
static int reach(const struct attach_job *job, uint64_t deadline_ns, struct attach_result *result,
                 uint32_t *ret_step)
{
    char socket_path[48], trigger_path[48];
    uint64_t pause_ms = POLL_FIRST_MS;
    bool made = false;
    int fd;

    add_number(add_text(socket_path, "/tmp/.java_pid"), job->ns_pid);
    add_number(add_text(trigger_path, "/tmp/.attach_pid"), job->ns_pid);
    fd = connect_to(socket_path, job->uid, ret_step);
    if (fd == -ENOENT) {
        int r = trigger(trigger_path, &made, ret_step);

        result->started = made && r == 0;
        while (r == 0 && fd == -ENOENT) {
            struct pollfd gone = { .fd = ATTACH_FD_TARGET, .events = POLLIN };
            struct timespec no_time = { 0 };

            if (raw5(SYS_ppoll, &gone, 1, &no_time, NULL, 8) > 0) {
                *ret_step = ATTACH_STEP_LISTENER;
                r = -ESRCH;
            } else if (attach_now_ns() >= deadline_ns) {
                *ret_step = ATTACH_STEP_LISTENER;
                r = -ETIMEDOUT;
            } else {
                sleep_ms(pause_ms);
                pause_ms = pause_ms * 2 < POLL_MOST_MS ? pause_ms * 2 : POLL_MOST_MS;
                fd = connect_to(socket_path, job->uid, ret_step);
            }
        }
        if (made)
            raw3(SYS_unlinkat, AT_FDCWD, trigger_path, 0);
        if (r < 0)
            return r;
    }
    raw1(SYS_close, ATTACH_FD_TARGET);
    raw1(SYS_close, ATTACH_FD_STATUS);
    return fd;
}

/* Who listens must be the JVM itself. */
static int check_peer(int fd, const struct attach_job *job)
{
    struct ucred peer = { 0 };
    socklen_t n = sizeof(peer);
    long r = raw5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);

    if (r < 0)
        return (int)r;
    return peer.pid == job->ns_pid && peer.uid == job->uid ? 0 : -EPERM;
}

/* The folder that was mounted over. */
static char *add_mounted(char *p, uint32_t mode)
{
    static const char folders[ATTACH_MOUNT_FOLDER_COUNT][8] = ATTACH_MOUNT_FOLDERS;

    return add_text(add_text(add_text(p, "/"), folders[mode - ATTACH_MOUNT]), "/");
}

/* The request: version, command and always three arguments, each with its NUL: with fewer a JVM
 * waits for ever. */
static size_t write_request(const struct attach_job *job, char *to)
{
    char *p = add_text(to, "1") + 1;
    long self = own_pid();

    if (attach_loads(job->mode)) {
        p = add_text(p, "load") + 1;
        if (job->mode == ATTACH_COPY) {
            p = add_text(p, COPY_PATH) + 1;
        } else if (job->mode >= ATTACH_MOUNT) {
            p = add_text(add_mounted(p, job->mode), ATTACH_MOUNT_AGENT) + 1;
        } else {
            p = add_text(add_number(add_text(p, "/proc/"), self), "/fd/");
            p = add_number(p, ATTACH_FD_AGENT) + 1;
        }
        p = add_text(p, "true") + 1; /* the path is absolute */
        if (job->mode >= ATTACH_MOUNT) {
            p = add_text(add_mounted(p, job->mode), ATTACH_MOUNT_FOLDER "/");
            p = add_text(p, ATTACH_MOUNT_STREAM) + 1;
        } else {
            p = add_text(add_number(add_text(p, "/proc/"), self), "/fd/");
            p = add_number(p, ATTACH_FD_OUT) + 1;
        }
    } else {
        p = add_text(p, "jcmd") + 1;
        p = add_text(add_number(add_text(p, "Compiler.perfmap /proc/"), self), "/fd/");
        p = add_number(p, ATTACH_FD_OUT) + 1;
        p = add_text(p, "") + 1;
        p = add_text(p, "") + 1;
    }
    return (size_t)(p - to);
}

/* All that comes until the JVM closes, as much as fits. */
static int read_reply(int fd, uint64_t deadline_ns, struct attach_result *result)
{
    for (;;) {
        long n;

        if (!wait_for(fd, POLLIN, deadline_ns))
            return -ETIMEDOUT;
        n = raw3(SYS_read, fd, result->reply + result->reply_n,
                 sizeof(result->reply) - result->reply_n);
        if (n == -EINTR || n == -EAGAIN)
            continue;
        if (n < 0)
            return result->reply_n ? 0 : (int)n;
        result->reply_n += (uint32_t)n;
        if (n == 0 || result->reply_n == sizeof(result->reply))
            return 0;
    }
}

int talk_to_jvm(const struct attach_job *job, struct attach_result *result, uint32_t *ret_step)
{
    uint64_t deadline_ns = attach_now_ns() + job->timeout_ms * UINT64_C(1000000);
    char request[256];
    size_t n;
    int fd, r;

    fd = reach(job, deadline_ns, result, ret_step);
    if (fd < 0)
        return fd;
    *ret_step = ATTACH_STEP_PEER;
    r = check_peer(fd, job);
    if (r < 0)
        return r;
    if (job->mode == ATTACH_COPY) {
        *ret_step = ATTACH_STEP_COPY;
        r = copy_agent();
        if (r < 0)
            return r;
    }
    *ret_step = ATTACH_STEP_SEND;
    n = write_request(job, request);
    /* From here until the reply the JVM may open our descriptors, and so may whoever else has its
     * user: the agent (sealed), the memory file that the JVM writes anyhow, the pipe. */
    raw2(SYS_prctl, PR_SET_DUMPABLE, 1);
    r = (int)raw6(SYS_sendto, fd, (long)request, (long)n, MSG_NOSIGNAL, 0, 0);
    if (r == (int)n) {
        *ret_step = ATTACH_STEP_REPLY;
        r = read_reply(fd, deadline_ns, result);
    } else if (r >= 0) {
        r = -EIO;
    }
    raw2(SYS_prctl, PR_SET_DUMPABLE, 0);
    if (job->mode == ATTACH_COPY)
        copy_remove();
    return r;
}
