/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's side of the launcher. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "broker_client/wire.h"
#include "launcher/launcher.h"

#include <errno.h>
#include <poll.h>

#define ANSWER_MS 1000

int launcher_send(int fd, struct launcher_message *m, const int fds[LAUNCHER_FDS])
{
    static uint64_t serial;

    m->serial = ++serial;
    return wire_send_now(fd, m, sizeof(*m), fds, LAUNCHER_FDS);
}

int launcher_take_answer(int fd, const struct launcher_message *m, int *ret_file)
{
    uint64_t deadline = clock_monotonic_ns() + ANSWER_MS * NSEC_PER_MSEC;

    for (;;) {
        uint64_t now = clock_monotonic_ns();
        struct pollfd p = { .fd = fd, .events = POLLIN };
        struct launcher_answer answer;
        size_t count = 0;
        int file = -1;

        if (now >= deadline || poll(&p, 1, (int)((deadline - now) / NSEC_PER_MSEC) + 1) <= 0)
            return -ETIMEDOUT;
        if (wire_receive(fd, &answer, sizeof(answer), &file, 1, &count) !=
            (ssize_t)sizeof(answer)) {
            close_fd(file);
            return -EPIPE;
        }
        if (answer.serial == m->serial && answer.error == 0) {
            *ret_file = file;
            return 0;
        }
        close_fd(file);
        if (answer.serial == m->serial)
            return answer.error > 0 ? answer.error : -EPROTO;
        /* skips late answers to earlier messages */
    }
}
