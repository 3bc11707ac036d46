/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The porter makes the JVM listen: the first half of the protocol of HotSpot's attach listener. All
 * names are fixed, and below the target's own root.
 *
 *   /tmp/.java_pidN     the JVM's socket; there since an earlier attach, or from the start
 *   /tmp/.attach_pidN   exists while SIGQUIT is sent: the JVM then listens, and prints no thread
 *                       dump
 *
 * SIGQUIT ends a process that does not catch it (-Xrs, a JVM in its first moments). A stopped
 * process would take the signal later, when flamed's file is gone, and print the dump. So the
 * target's state is read right before, from the host's own /proc.
 *
 * The porter never connects to the socket: the peer of a connection may ask for a pidfd of its
 * maker (SO_PEERPIDFD), also from another pid namespace. It only tries whether the socket has a
 * listener.
 */
#include "helper/become.h"

#include "agent/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#define STATUS_MAX 65536
#define POLL_FIRST_MS 1
#define POLL_MOST_MS 100
#define STALE_S 60 /* older than any attach takes: its creator was killed */

static bool starts(const char *s, const char *with)
{
    while (*with) {
        if (*s++ != *with++)
            return false;
    }
    return true;
}

/* Decides by the text of /proc/PID/status whether SIGQUIT may be sent. Returns 0, -EBUSY if the
 * process is stopped, -ESRCH if it is dead, or -ENOTSUP if it does not catch SIGQUIT. */
static int judge_status(const char *text)
{
    uint64_t caught = 0;
    bool line_start = true;

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

/* Reads the status. Returns the result of judge_status(). Clears the text, because the talker gets
 * a copy of this process's memory, which must hold nothing of the host's /proc. */
static int check_state(void)
{
    static char text[STATUS_MAX];
    long n = raw4(SYS_pread64, ATTACH_FD_STATUS, text, sizeof(text) - 1, 0);
    int r = n > 0 ? judge_status(text) : -ESRCH;

    memset(text, 0, sizeof(text));
    return r;
}

/* Probes whether a process listens at @path, a socket of our user. A datagram socket cannot connect
 * to a stream socket, and the kernel returns that error only if there is a listener. Returns 0,
 * -ENOENT if there is no socket or no listener, or another -errno. */
static int try_socket(struct attach *a, int probe_fd, const char *path)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    struct stat st;
    long r;

    a->step = ATTACH_STEP_SOCKET;
    r = raw4(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);
    if (r < 0)
        return (int)r;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel wrote it */
    if (!S_ISSOCK(st.st_mode))
        return -ENOTSOCK;
    if (st.st_uid != a->job.uid)
        return -EPERM;
    add_text(sa.sun_path, path);
    r = raw3(SYS_connect, probe_fd, &sa, sizeof(sa));
    if (r == 0) /* not the kind of socket that a JVM opens */
        return -ENOTSOCK;
    a->step = ATTACH_STEP_CONNECT;
    if (r == -EPROTOTYPE)
        return 0;
    return r == -ECONNREFUSED ? -ENOENT : (int)r;
}

/* Returns whether a killed attach has left the file @path. Such a file would keep flamed-attach
 * from sending SIGQUIT, and the JVM may never have got one. */
static bool is_stale(const struct attach *a, const char *path)
{
    struct timespec now = { 0 };
    struct stat st;

    if (raw4(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    raw2(SYS_clock_gettime, CLOCK_REALTIME, &now);
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel wrote it */
    return S_ISREG(st.st_mode) && st.st_uid == a->job.uid &&
           now.tv_sec - st.st_mtim.tv_sec > STALE_S;
}

/* Makes the JVM listen. The caller removes the file if *ret_made. */
static int trigger(struct attach *a, const char *path, bool *ret_made)
{
    long r;

    a->step = ATTACH_STEP_STATE;
    r = check_state();
    if (r < 0)
        return (int)r;
    a->step = ATTACH_STEP_TRIGGER;
    if (is_stale(a, path))
        raw3(SYS_unlinkat, AT_FDCWD, path, 0);
    r = raw4(SYS_mknodat, AT_FDCWD, path, S_IFREG | 0600, 0);
    if (r == -EEXIST) /* another attach is under way: wait for its socket */
        return 0;
    if (r < 0)
        return (int)r;
    *ret_made = true;
    a->step = ATTACH_STEP_STATE;
    r = check_state(); /* again: creating the file took time */
    if (r < 0)
        return (int)r;
    a->step = ATTACH_STEP_SIGNAL;
    return (int)raw4(SYS_pidfd_send_signal, ATTACH_FD_TARGET, SIGQUIT, NULL, 0);
}

/* Waits until a process listens at @path. Return: 0 or -errno. */
static int wait_for_socket(struct attach *a, int probe_fd, const char *path)
{
    uint64_t pause = POLL_FIRST_MS;
    int r = -ENOENT;

    while (r == -ENOENT) {
        struct pollfd gone = { .fd = ATTACH_FD_TARGET, .events = POLLIN };
        struct timespec no_time = { 0 };

        a->step = ATTACH_STEP_LISTENER;
        if (raw5(SYS_ppoll, &gone, 1, &no_time, NULL, 8) > 0)
            return -ESRCH;
        if (attach_now_ns() >= a->deadline_ns)
            return -ETIMEDOUT;
        pause_ms(pause);
        pause = pause * 2 < POLL_MOST_MS ? pause * 2 : POLL_MOST_MS;
        r = try_socket(a, probe_fd, path);
    }
    return r;
}

static int make_it_listen(struct attach *a, int probe_fd, const char *socket_path,
                          const char *trigger_path)
{
    bool made = false;
    int r = trigger(a, trigger_path, &made);

    a->result.started = made && r == 0;
    if (r == 0)
        r = wait_for_socket(a, probe_fd, socket_path);
    if (made)
        raw3(SYS_unlinkat, AT_FDCWD, trigger_path, 0);
    return r;
}

int reach_jvm(struct attach *a)
{
    char socket_path[48], trigger_path[48];
    int probe_fd, r;

    add_number(add_text(socket_path, JVM_SOCKET), a->job.ns_pid);
    add_number(add_text(trigger_path, "/tmp/.attach_pid"), a->job.ns_pid);
    a->step = ATTACH_STEP_SOCKET;
    probe_fd = (int)raw3(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe_fd < 0)
        return probe_fd;
    r = try_socket(a, probe_fd, socket_path);
    if (r == 0) /* it listens already: remove the file of a killed attach, if any */
        raw3(SYS_unlinkat, AT_FDCWD, trigger_path, 0);
    else if (r == -ENOENT)
        r = make_it_listen(a, probe_fd, socket_path, trigger_path);
    raw1(SYS_close, probe_fd);
    return r;
}
