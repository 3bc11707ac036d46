/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/caller.h"

#include "serve/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void caller_set_address(struct caller *c, const struct sockaddr_storage *peer)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
    struct in6_addr a = IN6ADDR_ANY_INIT;

    c->kind = CALLER_ADDRESS;
    if (peer->ss_family == AF_INET6) {
        a = ((const struct sockaddr_in6 *)peer)->sin6_addr;
    } else if (peer->ss_family == AF_INET) {
        a.s6_addr[10] = a.s6_addr[11] = 0xff;
        memcpy(&a.s6_addr[12], &v4->sin_addr, 4);
    }
    if (IN6_IS_ADDR_V4MAPPED(&a) && a.s6_addr[12] == 127)
        a = in6addr_loopback;
    else if (!IN6_IS_ADDR_V4MAPPED(&a) && !IN6_IS_ADDR_LOOPBACK(&a))
        memset(&a.s6_addr[8], 0, 8); /* one network: whoever has it has all of its addresses */
    memcpy(c->address, &a, sizeof(c->address));
}

struct caller caller_of_peer(const struct peer *peer, const struct sockaddr_storage *address)
{
    struct caller c = { 0 };

    if (address->ss_family == AF_UNIX || peer->known) {
        c.kind = address->ss_family == AF_UNIX ? CALLER_USER : CALLER_TCP_USER;
        c.uid = peer->uid;
    } else {
        caller_set_address(&c, address);
    }
    return c;
}

struct caller caller_named(const char *name)
{
    struct caller c = { .kind = CALLER_NAMED, .uid = UINT32_MAX };

    snprintf(c.name, sizeof(c.name), "%s", name);
    return c;
}

bool caller_equal(const struct caller *a, const struct caller *b)
{
    return a->kind == b->kind && a->uid == b->uid &&
           memcmp(a->address, b->address, sizeof(a->address)) == 0 && strcmp(a->name, b->name) == 0;
}

bool caller_is_root(const struct caller *c)
{
    return c->kind == CALLER_SELF || (c->kind == CALLER_USER && c->uid == 0);
}

const char *caller_name(const struct caller *c, char buf[CALLER_NAME_BYTES])
{
    struct in6_addr a;
    char text[INET6_ADDRSTRLEN] = "?";

    memcpy(&a, c->address, sizeof(a));
    if (c->kind == CALLER_SELF)
        snprintf(buf, CALLER_NAME_BYTES, "the configuration");
    else if (c->kind == CALLER_USER)
        snprintf(buf, CALLER_NAME_BYTES, "user %u", c->uid);
    else if (c->kind == CALLER_TCP_USER)
        snprintf(buf, CALLER_NAME_BYTES, "user %u over TCP", c->uid);
    else if (c->kind == CALLER_SESSION)
        snprintf(buf, CALLER_NAME_BYTES, "user %u by a browser", c->uid);
    else if (c->kind == CALLER_NAMED)
        snprintf(buf, CALLER_NAME_BYTES, "%s", c->name);
    else if (IN6_IS_ADDR_LOOPBACK(&a))
        snprintf(buf, CALLER_NAME_BYTES, "loopback TCP");
    else if (IN6_IS_ADDR_V4MAPPED(&a) && inet_ntop(AF_INET, &a.s6_addr[12], text, sizeof(text)))
        snprintf(buf, CALLER_NAME_BYTES, "%s", text);
    else {
        inet_ntop(AF_INET6, &a, text, sizeof(text));
        snprintf(buf, CALLER_NAME_BYTES, "%s", text);
    }
    return buf;
}
