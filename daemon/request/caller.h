/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller of a request, as far as quotas must tell one from another. It is the user at the other
 * end of the connection, or if that is not known the address. Values only; thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum caller_kind {
    CALLER_SELF,     /* flamed, by its configuration: schedules and triggers */
    CALLER_USER,     /* of the machine, on the Unix socket: the kernel's word */
    CALLER_TCP_USER, /* the same over TCP, where a container's user may have the same number */
    CALLER_ADDRESS,  /* an address, and all behind it */
    CALLER_NAMED,    /* who shows a token or the like, wherever it comes from */
    CALLER_SESSION,  /* a user of the machine, by the cookie of a browser */
};

#define CALLER_NAME_BYTES 80 /* a kind, and the whole name of a rule */

struct caller {
    enum caller_kind kind;
    uint32_t uid;                 /* of users; UINT32_MAX: not known */
    uint8_t address[16];          /* CALLER_ADDRESS: IPv6, or IPv4 mapped into it */
    char name[CALLER_NAME_BYTES]; /* CALLER_NAMED: "token prometheus"; else "" */
};

/* Returns the caller of that name, as of a token. */
struct caller caller_named(const char *name);
/* Returns whether both are one for quotas. */
bool caller_equal(const struct caller *a, const struct caller *b);
/* Returns whether a share is kept for @c: the machine's root, who has to get in when all else is
 * taken, and flamed itself. */
bool caller_is_root(const struct caller *c);
/* "user 1001", "user 1001 over TCP", "loopback TCP", "192.0.2.1". Return: @buf. */
const char *caller_name(const struct caller *c, char buf[CALLER_NAME_BYTES]);

/* Returns how many all callers together may have, if one may have @most of them by the
 * configuration. That is half as many again, so that one caller leaves room for others, and an
 * eighth for root alone. */
static inline size_t callers_limit(size_t most, bool root)
{
    return most + most / 2 + (root ? most / 8 : 0);
}
