/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoding of the store's blobs: numbers as LEB128, texts preceded by their length, and the
 * whole blob compressed by zstd. Readers treat blobs as hostile, as the file may be damaged or
 * foreign. Pure; thread: any.
 */
#pragma once

#include "base/buf.h"

#define BLOB_MAX_BYTES ((size_t)512 << 20) /* bytes of one blob, uncompressed */

/* Append a number, or a text preceded by its length. */
void blob_add_number(struct buf *b, uint64_t v);
void blob_add_text(struct buf *b, struct span s);

/* Take a value from the front of @s. Return false, and leave @s unchanged, at the end, on a number
 * over 64 bits, or on a text longer than the rest. */
bool blob_take_number(struct span *s, uint64_t *ret);
bool blob_take_u32(struct span *s, uint32_t *ret);
bool blob_take_text(struct span *s, struct span *ret);
/* Sets *ret to the beginning of a column of @count numbers, and moves *s behind it. */
bool blob_take_column(struct span *s, uint64_t count, struct span *ret);

/* Appends @in, compressed, to @out. Returns 0, -ENOMEM or -EFBIG. */
int blob_compress(struct span in, struct buf *out);
/* Appends @in, decompressed, to @out. Returns 0, -EBADMSG, -EFBIG or -ENOMEM. */
int blob_decompress(struct span in, struct buf *out);
