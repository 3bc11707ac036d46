/* SPDX-License-Identifier: Apache-2.0 */
#include "access/peer.h"

#include <netinet/in.h>
#include <string.h>

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
        memset(&a.s6_addr[8], 0, 8); /* a /64: one owner has all of its addresses */
    memcpy(c->address, &a, sizeof(c->address));
}

struct caller caller_of_container(void)
{
    struct sockaddr_in6 loopback = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
    struct sockaddr_storage address = { 0 };
    struct caller c = { 0 };

    memcpy(&address, &loopback, sizeof(loopback));
    caller_set_address(&c, &address);
    return c;
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
