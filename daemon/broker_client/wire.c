/* SPDX-License-Identifier: Apache-2.0 */
#include "broker_client/wire.h"

#include "base/cleanup.h"
#include "broker_client/requests.h"

#include <sys/socket.h>
#include <sys/un.h>

#define CONTROL_BYTES CMSG_SPACE(BROKER_FDS_MAX * sizeof(int))

union control {
    struct cmsghdr align;
    char bytes[CONTROL_BYTES];
};

int wire_connect(const char *path, int *ret_fd, struct error *err)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un sa = { .sun_family = AF_UNIX };

    if (fd < 0)
        return error_errno(err, "cannot create a socket");
    if (strlen(path) >= sizeof(sa.sun_path))
        return error_set(err, -ENAMETOOLONG, "the path '%s' is too long for a socket", path);
    memcpy(sa.sun_path, path, strlen(path) + 1);
    if (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
        return error_errno(err, "cannot connect to '%s'", path);
    *ret_fd = take_fd(&fd);
    return 0;
}

static int send_message(int fd, const void *p, size_t n, const int *fds, size_t fd_count, int flags)
{
    struct iovec iov = { .iov_base = (void *)p, .iov_len = n };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    union control control = { 0 };
    struct cmsghdr *c;
    ssize_t r;

    if (fd_count > BROKER_FDS_MAX)
        return -E2BIG;
    if (fd_count) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    do {
        r = sendmsg(fd, &msg, flags | MSG_NOSIGNAL);
    } while (r < 0 && errno == EINTR);
    if (r < 0)
        return -errno;
    return (size_t)r == n ? 0 : -EMSGSIZE;
}

int wire_send(int fd, const void *p, size_t n, const int *fds, size_t fd_count)
{
    return send_message(fd, p, n, fds, fd_count, 0);
}

int wire_send_now(int fd, const void *p, size_t n, const int *fds, size_t fd_count)
{
    return send_message(fd, p, n, fds, fd_count, MSG_DONTWAIT);
}

/* Takes the fds of @msg: keeps the first @max and closes the others. Returns the number kept. */
static size_t take_fds(struct msghdr *msg, int *ret_fds, size_t max)
{
    size_t count = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        size_t n;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (count < max)
                ret_fds[count++] = fd;
            else
                close_fd(fd);
        }
    }
    return count;
}

ssize_t wire_receive(int fd, void *p, size_t size, int *ret_fds, size_t fds_max,
                     size_t *ret_fd_count)
{
    struct iovec iov = { .iov_base = p, .iov_len = size };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    union control control = { 0 };
    size_t count;
    ssize_t r;

    fds_max = MIN(fds_max, (size_t)BROKER_FDS_MAX);
    if (fds_max) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(fds_max * sizeof(int));
    }
    do {
        r = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    } while (r < 0 && errno == EINTR);
    if (r < 0)
        return -errno;
    if (fds_max == 0)
        return r;
    count = take_fds(&msg, ret_fds, fds_max);
    if (msg.msg_flags & MSG_CTRUNC) {
        for (size_t i = 0; i < count; i++)
            close_fd(ret_fds[i]);
        return -EMFILE;
    }
    *ret_fd_count = count;
    return r;
}
