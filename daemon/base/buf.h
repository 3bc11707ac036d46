/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a ceiling. The first append that fails (ceiling or memory) sets an
 * error that stays: later appends do nothing, and the writer checks once, at the end.
 * Thread: the owner's.
 */
#pragma once

#include "base/cleanup.h"
#include "base/span.h"

#include <stdarg.h>

struct buf {
    char *p; /* owned; a NUL follows the content, not counted in n */
    size_t n, cap, max;
    int error; /* 0, -EFBIG (ceiling) or -ENOMEM */
    /* Empties the buffer into another place when it holds over spill_bytes. Only for a writer that
     * appends; max then limits what remains. Its error becomes the buffer's. NULL: the buffer stays
     * whole. */
    int (*spill)(void *cookie, struct span text);
    void *spill_cookie;
    size_t spill_bytes;
};

#define BUF_NULL ((struct buf){ 0 })
/* An empty buffer with a ceiling of @max_bytes. */
#define BUF_UPTO(max_bytes) ((struct buf){ .max = (max_bytes) })

/* Initialises a buffer. Use it if the ceiling was unknown at the declaration. */
void buf_init(struct buf *b, size_t max_bytes);
void buf_deinit(struct buf *b);
#define _cleanup_buf_ _cleanup_(buf_deinit)

/* Append to the buffer; do nothing once it has an error. buf_add_u64() appends decimal text. */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_add_span(struct buf *b, struct span s);
void buf_add_str(struct buf *b, const char *s);
void buf_add_char(struct buf *b, char c);
void buf_add_u64(struct buf *b, uint64_t v);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list ap);
/* Drops content and error, but not the memory. */
void buf_clear(struct buf *b);
/* Returns the content, valid until the buffer changes. */
struct span buf_span(const struct buf *b);
/* Hands over the bytes (malloc'ed, NUL-terminated; "" when empty) and leaves the buffer empty.
 * Returns NULL if the buffer has an error; see b->error. */
char *buf_take(struct buf *b, size_t *ret_n);

/* Reads @fd from its current offset to its end into @b, at most up to @b's ceiling. Returns 0,
 * -EFBIG if the file is longer (the buffer then holds its beginning), or -errno. Blocks as the file
 * does. */
int buf_read_fd(struct buf *b, int fd);
/* Reads the file @path below @dirfd like buf_read_fd(). */
int buf_read_at(struct buf *b, int dirfd, const char *path);
