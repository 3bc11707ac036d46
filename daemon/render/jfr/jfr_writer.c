/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a recording: numbers, strings, events. */
#include "render/jfr/jfr.h"

#define JFR_SIZE_BYTES 5 /* bytes of a padded size, up to 32 GiB */
#define JFR_STRING_EMPTY 1
#define JFR_STRING_UTF8 3

void jfr_add_number(struct buf *out, uint64_t v)
{
    unsigned char bytes[9];
    size_t n = 0;

    while (v >= 0x80 && n < 8) {
        bytes[n++] = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    bytes[n++] = (unsigned char)v; /* all eight bits of the ninth byte are data */
    buf_add(out, bytes, n);
}

void jfr_add_string(struct buf *out, struct span s)
{
    buf_add_char(out, s.n ? JFR_STRING_UTF8 : JFR_STRING_EMPTY);
    if (!s.n)
        return;
    jfr_add_number(out, s.n);
    buf_add_span(out, s);
}

void jfr_add_symbol(struct buf *out, struct span s)
{
    buf_add_char(out, JFR_STRING_UTF8);
    jfr_add_number(out, s.n);
    buf_add_span(out, s);
}

size_t jfr_begin(struct buf *out, enum jfr_type type)
{
    static const char ROOM[JFR_SIZE_BYTES];
    size_t begin = out->n;

    buf_add(out, ROOM, sizeof(ROOM));
    jfr_add_number(out, type);
    return begin;
}

void jfr_end(struct buf *out, size_t begin)
{
    uint64_t size = out->n - begin;

    if (out->error)
        return;
    for (size_t i = 0; i < JFR_SIZE_BYTES; i++) {
        out->p[begin + i] = (char)((size & 0x7f) | (i + 1 < JFR_SIZE_BYTES ? 0x80 : 0));
        size >>= 7;
    }
}

size_t jfr_begin_small(struct buf *out, enum jfr_type type)
{
    size_t begin = out->n;

    buf_add_char(out, 0);
    jfr_add_number(out, type);
    return begin;
}

void jfr_end_small(struct buf *out, size_t begin)
{
    if (!out->error)
        out->p[begin] = (char)(out->n - begin);
}
