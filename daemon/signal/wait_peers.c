/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the server that the threads of a pool wait for: the broker reports in which system calls
 * they wait, and which peers these sockets have. An answer counts if a second one is equal.
 */
#include "signal/watched.h"

#include "base/text.h"
#include "hotspot/hotspot.h"
#include "proc/stall_readers.h"
#include "profile/waits.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define V4_AT 12 /* offset of an IPv4 address inside an IPv6 address */

/* Names of servers by port, as IANA assigns them. */
static const struct {
    uint16_t port;
    const char *name;
} SERVICES[] = {
    { 25, "smtp" },       { 53, "domain" },          { 80, "http" },
    { 389, "ldap" },      { 443, "https" },          { 636, "ldaps" },
    { 1433, "ms-sql-s" }, { 1521, "oracle" },        { 2181, "zookeeper" },
    { 2379, "etcd" },     { 3306, "mysql" },         { 5432, "postgresql" },
    { 5672, "amqp" },     { 6379, "redis" },         { 9042, "cassandra" },
    { 9092, "kafka" },    { 9200, "elasticsearch" }, { 11211, "memcache" },
    { 27017, "mongodb" },
};

static void internet_text(const struct waiting_peer *p, char out[RULE_PEER_BYTES])
{
    static const uint8_t V4_MAPPED[V4_AT] = { [10] = 0xff, [11] = 0xff };
    bool mapped = p->family == AF_INET6 && memcmp(p->address, V4_MAPPED, sizeof(V4_MAPPED)) == 0;
    bool v6 = p->family == AF_INET6 && !mapped;
    char address[INET6_ADDRSTRLEN];
    int n;

    if (!inet_ntop(v6 ? AF_INET6 : AF_INET, p->address + (mapped ? V4_AT : 0), address,
                   sizeof(address)))
        return;
    n = snprintf(out, RULE_PEER_BYTES, v6 ? "[%s]:%u" : "%s:%u", address, p->port);
    for (size_t i = 0; i < ARRAY_SIZE(SERVICES); i++) {
        if (SERVICES[i].port == p->port)
            snprintf(out + n, RULE_PEER_BYTES - (size_t)n, " (%s)", SERVICES[i].name);
    }
}

void wait_peers_text(const struct waiting_peer *p, char out[RULE_PEER_BYTES])
{
    const char *path = (const char *)p->address;
    char text[PEERS_ADDRESS_BYTES + 8];
    bool abstract = !path[0];

    out[0] = '\0';
    if (p->family == AF_INET || p->family == AF_INET6) {
        internet_text(p, out);
    } else if (p->family == AF_UNIX && path[abstract]) {
        snprintf(text, sizeof(text), "unix:%s%.*s", abstract ? "@" : "",
                 PEERS_ADDRESS_BYTES - abstract, path + abstract);
        text_clean_into(span_of(text), out, RULE_PEER_BYTES);
    }
}

int wait_peers_descriptor(const struct waiting_peer *p, uint64_t *ret_poll, bool *ret_writes)
{
    int fd = p->first <= INT32_MAX ? (int)p->first : -1;

    *ret_poll = 0;
    *ret_writes = false;
    if (!p->host_tid)
        return -1;
    switch (p->call) {
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_connect:
        *ret_writes = true;
        return fd;
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
        return fd;
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
        *ret_poll = p->second == 1 ? p->first : 0;
        return -1;
    default:
        return -1;
    }
}

/* Returns the descriptor that a thread waits for. Reads it from the JVM's memory if the call is a
 * poll. -1: it is not known. */
static int find_descriptor(const struct watched *w, const struct waiting_peer *p, bool *ret_writes)
{
    uint64_t at, word;
    struct pollfd one;
    int fd = wait_peers_descriptor(p, &at, ret_writes);

    if (!at || w->p->jvm != JVM_READY || !w->p->vm || hotspot_vm_word(w->p->vm, at, &word) != 0)
        return fd;
    memcpy(&one, &word, sizeof(one));
    *ret_writes = one.events & POLLOUT;
    return MAX(one.fd, -1);
}

static bool calls_alike(const struct waiting_peer *a, const struct waiting_peer *b)
{
    return a->host_tid && a->host_tid == b->host_tid && a->call == b->call &&
           a->first == b->first && a->second == b->second;
}

void wait_peers_choose(const struct waiting_peer *peers, const bool *writes, size_t n,
                       struct rule_peer *ret)
{
    char texts[PEERS_MAX][RULE_PEER_BYTES];

    for (size_t i = 0; i < n; i++)
        wait_peers_text(&peers[i], texts[i]);
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;

        for (size_t k = 0; k < n; k++)
            same += writes[k] == writes[i] && strcmp(texts[k], texts[i]) == 0;
        if (!texts[i][0] || same <= ret->waiting)
            continue;
        ret->waiting = same;
        ret->writes = writes[i];
        memcpy(ret->text, texts[i], sizeof(ret->text));
    }
}

bool wait_peers_look(struct watched *w, struct broker *broker, struct error *err)
{
    struct waiting_peer calls[PEERS_MAX], peers[PEERS_MAX];
    struct peers_wanted wanted[PEERS_MAX];
    bool writes[PEERS_MAX];
    size_t n = 0, known = 0;
    int r;

    w->peer = (struct rule_peer){ .looked = 0 };
    while (n < MIN((size_t)WAITS_POOL_TIDS, (size_t)PEERS_MAX) && w->pool.host_tids[n]) {
        wanted[n] = (struct peers_wanted){ .host_tid = w->pool.host_tids[n], .fd = -1 };
        n++;
    }
    if (!n || w->pool.wait != WAIT_NAMES[WAIT_NETWORK] || readers_wait_for(&w->p->id))
        return false;
    r = broker_wait_peers(broker, &w->p->id, wanted, n, calls, err);
    if (r == -EINPROGRESS || r == -EAGAIN)
        return true;
    if (r != 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        wanted[i].fd = find_descriptor(w, &calls[i], &writes[i]);
        known += wanted[i].fd >= 0;
    }
    if (!known || broker_wait_peers(broker, &w->p->id, wanted, n, peers, NULL) != 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool writes_still;

        /* Between the looks, the thread may have polled another descriptor at the same address. */
        if (!calls_alike(&calls[i], &peers[i]) ||
            find_descriptor(w, &peers[i], &writes_still) != wanted[i].fd ||
            writes_still != writes[i])
            peers[i].family = 0;
    }
    w->peer.looked = n;
    wait_peers_choose(peers, writes, n, &w->peer);
    return false;
}
