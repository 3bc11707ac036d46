/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer in the making: status, headers, body. Knows HTTP's words but not the HTTP library.
 * Thread: the one that works on the request.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "render/zstd_buf.h"
#include "serve/params/negotiate.h"

#include <jansson.h>

#define ANSWER_HEADERS_MAX 48
#define ANSWER_HEADER_BYTES                                                                        \
    4096 /* of all values together; what is over is left out and counted                           \
          */

#define ANSWER_FLOW_BYTES ((size_t)16 << 20) /* of a body: beyond it it is packed, */
#define ANSWER_PIECE_BYTES ((size_t)1 << 20) /* piece by piece */
#define ANSWER_PACKED_RATIO 16

struct answer_header {
    const char *name; /* literal */
    char *value;      /* owned; printable ASCII */
};

struct answer {
    unsigned status;
    const char *content_type; /* borrowed for the life of the program */
    struct buf body;          /* owned */
    struct zstd_buf *packed;  /* owned: the body where it is long, in place of `body` */
    struct span fixed;        /* body that lives as long as the program, in place of `body` */
    bool no_body;             /* HEAD that was not worked out: no length is known */
    struct answer_header headers[ANSWER_HEADERS_MAX];
    size_t header_count, header_bytes;
    char problem[ERROR_MSG_MAX]; /* its sentence, for the log; "" when it is none */
    const char *coding;          /* "gzip", "deflate" or NULL */
    const char *policy;          /* Content-Security-Policy; NULL: the one of its type */
    const char *cache;           /* Cache-Control; NULL: "no-store" */
};

void answer_init(struct answer *a, size_t max_bytes);
void answer_deinit(struct answer *a);
/* Forgets everything that was said so far. */
void answer_reset(struct answer *a);

/* Adds a header; bytes that a header cannot carry become '?'. False when a limit left it out. */
bool answer_header(struct answer *a, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Makes a body of text that starts with its type; drops what was there. */
void answer_json(struct answer *a, unsigned status, const json_t *value);
void answer_fixed(struct answer *a, const char *content_type, struct span body);

/* Makes it a problem (RFC 9457) out of @err. @parameter: overrides err->parameter where not empty.
 */
void answer_problem(struct answer *a, unsigned status, const struct error *err,
                    struct span parameter);
/* Sets the status for an outcome of the backend (> 0) or -errno, with its problem. @retry_s: for
 * 429. */
void answer_outcome(struct answer *a, int outcome, const struct error *err, unsigned retry_s);
/* From here on a body that grows long is held packed. The ceiling then limits what is held, and the
 * body may be ANSWER_PACKED_RATIO times as long. For writers that only append. */
void answer_flow(struct answer *a);
/* Completes the body. 0, or -errno as a->body.error would say. */
int answer_flow_end(struct answer *a);
/* Compresses the body as a part of the format itself. False: out of memory; it stays as it is. */
bool answer_gzip(struct answer *a);
/* Compresses the body if that pays and it is not compressed yet. Best effort. */
void answer_encode(struct answer *a, enum content_coding coding);
