/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses what a client gets from its Accept and Accept-Encoding headers (RFC 9110, 12.5).
 * Malformed parts of these headers are skipped, as the RFC advises. Pure; thread: any.
 */
#pragma once

#include "base/span.h"
#include "render/render.h"

enum content_coding { CODING_IDENTITY, CODING_GZIP, CODING_DEFLATE };

/* Returns the format of @formats that @accept prefers; the first one on a tie or if @accept is
 * empty. NULL: it accepts none. @accept: the header's value; SPAN_NULL: none sent. */
const struct render_format *negotiate_format(struct span accept,
                                             const struct render_format *formats, size_t count);
/* Returns whether @accept names text/event-stream itself; wildcards do not count. */
bool negotiate_events(struct span accept);
/* Returns whether @accept names text/html and prefers it to plain text, as browsers do. */
bool negotiate_html(struct span accept);
/* Returns whether @accept names text/plain and prefers it to JSON. */
bool negotiate_text(struct span accept);
/* Returns whether @accept names OpenMetrics 1.0.0 and prefers it to plain text. */
bool negotiate_openmetrics(struct span accept);
enum content_coding negotiate_coding(struct span accept_encoding);
