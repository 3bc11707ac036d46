/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/listen.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/file_openers.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SEND_TIMEOUT_S 5
#define LISTEN_BACKLOG 4
/* Without a free descriptor a connection stays waiting, and the socket readable. */
#define ACCEPT_PAUSE_MS 100
#define LISTEN_FD_FIRST 3 /* systemd's protocol */

/* Sets the send timeout: a client that does not read its answers is dropped. */
static void prepare(int fd)
{
    struct timeval tv = { .tv_sec = SEND_TIMEOUT_S };

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

int serve_connection(struct server *s, int fd, struct error *err)
{
    int r;

    prepare(fd);
    do {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        r = poll(&p, 1, server_tend(s)) ? server_answer(s, fd) : 0;
        if (r < 0)
            error_code(err, r, "the connection to flamed broke");
        if (r == 0)
            r = file_openers_check(s, err);
    } while (r == 0);
    server_forget_client(s);
    return MIN(r, 0);
}

size_t listen_passed(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    uint64_t v;

    if (!pid || !fds || !span_parse_dec(span_of(pid), &v) || v != (uint64_t)getpid())
        return 0;
    if (!span_parse_dec(span_of(fds), &v) || v > LISTEN_PASSED_MAX)
        return 0;
    for (size_t i = 0; i < v; i++)
        fcntl(LISTEN_FD_FIRST + (int)i, F_SETFD, FD_CLOEXEC);
    return (size_t)v;
}

int listen_inherited(void)
{
    return listen_passed() == 1 ? LISTEN_FD_FIRST : -1;
}

/* Makes the parent folder of @path if it is missing. */
static int make_parent(const char *path, struct error *err)
{
    char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    struct span parent = span_of(path);

    parent.n = span_rfind(parent, '/');
    if (parent.n == 0 || parent.n >= sizeof(folder))
        return 0;
    span_copy(parent, folder, sizeof(folder));
    if (mkdir(folder, 0755) < 0 && errno != EEXIST)
        return error_errno(err, "cannot make the folder '%s' for the socket", folder);
    return 0;
}

static gid_t group_of_clients(void)
{
    const struct group *g = getgrnam(LISTEN_GROUP);

    if (!g)
        log_warn("there is no group '" LISTEN_GROUP "': only root can connect");
    return g ? g->gr_gid : 0;
}

int listen_at(const char *path, int *ret_fd, struct error *err)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    mode_t old;
    int r;

    if (fd < 0)
        return error_errno(err, "cannot create a socket");
    if (strlen(path) >= sizeof(sa.sun_path))
        return error_set(err, -ENAMETOOLONG, "the path '%s' is too long for a socket", path);
    memcpy(sa.sun_path, path, strlen(path) + 1);
    r = make_parent(path, err);
    if (r < 0)
        return r;
    if (unlink(path) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove '%s'", path);
    /* The socket gets its mode and group before it has a name. A later change by name could reach
     * another file, put there by the folder's owner. */
    if (fchmod(fd, 0660) < 0)
        return error_errno(err, "cannot set the mode of a socket");
    old = umask(0);
    setfsgid(group_of_clients());
    r = bind(fd, (const struct sockaddr *)&sa, sizeof(sa));
    setfsgid(getegid());
    umask(old);
    if (r < 0)
        return error_errno(err, "cannot bind to '%s'", path);
    if (listen(fd, LISTEN_BACKLOG) < 0)
        return error_errno(err, "cannot listen on '%s'", path);
    *ret_fd = take_fd(&fd);
    return 0;
}

/* Accepts the next connection. Return: its fd; -EPERM: it is refused; -errno. */
static int accept_client(struct server *s, int listen_fd, uid_t uid, bool busy)
{
    _cleanup_close_ int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    struct ucred peer;
    socklen_t n = sizeof(peer);

    if (fd < 0)
        return -errno;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 ||
        (peer.uid != 0 && peer.uid != uid)) {
        if (log_limit())
            log_warn("refused a client of another user uid=%u", peer.uid);
        return -EPERM;
    }
    if (busy) {
        if (log_limit())
            log_warn("refused a second client host_pid=%d", peer.pid);
        return -EPERM;
    }
    prepare(fd);
    s->client = peer.pid;
    log_info("flamed has connected host_pid=%d", peer.pid);
    return take_fd(&fd);
}

int serve_listener(struct server *s, int listen_fd, uid_t uid, struct error *err)
{
    _cleanup_close_ int client = -1;
    uint64_t accept_ns = 0; /* nothing is accepted before */
    int r;

    for (;;) {
        bool accepts = clock_monotonic_ns() >= accept_ns;
        struct pollfd p[2] = {
            { .fd = accepts ? listen_fd : -1, .events = POLLIN }, /* negative: ignored */
            { .fd = client, .events = POLLIN },
        };
        int wait_ms = server_tend(s);

        if (!accepts)
            wait_ms = wait_ms < 0 ? ACCEPT_PAUSE_MS : MIN(wait_ms, ACCEPT_PAUSE_MS);
        if (poll(p, ARRAY_SIZE(p), wait_ms) < 0) {
            if (errno == EINTR)
                continue;
            return error_errno(err, "cannot wait for requests");
        }
        /* The present client comes first: when it leaves, a waiting client can be accepted. */
        if (p[1].revents && server_answer(s, client) != 0) {
            log_info("flamed has disconnected host_pid=%d", s->client);
            server_forget_client(s);
            s->client = 0;
            client = close_fd(client);
        }
        if (p[0].revents & (POLLERR | POLLNVAL))
            return error_set(err, -EBADF, "the listening socket is broken");
        if (p[0].revents) {
            int fd = accept_client(s, listen_fd, uid, /* busy= */ client >= 0);

            if (fd >= 0)
                client = fd;
            else if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -ENOBUFS)
                accept_ns = clock_monotonic_ns() + ACCEPT_PAUSE_MS * NSEC_PER_MSEC;
        }
        r = file_openers_check(s, err);
        if (r < 0)
            return r;
    }
}
