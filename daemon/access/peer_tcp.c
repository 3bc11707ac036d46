/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the owner of the socket at the other end of a local TCP connection: by NETLINK_SOCK_DIAG,
 * or else by the text files of /proc (peer_text.c). Each request finds out again which of the two
 * works.
 */
#include "access/peers_impl.h"

#include "base/lock.h"
#include "base/old_kernel.h"

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#define ANSWERS_MAX 4 /* skips late answers to earlier requests, up to this number */

static const char NO_WAY[] = "flamed cannot ask the kernel which user opened the connection "
                             "(NETLINK_SOCK_DIAG, /proc/self/net/tcp)";
static const char NOT_FOUND[] =
    "the kernel knows no socket of this machine at the other end of the connection";
static const char NOT_OPEN[] = "the other end has closed the connection already";

/* Fills in both addresses as the other end sees them. Returns false if the other end cannot be on
 * this machine. */
static bool fill_id(int fd, const struct sockaddr_storage *peer, struct inet_diag_req_v2 *ret)
{
    struct sockaddr_storage local = { 0 };
    socklen_t n = sizeof(local);

    if (getsockname(fd, (struct sockaddr *)&local, &n) < 0 || local.ss_family != peer->ss_family)
        return false;
    ret->sdiag_family = (uint8_t)peer->ss_family;
    if (peer->ss_family == AF_INET) {
        const struct sockaddr_in *from = (const struct sockaddr_in *)peer,
                                 *to = (const struct sockaddr_in *)&local;

        ret->id.idiag_sport = from->sin_port;
        ret->id.idiag_dport = to->sin_port;
        memcpy(ret->id.idiag_src, &from->sin_addr, 4);
        memcpy(ret->id.idiag_dst, &to->sin_addr, 4);
        return true;
    }
    if (peer->ss_family == AF_INET6) {
        const struct sockaddr_in6 *from = (const struct sockaddr_in6 *)peer,
                                  *to = (const struct sockaddr_in6 *)&local;
        /* the kernel lists IPv4 on an IPv6 socket as IPv4 */
        bool mapped = IN6_IS_ADDR_V4MAPPED(&from->sin6_addr);
        size_t skip = mapped ? 12 : 0;

        ret->sdiag_family = mapped ? AF_INET : AF_INET6;
        ret->id.idiag_sport = from->sin6_port;
        ret->id.idiag_dport = to->sin6_port;
        memcpy(ret->id.idiag_src, &from->sin6_addr.s6_addr[skip], 16 - skip);
        memcpy(ret->id.idiag_dst, &to->sin6_addr.s6_addr[skip], 16 - skip);
        return true;
    }
    return false;
}

static uint64_t find_cgroup(const struct nlmsghdr *h)
{
    const char *at = (const char *)h + NLMSG_LENGTH(sizeof(struct inet_diag_msg));
    size_t left = h->nlmsg_len - NLMSG_LENGTH(sizeof(struct inet_diag_msg));
    uint64_t cgroup = 0;

    while (left >= NLA_HDRLEN) {
        struct nlattr a;
        size_t step;

        memcpy(&a, at, sizeof(a));
        step = NLA_ALIGN(a.nla_len);
        if (a.nla_len < NLA_HDRLEN || a.nla_len > left)
            break;
        if (a.nla_type == INET_DIAG_CGROUP_ID && a.nla_len >= NLA_HDRLEN + sizeof(cgroup))
            memcpy(&cgroup, at + NLA_HDRLEN, sizeof(cgroup));
        if (step > left)
            break;
        at += step;
        left -= step;
    }
    return cgroup;
}

/* Returns true if the reported address @told equals @asked. @v4: IPv4; an IPv6 socket reports it
 * mapped. */
static bool is_address(const __be32 told[4], const __be32 asked[4], bool v4, bool mapped)
{
    static const unsigned char PREFIX[12] = { [10] = 0xff, [11] = 0xff };

    if (!v4)
        return memcmp(told, asked, 16) == 0;
    return mapped ? memcmp(told, PREFIX, 12) == 0 && told[3] == asked[0] : told[0] == asked[0];
}

/* Returns true if @m is about the same connection. For a vanished socket the kernel answers with a
 * listener on its port. */
static bool is_the_one(const struct inet_diag_msg *m, const struct inet_diag_req_v2 *q)
{
    bool v4 = q->sdiag_family == AF_INET, mapped = v4 && m->idiag_family == AF_INET6;

    return m->id.idiag_sport == q->id.idiag_sport && m->id.idiag_dport == q->id.idiag_dport &&
           is_address(m->id.idiag_src, q->id.idiag_src, v4, mapped) &&
           is_address(m->id.idiag_dst, q->id.idiag_dst, v4, mapped);
}

/* Returns true if a program still holds the socket. A closed socket has no inode, and its uid is
 * reported as 0. */
