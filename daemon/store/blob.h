/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of the store's blobs: numbers as LEB128, text with its length in front, compressed
 * whole by zstd. A blob is read as hostile: the file may be damaged, or not ours. Pure; thread:
 * any.
 */
#pragma once

#include "base/buf.h"

#define BLOB_MAX_BYTES ((size_t)512 << 20) /* of one, not compressed */

/* Append a number, or a text with its length. */
void blob_add_number(struct buf *b, uint64_t v);
void blob_add_text(struct buf *b, struct span s);

/* Takers: false at the end, on a number over 64 bits, or a text longer than what is left. */
bool blob_take_number(struct span *s, uint64_t *ret);
bool blob_take_u32(struct span *s, uint32_t *ret);
bool blob_take_text(struct span *s, struct span *ret);

/* Appends @in, compressed, to @out. 0, -ENOMEM, -EFBIG. */
int blob_compress(struct span in, struct buf *out);
/* Appends what @in holds. 0, -EBADMSG, -EFBIG, -ENOMEM. */
int blob_decompress(struct span in, struct buf *out);
