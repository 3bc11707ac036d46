/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that hold a socket: an answer of the broker. Value; thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOCKETS_ASKED_MAX 31  /* sockets in one request */
#define SOCKET_HOLDERS_MAX 64 /* holders of one socket */

enum socket_holder_flag {
    HOLDER_OUR_PIDS = 1,  /* in flamed-broker's pid namespace; unset: in another, or unknown */
    HOLDER_OUR_USERS = 2, /* in flamed-broker's user namespace; unset: in another, or unknown */
    HOLDER_BOUNDED = 4,   /* the socket was opened in another user namespace than the holder's, or
                           * with another bounding set */
};

struct socket_holder {
    int32_t pid;    /* in the pid namespace of flamed */
    uint32_t flags; /* bits of enum socket_holder_flag */
};

struct socket_holding {
    bool told;    /* false: the broker had no answer this time, and the rest is void */
    bool slow;    /* found by the kernel's iterator over all descriptors */
    size_t count; /* if above SOCKET_HOLDERS_MAX, holders is empty */
    struct socket_holder holders[SOCKET_HOLDERS_MAX];
};
