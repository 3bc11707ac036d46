/* SPDX-License-Identifier: Apache-2.0 */
/* Writes process contexts as tracers do. For tests of discover/. */
#pragma once

#include "base/buf.h"

/* Appends a field of bytes with a number below 16. */
static inline void add_field(struct buf *out, unsigned number, struct span bytes)
{
    buf_add_char(out, (char)(number << 3 | 2));
    for (size_t n = bytes.n; n >= 128; n >>= 7)
        buf_add_char(out, (char)((n & 127) | 128));
    buf_add_char(out, (char)(bytes.n >> 7 * (bytes.n >= 128) >> 7 * (bytes.n >= 128 * 128)));
    buf_add_span(out, bytes);
}

/* Appends an attribute to a resource. */
static inline void add_attribute(struct buf *resource, const char *key, struct span value)
{
    _cleanup_buf_ struct buf any = BUF_NULL, pair = BUF_NULL;

    buf_init(&any, 1 << 20);
    buf_init(&pair, 1 << 20);
    add_field(&any, 1, value);
    add_field(&pair, 1, span_of(key));
    add_field(&pair, 2, buf_span(&any));
    add_field(resource, 1, buf_span(&pair));
}
