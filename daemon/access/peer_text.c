/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the owner of a TCP socket without NETLINK_SOCK_DIAG (no tcp_diag module, or loading it is
 * forbidden): from /proc/self/net/tcp and tcp6, one line per socket of the network namespace
 * (net/ipv4/tcp_ipv4.c, get_tcp4_sock). The text has no cgroup and no cookie, so the broker looks
 * for an open TCP socket with that inode in this network namespace. This proves the holder only if
 * no other open socket of the namespace has the same inode: inodes repeat after 2^32 sockets. The
 * text lists all sockets, so it shows an equal inode. If sockets come and go during the reading,
 * the kernel lists some twice, with the same ends.
 */
#include "access/peers_impl.h"

#include "base/buf.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>

#define TEXT_MAX_BYTES ((size_t)16 << 20) /* about 100,000 sockets */
#define END_BYTES 40                      /* 32 hex digits, ':', 4 more */

/* Numbers of a line's words, from 0. */
#define WORD_LOCAL 1
#define WORD_REMOTE 2
#define WORD_INODE 9

struct ends {
    char local[END_BYTES], remote[END_BYTES];
};

/* Formats an address as the kernel does: each word as a number in host byte order. */
static void spell_end(char out[END_BYTES], const __be32 *address, size_t words, __be16 port)
{
    size_t n = 0;

    for (size_t i = 0; i < words; i++)
        n += (size_t)snprintf(out + n, END_BYTES - n, "%08X", address[i]);
    snprintf(out + n, END_BYTES - n, ":%04X", ntohs(port));
}

/* Returns true if the state, in hex digits, is that of an open socket. */
static bool is_open(struct span state)
{
    return span_eq(state, span_of("01")) || span_eq(state, span_of("04")) ||
           span_eq(state, span_of("05")); /* ESTABLISHED, FIN_WAIT1, FIN_WAIT2 */
}

/* Parses the fields after the addresses: state, queues, timer, retransmits, user, timeout,
 * inode. */
static int take_rest(struct span line, struct peer_socket *ret)
{
    struct span words[7];
    uint64_t uid, inode;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (!span_take_word(&line, &words[i]))
            return -EBADMSG;
    }
    if (!span_parse_dec(words[4], &uid) || !span_parse_dec(words[6], &inode) || uid > UINT32_MAX)
        return -EBADMSG;
    ret->uid = (uint32_t)uid;
    ret->inode = inode;
    return inode && is_open(words[0]) ? 1 : 0;
}

int peer_find_text(struct span text, const char *local, const char *remote, struct peer_socket *ret)
{
    const char *end = text.p + text.n;
    struct span line, number, from, to;
    int r;

    while (span_take_line(&text, &line)) {
        if (line.p + line.n == end) /* the line may be cut inside its inode */
            break;
        if (!span_take_word(&line, &number) || !span_take_word(&line, &from) ||
            !span_eq(from, span_of(local)) || !span_take_word(&line, &to) ||
            !span_eq(to, span_of(remote)))
            continue;
        r = take_rest(line, ret);
        if (r >= 0)
            return r;
    }
    return -ENOENT;
}

/* Returns true if @line is about a socket with the inode @inode, other than the one with these
 * ends. */
static bool is_other(struct span line, uint64_t inode, const char *local, const char *remote)
{
    struct span words[WORD_INODE + 1];
    uint64_t its;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (!span_take_word(&line, &words[i]))
            return false;
    }
    return span_parse_dec(words[WORD_INODE], &its) && its == inode &&
           !(span_eq(words[WORD_LOCAL], span_of(local)) &&
             span_eq(words[WORD_REMOTE], span_of(remote)));
}

bool peer_is_alone(struct span text, uint64_t inode, const char *local, const char *remote)
{
    struct span line;

    while (span_take_line(&text, &line)) {
        if (is_other(line, inode, local, remote))
            return false;
    }
    return true;
}

/* Reads @file into @text unless *has is set. */
static struct span read_once(const struct peers *s, const char *file, struct buf *text, bool *has,
                             bool *ret_part)
{
    int r;

    if (*has)
        return buf_span(text);
    *has = true;
    buf_init(text, TEXT_MAX_BYTES);
    r = buf_read_at(text, s->net_fd, file);
    *ret_part = *ret_part || (r < 0 && r != -ENOENT); /* without IPv6 there is no tcp6 */
    if (r < 0 && r != -EFBIG)
        buf_clear(text);
    return buf_span(text);
}

void peer_text_clear(struct peer_text *t)
{
    if (t->has_v4)
        buf_deinit(&t->v4);
    if (t->has_v6)
        buf_deinit(&t->v6);
    *t = (struct peer_text){ 0 };
}

static struct span text_v4(const struct peers *s, struct peer_text *t)
{
    return read_once(s, "tcp", &t->v4, &t->has_v4, &t->part);
}

static struct span text_v6(const struct peers *s, struct peer_text *t)
{
    return read_once(s, "tcp6", &t->v6, &t->has_v6, &t->part);
}

/* Does peer_ask_text() without the check that the inode is unique. Stores the ends as the text has
 * them. */
static int find_socket(const struct peers *s, struct peer_text *t, const struct inet_diag_req_v2 *q,
                       struct ends *ends, struct peer_socket *ret)
{
    const __be32 from[4] = { 0, 0, htonl(0xffff), q->id.idiag_src[0] },
                 to[4] = { 0, 0, htonl(0xffff), q->id.idiag_dst[0] };
    bool v4 = q->sdiag_family == AF_INET;
    int r = -ENOENT;

    if (v4) {
        spell_end(ends->local, q->id.idiag_src, 1, q->id.idiag_sport);
        spell_end(ends->remote, q->id.idiag_dst, 1, q->id.idiag_dport);
        r = peer_find_text(text_v4(s, t), ends->local, ends->remote, ret);
    }
    if (r != -ENOENT)
        return r;
    spell_end(ends->local, v4 ? from : q->id.idiag_src, 4, q->id.idiag_sport);
    spell_end(ends->remote, v4 ? to : q->id.idiag_dst, 4, q->id.idiag_dport);
    return peer_find_text(text_v6(s, t), ends->local, ends->remote, ret);
}

int peer_ask_text(const struct peers *s, struct peer_text *t, const struct inet_diag_req_v2 *q,
                  struct peer_socket *ret)
{
    struct ends ends;
    int r = find_socket(s, t, q, &ends, ret);

    if (r <= 0)
        return r;
    return peer_is_alone(text_v4(s, t), ret->inode, ends.local, ends.remote) &&
                   peer_is_alone(text_v6(s, t), ret->inode, ends.local, ends.remote) && !t->part
               ? r
               : -ENOENT;
}
