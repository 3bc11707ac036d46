/* SPDX-License-Identifier: Apache-2.0 */
/* Writes records into flamed's memory file. Takes no lock and never waits. */
#include "agent/session.h"

#define STRING_MAX 2048u /* bytes of one name */

void *reserve(uint32_t bytes, uint16_t kind, uint16_t flags, uint64_t time_ns)
{
    struct stream_header *h = session.header;
    uint64_t head = session.head, tail = __atomic_load_n(&h->tail, __ATOMIC_ACQUIRE);
    uint64_t at = head & (STREAM_RING_BYTES - 1), rest = STREAM_RING_BYTES - at;
    uint64_t pad = rest < bytes ? rest : 0;
    struct stream_record *r;

    if (tail > head || head - tail > STREAM_RING_BYTES ||
        bytes + pad > STREAM_RING_BYTES - (head - tail)) {
        h->dropped++;
        return NULL;
    }
    if (pad) { /* at least 8 bytes, as all sizes are multiples of 8 */
        r = (struct stream_record *)(session.ring + at);
        r->bytes = (uint32_t)pad;
        r->kind = STREAM_PAD;
        r->flags = 0;
        commit((uint32_t)pad);
        at = 0;
    }
    r = (struct stream_record *)(session.ring + at);
    r->bytes = bytes;
    r->kind = kind;
    r->flags = flags;
    r->time_ns = time_ns;
    return r;
}

void commit(uint32_t bytes)
{
    session.head += bytes;
    __atomic_store_n(&session.header->head, session.head, __ATOMIC_RELEASE);
}

uint32_t round_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) & ~(to - 1);
}

uint16_t length(const char *s)
{
    uint16_t n = 0;

    while (s && n < STRING_MAX && s[n])
        n++;
    return n;
}

char *put(char *to, const char *s, uint16_t n)
{
    memcpy(to, s, n);
    return to + n;
}
