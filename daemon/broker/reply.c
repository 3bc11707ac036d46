/* SPDX-License-Identifier: Apache-2.0 */
/* The replies of requests. */
#include "broker/server.h"

int reply_fd(struct reply *rep, int fd)
{
    rep->fds[rep->fd_count++] = fd;
    return 0;
}
