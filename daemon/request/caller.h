/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller of a request, for quotas: the user at the other end of the connection, or its address
 * where the user is unknown. Values only; thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum caller_kind {
    CALLER_SELF,     /* flamed itself: schedules and triggers */
    CALLER_USER,     /* a user of the machine, reported by the kernel on the Unix socket */
    CALLER_TCP_USER, /* a user reported over TCP, where a container's user may have the same uid */
    CALLER_ADDRESS,  /* an address, for all clients behind it */
    CALLER_NAMED,    /* a client with a token or another credential, from any address */
    CALLER_SESSION,  /* a user of the machine, identified by a browser's cookie */
};

#define CALLER_NAME_BYTES 80 /* a kind, and the longest name of a rule */

struct caller {
    enum caller_kind kind;
    uint32_t uid;                 /* uid of a user; UINT32_MAX: unknown */
    uint8_t address[16];          /* CALLER_ADDRESS: IPv6 or IPv4-mapped */
    char name[CALLER_NAME_BYTES]; /* CALLER_NAMED: "token prometheus"; else "" */
};

/* Returns the caller with the credential called @name. */
struct caller caller_named(const char *name);
/* Returns whether @a and @b share a quota. */
bool caller_equal(const struct caller *a, const struct caller *b);
/* Returns whether a share is reserved for @c: for flamed itself, and for root, who must be served
 * even when all else is taken. */
bool caller_is_root(const struct caller *c);
/* Formats "user 1001", "user 1001 over TCP", "loopback TCP" or "192.0.2.1". Returns @buf. */
const char *caller_name(const struct caller *c, char buf[CALLER_NAME_BYTES]);

/* Returns the limit for all callers together; @most is the configured limit of one caller. The
 * limit is one and a half times @most, so that one caller leaves room for others. @root: plus an
 * eighth of @most, reserved for root. */
static inline size_t callers_limit(size_t most, bool root)
{
    return most + most / 2 + (root ? most / 8 : 0);
}
