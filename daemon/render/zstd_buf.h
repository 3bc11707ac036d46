/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that is written once and read once, front to back, and held compressed in between: an answer
 * of hundreds of megabytes takes a few. Thread: the owner's; nothing blocks.
 */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

struct zstd_buf;

/* @max_bytes of text, and @max_held_bytes of memory for it. 0 or -ENOMEM. */
int zstd_buf_new(size_t max_bytes, size_t max_held_bytes, struct zstd_buf **ret);
struct zstd_buf *zstd_buf_free(struct zstd_buf *p);

/* 0; -EFBIG: over one of the limits; -ENOMEM. */
int zstd_buf_add(struct zstd_buf *p, struct span text);
/* To be called once, when all is there. */
int zstd_buf_end(struct zstd_buf *p);

/* Returns the bytes of the text. */
size_t zstd_buf_bytes(const struct zstd_buf *p);

/* Copies the next of the text, at most @max bytes. How many; 0 at the end; -EIO, -ENOMEM. */
ssize_t zstd_buf_read(struct zstd_buf *p, char *to, size_t max);
