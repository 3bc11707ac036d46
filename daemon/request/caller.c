/* SPDX-License-Identifier: Apache-2.0 */
#include "request/caller.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

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
