/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes hold a socket, as the broker tells it. Value; thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOCKETS_ASKED_MAX 31  /* at once */
#define SOCKET_HOLDERS_MAX 64 /* of one socket */

struct socket_holding {
    bool told;                        /* false: not this time, and the rest is void */
    size_t count;                     /* above SOCKET_HOLDERS_MAX: none of them is in pids */
    int32_t pids[SOCKET_HOLDERS_MAX]; /* in the pid namespace of flamed */
};
