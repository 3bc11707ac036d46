/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses bytes by zlib into a buffer, piece by piece. Thread: the owner's; nothing blocks. */
#pragma once

#include "base/buf.h"

#include <zlib.h>

#define DEFLATER_ZLIB MAX_WBITS        /* HTTP's encoding "deflate" */
#define DEFLATER_GZIP (MAX_WBITS + 16) /* a gzip header, without name or time */

struct deflater {
    z_stream z;
    bool open;
};

/* @format: DEFLATER_ZLIB or DEFLATER_GZIP. 0 or -ENOMEM. */
int deflater_open(struct deflater *d, int level, int format);
void deflater_close(struct deflater *d); /* no-op if not open */
/* Appends the compressed @in (at most 4 GiB) to @out. The @last piece flushes the rest. 0, -EIO or
 * the error of @out. */
int deflater_add(struct deflater *d, struct span in, bool last, struct buf *out);
/* Appends all of @in to @out in one call. Returns as deflater_open() and deflater_add(). */
int deflater_pack(struct span in, int level, int format, struct buf *out);
