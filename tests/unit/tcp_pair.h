/* SPDX-License-Identifier: Apache-2.0 */
/* Connected TCP sockets. */
#pragma once

#include "suite.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connects two sockets over loopback. @from: the family of the client, which connects to IPv4
 * unless @to is AF_INET6. */
static inline void connect_pair(int from, int to, int pair[2])
{
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr *address = to == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
    socklen_t n = to == AF_INET ? sizeof(v4) : sizeof(v6);
    int listener = socket(to, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(listener, address, n), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, address, &n), 0);
    pair[0] = socket(from, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (from == AF_INET6 && to == AF_INET) {
        v6.sin6_port = v4.sin_port;
        v6.sin6_addr = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
        memcpy(&v6.sin6_addr.s6_addr[12], &v4.sin_addr, 4);
        address = (struct sockaddr *)&v6;
        n = sizeof(v6);
    }
    ck_assert_int_eq(connect(pair[0], address, n), 0);
    pair[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(pair[1], 0);
    close(listener);
}

static inline void close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

/* Returns the cookie of the socket @fd. */
static inline uint64_t cookie_of(int fd)
{
    socklen_t n = sizeof(uint64_t);
    uint64_t cookie = 0;

    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n), 0);
    return cookie;
}
