/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's facts about a TCP connection. The first byte chooses between an answer of
 * NETLINK_SOCK_DIAG, and lines of /proc/net/tcp with a request for the ends in the first line.
 */
#include "access/peers_impl.h"
#include "base/cleanup.h"

#include <netinet/in.h>

#define END_BYTES 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only an open socket has a user. */
static void check(int r, const struct peer_socket *p)
{
    if (r > 1 || (r == 1 && !p->inode))
        abort();
}

static void try_text(struct span text)
{
    struct span rest = text, line, word;
    char ends[2][END_BYTES] = { "0100007F:1F90", "0100007F:D431" };
    struct peer_socket p = { .uid = UINT32_MAX };

    if (span_take_line(&rest, &line) && span_take_word(&line, &word)) {
        for (int i = 0; i < 2 && span_take_word(&line, &word); i++)
            span_copy(word, ends[i], END_BYTES);
    }
    check(peer_find_text(text, ends[0], ends[1], &p), &p);
}

/* Passes the text as recvfrom() does: whole, and aligned. */
static void try_answer(struct span text)
{
    struct inet_diag_req_v2 q = { .sdiag_family = text.n % 2 ? AF_INET : AF_INET6,
                                  .sdiag_protocol = IPPROTO_TCP };
    _cleanup_free_ struct nlmsghdr *h = malloc(MAX(text.n, sizeof(*h)));
    struct peer_socket p = { .uid = UINT32_MAX };
    struct inet_diag_msg m;

    if (!h)
        abort();
    memcpy(h, text.p, text.n);
    if (!NLMSG_OK(h, text.n))
        return;
    if (text.n >= NLMSG_LENGTH(sizeof(m))) { /* the requested ends */
        memcpy(&m, NLMSG_DATA(h), sizeof(m));
        q.id = m.id;
    }
    check(peer_take_answer(h, &q, &p), &p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 'n')
        try_answer((struct span){ (const char *)data + 1, size - 1 });
    else
        try_text((struct span){ (const char *)data + 1, size - 1 });
    return 0;
}
