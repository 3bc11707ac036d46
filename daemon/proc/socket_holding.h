/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that hold a socket: an answer of the broker. Value; thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOCKETS_ASKED_MAX 31  /* at once */
#define SOCKET_HOLDERS_MAX 64 /* of one socket */

enum socket_holder_flag {
    HOLDER_OUR_PIDS = 1,  /* in flamed-broker's pid namespace; unset: no, or not known */
    HOLDER_OUR_USERS = 2, /* the same of the user namespace */
    HOLDER_BOUNDED = 4,   /* the socket was opened in another user namespace than the holder's, or
                           * with another bounding set of capabilities */
};

struct socket_holder {
    int32_t pid;    /* in the pid namespace of flamed */
    uint32_t flags; /* bits of enum socket_holder_flag */
};

struct socket_holding {
    bool told;    /* false: there is no answer this time, and the rest is void */
    size_t count; /* above SOCKET_HOLDERS_MAX: none of them is in holders */
    struct socket_holder holders[SOCKET_HOLDERS_MAX];
};
