/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher as a systemd service: its unit has the right to enter containers, so the broker's
 * unit does not need it.
 */
#include "launcher/launcher.h"

#include "base/cleanup.h"
#include "base/fds.h"
#include "base/log.h"
#include "broker/listen.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_FD 3 /* the connection; takes the place of the listening socket */
#define LISTEN_FD 3 /* systemd's protocol: the unit's socket, then the stored descriptors */
#define KEPT_FD 4

/* Returns a socket for notifications to systemd; -1: none. */
static int notify_socket(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    size_t n = path ? strlen(path) : 0;

    if (fd < 0 || n < 2 || n >= sizeof(sa.sun_path))
        return -1;
    memcpy(sa.sun_path, path, n);
    if (path[0] == '@')
        sa.sun_path[0] = '\0'; /* an abstract name */
    return connect(fd, (const struct sockaddr *)&sa,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0
               ? -1
               : take_fd(&fd);
}

/* Waits for a connection of root. Return: its fd, or -errno. */
static int accept_broker(int listen_fd)
{
    for (;;) {
        _cleanup_close_ int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
        struct ucred peer;
        socklen_t n = sizeof(peer);

        if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
            return -errno;
        if (fd < 0)
            continue;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == 0)
            return take_fd(&fd);
        if (log_limit())
            log_warn("refused a client of another user uid=%u", peer.uid);
    }
}

/* Stores a copy of @fd with systemd, which passes it to the next launcher if this one is killed.
 * The broker cannot connect a second time. If storing fails, attaching ends with this launcher. */
static void keep_over_restart(int fd)
{
    static const char TEXT[] = "FDSTORE=1\nFDNAME=broker";
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec iov = { (char *)TEXT, strlen(TEXT) };
    struct msghdr m = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    _cleanup_close_ int notify_fd = notify_socket();

    *CMSG_FIRSTHDR(&m) = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)),
        .cmsg_level = SOL_SOCKET,
        .cmsg_type = SCM_RIGHTS,
    };
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
    if (notify_fd < 0 || sendmsg(notify_fd, &m, MSG_NOSIGNAL) < 0)
        log_debug_errno(-errno, "systemd does not keep the connection to the broker");
}

/* Returns the previous launcher's connection if the broker's end is still open, else a new one. */
static int take_connection(size_t passed)
{
    struct pollfd p = { .fd = KEPT_FD };
    int fd;

    if (passed > 1 && poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLERR | POLLNVAL)))
        return KEPT_FD;
    fd = accept_broker(LISTEN_FD);
    if (fd >= 0)
        keep_over_restart(fd);
    return fd;
}

int launcher_serve(bool mounts, struct error *err)
{
    size_t passed = listen_passed();
    int fd;

    if (passed == 0) {
        error_set(err, -EINVAL, "--launcher needs the socket that systemd passes");
        error_remedy(err, "start flamed-launcher.socket");
        return -EINVAL;
    }
    prctl(PR_SET_NAME, "flamed-launcher");
    fd = take_connection(passed);
    if (fd < 0)
        return error_code(err, fd, "cannot take a connection");
    /* Keeps only the end of the connection, as in a forked launcher. The next broker's connection
     * waits in systemd's copy of the listening socket. */
    if (dup3(fd, SOCKET_FD, O_CLOEXEC) < 0)
        return error_errno(err, "cannot keep the connection");
    fds_close(SOCKET_FD + 1, ~0u);
    return launcher_run(SOCKET_FD, mounts);
}
