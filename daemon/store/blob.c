/* SPDX-License-Identifier: Apache-2.0 */
#include "store/blob.h"

#include <zstd.h>

#define BLOB_LEVEL 3

void blob_add_number(struct buf *b, uint64_t v)
{
    char bytes[10];
    size_t n = 0;

    do {
        bytes[n] = (char)(v & 0x7f);
        v >>= 7;
        if (v)
            bytes[n] |= (char)0x80;
        n++;
    } while (v);
    buf_add(b, bytes, n);
}

void blob_add_text(struct buf *b, struct span s)
{
    blob_add_number(b, s.n);
    buf_add_span(b, s);
}

bool blob_take_number(struct span *s, uint64_t *ret)
{
    struct span rest = *s;
    uint64_t v = 0;
    uint8_t byte;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (!span_take_u8(&rest, &byte) || (shift == 63 && byte > 1))
            return false;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = v;
            *s = rest;
            return true;
        }
    }
    return false;
}

bool blob_take_u32(struct span *s, uint32_t *ret)
{
    struct span rest = *s;
    uint64_t v;

    if (!blob_take_number(&rest, &v) || v > UINT32_MAX)
        return false;
    *ret = (uint32_t)v;
    *s = rest;
    return true;
}

bool blob_take_text(struct span *s, struct span *ret)
{
    struct span rest = *s;
    uint64_t n;

    if (!blob_take_number(&rest, &n) || n > rest.n || !span_take_bytes(&rest, (size_t)n, ret))
        return false;
    *s = rest;
    return true;
}

bool blob_take_column(struct span *s, uint64_t count, struct span *ret)
{
    uint64_t v;

    *ret = *s;
    for (uint64_t i = 0; i < count; i++) {
        if (!blob_take_number(s, &v))
            return false;
    }
    return true;
}

int blob_compress(struct span in, struct buf *out)
{
    size_t bound = ZSTD_compressBound(in.n), n;
    _cleanup_free_ char *packed = malloc(bound);

    if (!packed)
        return -ENOMEM;
    n = ZSTD_compress(packed, bound, in.n ? in.p : "", in.n, BLOB_LEVEL);
    if (ZSTD_isError(n))
        return -ENOMEM;
    buf_add(out, packed, n);
    return out->error;
}

int blob_decompress(struct span in, struct buf *out)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer from = { in.p, in.n, 0 };
    char chunk[32768];
    size_t left = 1;
    int r = stream ? 0 : -ENOMEM;

    while (r == 0 && left) {
        ZSTD_outBuffer to = { chunk, sizeof(chunk), 0 };

        left = ZSTD_decompressStream(stream, &to, &from);
        if (ZSTD_isError(left) || (left && to.pos == 0 && from.pos == from.size)) {
            r = -EBADMSG;
            break;
        }
        buf_add(out, chunk, to.pos);
        r = out->error;
    }
    ZSTD_freeDStream(stream);
    return r;
}