static bool is_open(const struct inet_diag_msg *m)
{
    return m->idiag_inode != 0 &&
           (m->idiag_state == TCP_ESTABLISHED || m->idiag_state == TCP_FIN_WAIT1 ||
            m->idiag_state == TCP_FIN_WAIT2);
}

bool peer_is_connected(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t n = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
           (info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_CLOSE_WAIT);
}

int peer_take_answer(const struct nlmsghdr *h, const struct inet_diag_req_v2 *q,
                     struct peer_socket *ret)
{
    struct inet_diag_msg m;

    if (h->nlmsg_type == NLMSG_ERROR)
        return -ENOENT; /* with any errno: without tcp_diag the kernel reports ENOENT, too */
    if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(sizeof(m)))
        return -EPROTO;
    memcpy(&m, NLMSG_DATA(h), sizeof(m));
    if (!is_the_one(&m, q))
        return -ENOENT;
    if (!is_open(&m))
        return 0;
    ret->uid = m.idiag_uid;
    ret->cgroup = find_cgroup(h);
    ret->inode = m.idiag_inode;
    ret->cookie = (uint64_t)m.id.idiag_cookie[1] << 32 | m.id.idiag_cookie[0];
    return 1;
}

/* Receives the answer, which the kernel queues before send() returns. Call with lock held. */
static int receive(struct peers *s, const struct inet_diag_req_v2 *q, struct peer_socket *ret)
{
    _Alignas(struct nlmsghdr) char text[4096];

    for (int i = 0; i < ANSWERS_MAX; i++) {
        struct sockaddr_nl from = { 0 };
        socklen_t from_n = sizeof(from);
        ssize_t n = recvfrom(s->netlink_fd, text, sizeof(text), MSG_DONTWAIT,
                             (struct sockaddr *)&from, &from_n);
        const struct nlmsghdr *h = (const struct nlmsghdr *)text;

        if (n < 0)
            return -errno;
        if (from.nl_pid == 0 && NLMSG_OK(h, (size_t)n) && h->nlmsg_seq == s->sequence)
            return peer_take_answer(h, q, ret);
    }
    return -EPROTO;
}

/* Asks netlink for the socket @q. Returns the result of peer_take_answer(). */
static int ask_netlink(struct peers *s, const struct inet_diag_req_v2 *q, struct peer_socket *ret)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } ask = { .head = { .nlmsg_len = sizeof(ask),
                        .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                        .nlmsg_flags = NLM_F_REQUEST },
              .body = *q };

    if (s->netlink_fd < 0 || old_kernel_pretended("sock_diag"))
        return -EOPNOTSUPP;
    LOCK_SCOPE(&s->lock);
    ask.head.nlmsg_seq = ++s->sequence;
    /* without an address the message goes to the kernel */
    if (send(s->netlink_fd, &ask, sizeof(ask), MSG_DONTWAIT) < 0)
        return -errno;
    return receive(s, q, ret);
}

/* Finds out whether netlink reports TCP sockets, by a request for flamed's own end. The module
 * tcp_diag may be loaded or missing at any time. */
static bool netlink_tells(struct peers *s, const struct inet_diag_req_v2 *q)
{
    struct inet_diag_req_v2 ours = *q;
    struct peer_socket ignored = { 0 };

    ours.id.idiag_sport = q->id.idiag_dport;
    ours.id.idiag_dport = q->id.idiag_sport;
    memcpy(ours.id.idiag_src, q->id.idiag_dst, sizeof(ours.id.idiag_src));
    memcpy(ours.id.idiag_dst, q->id.idiag_src, sizeof(ours.id.idiag_dst));
    return ask_netlink(s, &ours, &ignored) >= 0;
}

void peer_ask_socket(struct peers *s, struct peer_text *t, int fd,
                     const struct sockaddr_storage *address, struct peer_socket *ret)
{
    struct inet_diag_req_v2 q = { .sdiag_protocol = IPPROTO_TCP,
                                  .idiag_states = UINT32_MAX,
                                  .id = { .idiag_cookie = { INET_DIAG_NOCOOKIE,
                                                            INET_DIAG_NOCOOKIE } } };
    int r;

    *ret = (struct peer_socket){ .told = true, .problem = NOT_FOUND };
    if (!fill_id(fd, address, &q))
        return;
    r = ask_netlink(s, &q, ret);
    if (r < 0 && peer_is_connected(fd) && !netlink_tells(s, &q)) {
        *ret = (struct peer_socket){ .told = t && s->net_fd >= 0 && s->net_ns, .problem = NO_WAY };
        if (!ret->told)
            return;
        r = peer_ask_text(s, t, &q, ret);
    }
    ret->open = r > 0;
    ret->problem = r > 0 ? NULL : r == 0 ? NOT_OPEN : NOT_FOUND;
}
