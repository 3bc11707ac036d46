/* SPDX-License-Identifier: Apache-2.0 */
#include "render/deflater.h"

int deflater_open(struct deflater *d, int level, int format)
{
    *d = (struct deflater){ .open = false };
    d->open =
        deflateInit2(&d->z, level, Z_DEFLATED, format, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
    return d->open ? 0 : -ENOMEM;
}

void deflater_close(struct deflater *d)
{
    if (d->open)
        deflateEnd(&d->z);
    d->open = false;
}

int deflater_add(struct deflater *d, struct span in, bool last, struct buf *out)
{
    unsigned char chunk[16384];
    int r;

    if (in.n > UINT32_MAX)
        return -EIO;
    d->z.next_in = (Bytef *)(uintptr_t)in.p;
    d->z.avail_in = (uInt)in.n;
    do {
        d->z.next_out = chunk;
        d->z.avail_out = sizeof(chunk);
        r = deflate(&d->z, last ? Z_FINISH : Z_NO_FLUSH);
        if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
            return -EIO;
        buf_add(out, chunk, sizeof(chunk) - d->z.avail_out);
    } while (d->z.avail_out == 0 && !out->error);
    return out->error;
}

int deflater_pack(struct span in, int level, int format, struct buf *out)
{
    _cleanup_(deflater_close) struct deflater d;
    int r = deflater_open(&d, level, format);

    return r == 0 ? deflater_add(&d, in, /* last= */ true, out) : r;
}
