/* SPDX-License-Identifier: Apache-2.0 */
#include "render/zstd_buf.h"

#include <zstd.h>

/* Lines of a profile are similar, so higher levels only cost more time. */
#define ZSTD_BUF_LEVEL 1
/* Equal text may be far apart (the same stack in another thread): a window of 4 MiB is faster, and
 * needs half the memory, compared with the default of 512 KiB. */
#define ZSTD_BUF_WINDOW_LOG 22
#define ZSTD_BUF_HASH_LOG 16

struct zstd_buf {
    struct buf held;
    size_t bytes, max_bytes;
    ZSTD_CCtx *writer;
    ZSTD_DCtx *reader;
    ZSTD_inBuffer rest; /* unread part of held */
};

int zstd_buf_new(size_t max_bytes, size_t max_held_bytes, struct zstd_buf **ret)
{
    struct zstd_buf *p = calloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->max_bytes = max_bytes;
    buf_init(&p->held, max_held_bytes);
    p->writer = ZSTD_createCCtx();
    if (!p->writer ||
        ZSTD_isError(ZSTD_CCtx_setParameter(p->writer, ZSTD_c_compressionLevel, ZSTD_BUF_LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(p->writer, ZSTD_c_windowLog, ZSTD_BUF_WINDOW_LOG)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(p->writer, ZSTD_c_hashLog, ZSTD_BUF_HASH_LOG))) {
        zstd_buf_free(p);
        return -ENOMEM;
    }
    *ret = p;
    return 0;
}

struct zstd_buf *zstd_buf_free(struct zstd_buf *p)
{
    if (!p)
        return NULL;
    ZSTD_freeCCtx(p->writer);
    ZSTD_freeDCtx(p->reader);
    buf_deinit(&p->held);
    free(p);
    return NULL;
}

static int zstd_buf_write(struct zstd_buf *p, struct span text, ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = { text.p, text.n, 0 };
    char chunk[64 << 10];
    size_t left;

    do {
        ZSTD_outBuffer out = { chunk, sizeof(chunk), 0 };

        left = ZSTD_compressStream2(p->writer, &out, &in, how);
        if (ZSTD_isError(left))
            return -ENOMEM;
        buf_add(&p->held, chunk, out.pos);
    } while (!p->held.error && (in.pos < in.size || (how == ZSTD_e_end && left)));
    return p->held.error;
}

int zstd_buf_add(struct zstd_buf *p, struct span text)
{
    if (text.n > p->max_bytes - p->bytes)
        return -EFBIG;
    p->bytes += text.n;
    return text.n ? zstd_buf_write(p, text, ZSTD_e_continue) : 0;
}

int zstd_buf_end(struct zstd_buf *p)
{
    int r = zstd_buf_write(p, SPAN_NULL, ZSTD_e_end);

    ZSTD_freeCCtx(p->writer);
    p->writer = NULL;
    p->rest = (ZSTD_inBuffer){ p->held.p, p->held.n, 0 };
    return r;
}

size_t zstd_buf_held_bytes(const struct zstd_buf *p)
{
    return p->held.n + ((size_t)1 << ZSTD_BUF_WINDOW_LOG);
}

size_t zstd_buf_bytes(const struct zstd_buf *p)
{
    return p->bytes;
}

ssize_t zstd_buf_read(struct zstd_buf *p, char *to, size_t max)
{
    ZSTD_outBuffer out = { to, max, 0 };

    if (!p->reader && !(p->reader = ZSTD_createDCtx()))
        return -ENOMEM;
    while (out.pos == 0 && p->rest.pos < p->rest.size) {
        if (ZSTD_isError(ZSTD_decompressStream(p->reader, &out, &p->rest)))
            return -EIO;
    }
    if (out.pos == 0) { /* output that the decoder may still hold back */
        ZSTD_inBuffer none = { NULL, 0, 0 };

        if (ZSTD_isError(ZSTD_decompressStream(p->reader, &out, &none)))
            return -EIO;
    }
    return (ssize_t)out.pos;
}
