/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer under construction: status, headers, body. Independent of the HTTP library. Thread: the
 * one that works on the request.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "render/zstd_buf.h"
#include "serve/params/negotiate.h"

#include <jansson.h>

#define ANSWER_HEADERS_MAX 48
#define ANSWER_HEADER_BYTES 4096 /* of all header values; more are dropped and counted */

#define ANSWER_FLOW_BYTES                                                                          \
    ((size_t)16 << 20) /* a body is compressed in memory from this length on */
#define ANSWER_PIECE_BYTES ((size_t)1 << 20) /* unit of that compression */
#define ANSWER_PACKED_RATIO 16

struct answer_header {
    const char *name; /* literal */
    char *value;      /* owned; printable ASCII */
};

struct answer {
    unsigned status;
    const char *content_type; /* borrowed for the life of the program */
    struct buf body;          /* owned */
    struct zstd_buf *packed;  /* owned: a long body, compressed, in place of `body` */
    struct span fixed;        /* body that lives as long as the program, in place of `body` */
    bool no_body;             /* HEAD without a computed body: its length is unknown */
    struct answer_header headers[ANSWER_HEADERS_MAX];
    size_t header_count, header_bytes;
    char problem[ERROR_MSG_MAX]; /* sentence of a problem, for the log; "": no problem */
    const char *coding;          /* "gzip", "deflate" or NULL */
    const char *policy;          /* Content-Security-Policy; NULL: the default of the type */
    const char *cache;           /* Cache-Control; NULL: "no-store" */
};

void answer_init(struct answer *a, size_t max_bytes);
void answer_deinit(struct answer *a);
/* Returns how much memory the body takes until it is sent. */
size_t answer_held_bytes(const struct answer *a);
/* Drops status, headers and body. */
void answer_reset(struct answer *a);
/* Does so, but keeps the header @name. */
void answer_reset_but(struct answer *a, const char *name);

/* Adds a header; bytes that are invalid in a header become '?'. False: a limit was reached, and the
 * header is dropped. */
bool answer_header(struct answer *a, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Replace the body and set its type. @flags: as json_dumps() takes them. */
void answer_json(struct answer *a, unsigned status, const json_t *value, size_t flags);
void answer_fixed(struct answer *a, const char *content_type, struct span body);

/* Turns the answer into a problem (RFC 9457) from @err. @parameter: overrides err->parameter if not
 * empty. */
void answer_problem(struct answer *a, unsigned status, const struct error *err,
                    struct span parameter);
/* Sets the status for an outcome of the backend (> 0) or -errno, with its problem. @retry_s:
 * Retry-After of 429, in seconds. */
void answer_outcome(struct answer *a, int outcome, const struct error *err, unsigned retry_s);
/* Compresses the body in memory from here on if it grows long. Its limit then bounds the compressed
 * bytes, and the body may be ANSWER_PACKED_RATIO times as long. For writers that only append. */
void answer_flow(struct answer *a);
/* Completes the body after answer_flow(). 0, or -errno as in a->body.error. */
int answer_flow_end(struct answer *a);
/* Compresses the body by gzip, for a format that is defined as compressed. False: out of memory,
 * and the body is unchanged. */
bool answer_gzip(struct answer *a);
/* Compresses the body for transfer if that saves enough and it is not compressed yet. Best
 * effort. */
void answer_encode(struct answer *a, enum content_coding coding);
