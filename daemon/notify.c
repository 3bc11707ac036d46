/* SPDX-License-Identifier: Apache-2.0 */
#include "notify.h"

#include "base/cleanup.h"

#include <sys/socket.h>
#include <sys/un.h>

int notify_open(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = -1;
    size_t n;

    if (!path || (path[0] != '/' && path[0] != '@'))
        return -1;
    n = strlen(path);
    if (n >= sizeof(address.sun_path))
        return -1;
    memcpy(address.sun_path, path, n);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract name */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
        return -1;
    return take_fd(&fd);
}

void notify_send(int fd, const char *state)
{
    if (fd >= 0 && send(fd, state, strlen(state), MSG_NOSIGNAL) < 0)
        return; /* systemd then ends flamed at its own deadline */
}
