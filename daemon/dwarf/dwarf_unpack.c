/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/dwarf_unpack.h"

#include <zlib.h>
#include <zstd.h>

struct dwarf_unpacker {
    bool zlib;
    z_stream stream;    /* the state of zlib */
    ZSTD_DStream *zstd; /* owned; for zstd */
};

static bool begin_zstd(struct dwarf_unpacker *u)
{
    u->zstd = ZSTD_createDStream();
    return u->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax,
                                                           DWARF_ZSTD_WINDOW_LOG_MAX));
}

struct dwarf_unpacker *dwarf_unpacker_new(enum dwarf_packing packing)
{
    struct dwarf_unpacker *u = calloc(1, sizeof(*u));

    if (!u)
        return NULL;
    u->zlib = packing == DWARF_ZLIB;
    if (u->zlib ? inflateInit(&u->stream) == Z_OK : begin_zstd(u))
        return u;
    ZSTD_freeDStream(u->zstd);
    free(u);
    return NULL;
}

struct dwarf_unpacker *dwarf_unpacker_copy(struct dwarf_unpacker *u)
{
    struct dwarf_unpacker *copy = u->zlib ? calloc(1, sizeof(*copy)) : NULL;

    if (!copy)
        return NULL;
    copy->zlib = true;
    if (inflateCopy(&copy->stream, &u->stream) == Z_OK)
        return copy;
    free(copy);
    return NULL;
}

struct dwarf_unpacker *dwarf_unpacker_free(struct dwarf_unpacker *u)
{
    if (!u)
        return NULL;
    if (u->zlib)
        inflateEnd(&u->stream);
    ZSTD_freeDStream(u->zstd);
    free(u);
    return NULL;
}

/* The memory of zlib: its window and tables. */
#define ZLIB_BYTES ((size_t)48 << 10)

size_t dwarf_unpacker_bytes(const struct dwarf_unpacker *u)
{
    if (!u)
        return 0;
    return sizeof(*u) + (u->zlib ? ZLIB_BYTES : ZSTD_sizeof_DStream(u->zstd));
}

static bool run_zlib(z_stream *z, struct span *in, char **to, size_t *n)
{
    int r;

    z->next_in = (Bytef *)in->p;
    z->avail_in = (uInt)in->n;
    z->next_out = (Bytef *)*to;
    z->avail_out = (uInt)*n;
    r = inflate(z, Z_NO_FLUSH);
    *in = (struct span){ (const char *)z->next_in, z->avail_in };
    *to = (char *)z->next_out;
    *n = z->avail_out;
    return r == Z_OK || (r == Z_STREAM_END && !*n);
}

static bool run_zstd(ZSTD_DStream *z, struct span *in, char **to, size_t *n)
{
    ZSTD_inBuffer from = { in->p, in->n, 0 };
    ZSTD_outBuffer out = { *to, *n, 0 };
    size_t r = ZSTD_decompressStream(z, &out, &from);

    *in = span_from(*in, from.pos);
    *to += out.pos;
    *n -= out.pos;
    return !ZSTD_isError(r) && (from.pos || out.pos);
}

bool dwarf_unpacker_run(struct dwarf_unpacker *u, struct span *in, char **to, size_t *n)
{
    return u->zlib ? run_zlib(&u->stream, in, to, n) : run_zstd(u->zstd, in, to, n);
}
