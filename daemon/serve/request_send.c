/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends an answer: converts it to the HTTP library's form, with the headers that every answer has.
 * Nothing here blocks.
 */
#include "serve/http.h"

#include "base/lock.h"
#include "base/log.h"

/* Our pages are self-contained: they can send no request. The sandbox gives them an origin of their
 * own, which this service refuses. So even a name that breaks out of its quoting can request
 * nothing. */
#define CSP_PAGE                                                                                   \
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "                  \
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "           \
    "sandbox allow-scripts allow-downloads"
/* A picture with a script has the same policy, and may open a dialog for the search text. */
#define CSP_PICTURE                                                                                \
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "                  \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "                                \
    "sandbox allow-scripts allow-modals"
#define CSP_DATA "default-src 'none'; frame-ancestors 'none'; sandbox"

#define STREAM_BLOCK_BYTES (32 * 1024)
#define PACKED_BLOCK_BYTES ((size_t)64 << 10) /* of a compressed body, per read */

static ssize_t no_bytes(void *cookie, uint64_t at, char *buf, size_t max)
{
    (void)cookie;
    (void)at;
    (void)buf;
    (void)max;
    return MHD_CONTENT_READER_END_OF_STREAM;
}

static ssize_t packed_bytes_of(void *cookie, uint64_t at, char *buf, size_t max)
{
    ssize_t n = zstd_buf_read(cookie, buf, max);

    (void)at; /* read once, from front to back */
    return n > 0    ? n
           : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM
                    : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void packed_done(void *cookie)
{
    zstd_buf_free(cookie);
}

/* Returns the response with a long body, which is decompressed while it is sent. */
static struct MHD_Response *response_packed(struct answer *a)
{
    struct zstd_buf *p = TAKE_PTR(a->packed);
    struct MHD_Response *response = MHD_create_response_from_callback(
        zstd_buf_bytes(p), PACKED_BLOCK_BYTES, packed_bytes_of, p, packed_done);

    if (!response)
        zstd_buf_free(p);
    return response;
}

static struct MHD_Response *response_new(struct request *req)
{
    struct answer *a = &req->answer;
    struct MHD_Response *response;
    size_t n = a->fixed.n;
    char *p;

    if (req->stream.active && !req->wants.head)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, stream_read,
                                                 req, NULL);
    if (a->no_body || req->stream.active) {
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, no_bytes, NULL, NULL);
        /* The library ends a response to HEAD without a known length by an empty chunk, which a
         * client takes for the next answer. So no chunks are used, and the connection ends. */
        if (response)
            MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
        return response;
    }
    if (a->packed)
        return response_packed(a);
    if (a->fixed.p)
        return MHD_create_response_from_buffer(n, (void *)(uintptr_t)a->fixed.p,
                                               MHD_RESPMEM_PERSISTENT);
    p = buf_take(&a->body, &n);
    if (!p)
        return NULL;
    response = MHD_create_response_from_buffer(n, p, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(p);
    return response;
}

static const char *policy_of(const char *content_type)
{
    if (content_type && strncmp(content_type, "text/html", 9) == 0)
        return CSP_PAGE;
    if (content_type && strcmp(content_type, "image/svg+xml") == 0)
        return CSP_PICTURE;
    return CSP_DATA;
}

/* Counts and audits @req once its answer is complete. Does nothing the next time. */
static void note(struct request *req)
{
    struct answer *a = &req->answer;

    if (req->noted)
        return;
    req->noted = true;
    if (a->status >= 500 && a->problem[0] && log_limit())
        log_warn("a request failed: %s path=%s status=%u", a->problem,
                 req->received.path ? req->received.path : "-", a->status);
    audit_note(req->serve->audit, req);
    LOCK_SCOPE(&req->serve->lock);
    stats_count(&req->serve->counts, req->route, a->status);
    req->serve->changes += !req->route || !req->route->health;
}

void request_wrap(struct request *req)
{
    if (!req->came_by || req->wrapped)
        return;
    req->wrapped = true;
    note(req);
    req->came_by->wrap(req);
}

enum MHD_Result request_send(struct request *req)
{
    struct answer *a = &req->answer;
    struct MHD_Response *response;
    enum MHD_Result r;

    request_wrap(req);
    if (!req->stream.active)
        answers_hold(req);
    response = response_new(req);
    if (!response)
        return MHD_NO;
    if (a->content_type)
        MHD_add_response_header(response, "Content-Type", a->content_type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Cache-Control", a->cache ? a->cache : "no-store");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(response, "Content-Security-Policy",
                            a->policy ? a->policy : policy_of(a->content_type));
    MHD_add_response_header(response, "Vary",
                            req->route && (req->route->negotiates || req->route->streams)
                                ? "Accept, Accept-Encoding"
                                : "Accept-Encoding");
    if (a->coding)
        MHD_add_response_header(response, "Content-Encoding", a->coding);
    for (size_t i = 0; i < a->header_count; i++)
        MHD_add_response_header(response, a->headers[i].name, a->headers[i].value);
    note(req);
    r = MHD_queue_response(req->connection, a->status, response);
    MHD_destroy_response(response);
    return r;
}
