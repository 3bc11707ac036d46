/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client would like to get: Accept and Accept-Encoding (RFC 9110, 12.5). Malformed parts of
 * these headers are skipped, as the RFC advises. Pure; thread: any.
 */
#pragma once

#include "base/span.h"
#include "render/render.h"

enum content_coding { CODING_IDENTITY, CODING_GZIP, CODING_DEFLATE };

/* Returns the format of @formats that @accept (a header's value; SPAN_NULL: none sent) likes best;
 * the first one on a tie or without a wish. NULL when it accepts none of them. */
const struct render_format *negotiate_format(struct span accept,
                                             const struct render_format *formats, size_t count);
/* Returns whether @accept names text/event-stream, which no wildcard stands for. */
bool negotiate_events(struct span accept);
/* Returns whether @accept names text/html and wants plain text less: browsers do. */
bool negotiate_html(struct span accept);
/* Returns whether @accept names text/plain and wants JSON less. */
bool negotiate_text(struct span accept);
enum content_coding negotiate_coding(struct span accept_encoding);
