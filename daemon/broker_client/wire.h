/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages with fds over a SOCK_SEQPACKET socket, for the broker and its client. Knows no request.
 */
#pragma once

#include "base/error.h"

/* Connects to the socket at @path. *ret_fd is the caller's. Returns 0 or -errno with @err. */
int wire_connect(const char *path, int *ret_fd, struct error *err);

/* Sends @n bytes as one message with @fds beside it. Returns 0, or -EPIPE and similar if the peer
 * is gone. Blocks if the socket blocks (SO_SNDTIMEO: -EAGAIN). Never raises SIGPIPE. */
int wire_send(int fd, const void *p, size_t n, const int *fds, size_t fd_count);
/* Does the same without blocking. -EAGAIN: the peer has not read earlier messages. */
int wire_send_now(int fd, const void *p, size_t n, const int *fds, size_t fd_count);

/* Receives one message into @p. Returns the size of the message, 0 at the end of the connection, or
 * -errno. The size may be more than @size; the rest is then dropped. Puts up to @fds_max fds,
 * close-on-exec, into @ret_fds; they are the caller's. With @fds_max 0 the kernel drops the peer's
 * fds. Returns -EMFILE if this process could not take all fds: it then has none of them, @p has the
 * message, and the connection still works. */
ssize_t wire_receive(int fd, void *p, size_t size, int *ret_fds, size_t fds_max,
                     size_t *ret_fd_count);
