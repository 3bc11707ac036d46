/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's side of the launcher. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/launcher.h"
#include "broker/wire.h"

#include <errno.h>
#include <poll.h>

#define MADE_MS 1000

int launcher_send(int fd, const struct launcher_message *m, const int fds[LAUNCHER_FDS])
{
    return wire_send(fd, m, sizeof(*m), fds, LAUNCHER_FDS);
}

int launcher_take_made(int fd, const struct launcher_message *m, int *ret_file)
{
    uint64_t deadline = clock_monotonic_ns() + MADE_MS * NSEC_PER_MSEC;

    for (;;) {
        uint64_t now = clock_monotonic_ns();
        struct pollfd p = { .fd = fd, .events = POLLIN };
        struct launcher_made made;
        size_t count = 0;
        int file = -1;

        if (now >= deadline || poll(&p, 1, (int)((deadline - now) / NSEC_PER_MSEC) + 1) <= 0)
            return -ETIMEDOUT;
        if (wire_receive(fd, &made, sizeof(made), &file, 1, &count) != (ssize_t)sizeof(made)) {
            close_fd(file);
            return -EPIPE;
        }
        if (made.host_pid == m->host_pid && made.start_ticks == m->start_ticks) {
            if (count != 1 || made.error) {
                close_fd(file);
                return made.error > 0 ? -made.error : -EPROTO;
            }
            *ret_file = file;
            return 0;
        }
        close_fd(file); /* of one that nobody waited for any more */
    }
}
