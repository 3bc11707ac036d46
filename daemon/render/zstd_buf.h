/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that is written once and read once, front to back, and compressed in between: an answer of
 * hundreds of megabytes takes a few megabytes. Thread: the owner's; nothing blocks.
 */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

struct zstd_buf;

/* Limits: @max_bytes of text, and @max_held_bytes of memory. 0 or -ENOMEM. */
int zstd_buf_new(size_t max_bytes, size_t max_held_bytes, struct zstd_buf **ret);
struct zstd_buf *zstd_buf_free(struct zstd_buf *p);

/* Appends @text. 0; -EFBIG: over one of the limits; -ENOMEM. */
int zstd_buf_add(struct zstd_buf *p, struct span text);
/* Ends the text; called once, before the first read. 0, -EFBIG or -ENOMEM. */
int zstd_buf_end(struct zstd_buf *p);

/* Returns how much memory the ended text takes while it is read. */
size_t zstd_buf_held_bytes(const struct zstd_buf *p);
/* Returns the length of the text, in bytes. */
size_t zstd_buf_bytes(const struct zstd_buf *p);

/* Copies the next part of the text, at most @max bytes. Returns its length; 0 at the end; -EIO,
 * -ENOMEM. */
ssize_t zstd_buf_read(struct zstd_buf *p, char *to, size_t max);
