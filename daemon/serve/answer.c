/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/answer.h"

#include "base/text.h"
#include "render/deflater.h"
#include "request/backend.h"

#include <stdarg.h>

#define ANSWER_ENCODE_MIN 1024 /* bytes; a shorter body is not worth compressing */
#define ANSWER_ZLIB_LEVEL 3    /* three times as fast as level 6, for 10 % more bytes */

void answer_init(struct answer *a, size_t max_bytes)
{
    *a = (struct answer){ .status = 200 };
    buf_init(&a->body, max_bytes);
}

size_t answer_held_bytes(const struct answer *a)
{
    return a->fixed.p || a->no_body ? 0 : a->packed ? zstd_buf_held_bytes(a->packed) : a->body.n;
}

void answer_deinit(struct answer *a)
{
    for (size_t i = 0; i < a->header_count; i++)
        free(a->headers[i].value);
    a->header_count = 0;
    a->packed = zstd_buf_free(a->packed);
    buf_deinit(&a->body);
}

void answer_reset(struct answer *a)
{
    size_t max_bytes = a->body.max;

    answer_deinit(a);
    answer_init(a, max_bytes);
}

void answer_reset_but(struct answer *a, const char *name)
{
    char *kept = NULL;

    for (size_t i = 0; i < a->header_count && !kept; i++) {
        if (strcmp(a->headers[i].name, name) == 0)
            kept = TAKE_PTR(a->headers[i].value);
    }
    answer_reset(a);
    if (kept)
        answer_header(a, name, "%s", kept);
    free(kept);
}

bool answer_header(struct answer *a, const char *name, const char *fmt, ...)
{
    char value[1024];
    char *copy;
    va_list ap;
    size_t n;

    va_start(ap, fmt);
    vsnprintf(value, sizeof(value), fmt, ap);
    va_end(ap);
    n = strlen(value);
    if (a->header_count == ANSWER_HEADERS_MAX || a->header_bytes + n > ANSWER_HEADER_BYTES)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (value[i] < ' ' || value[i] > '~')
            value[i] = '?';
    }
    copy = strdup(value);
    if (!copy)
        return false;
    a->headers[a->header_count++] = (struct answer_header){ name, copy };
    a->header_bytes += n;
    return true;
}

static int dump_to_buf(const char *text, size_t n, void *cookie)
{
    struct buf *b = cookie;

    buf_add(b, text, n);
    return b->error ? -1 : 0;
}

void answer_json(struct answer *a, unsigned status, const json_t *value, size_t flags)
{
    a->status = status;
    a->content_type = "application/json";
    buf_clear(&a->body);
    if (json_dump_callback(value, dump_to_buf, &a->body, flags) < 0) {
        struct error err = ERROR_NULL;

        answer_outcome(a, a->body.error ? a->body.error : -ENOMEM, &err, 0);
        return;
    }
    buf_add_char(&a->body, '\n');
}

void answer_fixed(struct answer *a, const char *content_type, struct span body)
{
    a->status = 200;
    a->content_type = content_type;
    a->fixed = body;
}

static const struct {
    unsigned status;
    const char *type, *title;
} PROBLEMS[] = {
    { 400, "bad-parameter", "Bad parameter" },
    { 401, "unauthorized", "Unauthorized" },
    { 403, "access-refused", "Access refused" },
    { 404, "not-found", "Not found" },
    { 405, "method-not-allowed", "Method not allowed" },
    { 406, "no-such-format", "No format that the client accepts" },
    { 409, "not-possible", "Not possible in this state" },
    { 413, "too-large", "Too large" },
    { 415, "wrong-type", "Type of body not understood" },
    { 429, "too-many", "Too many at once" },
    { 431, "headers-too-large", "Headers too large" },
    { 500, "internal", "Internal error" },
    { 503, "unavailable", "Not available on this machine" },
};

/* Appends `,"name":"text"` unless @text is empty. */
static void add_member(struct buf *b, const char *name, struct span text)
{
    _cleanup_buf_ struct buf clean = BUF_UPTO(4096);

    if (text.n == 0)
        return;
    text_clean(text, TEXT_UTF8, 1024, &clean);
    buf_printf(b, ",\n  \"%s\": \"", name);
    text_add_json(b, buf_span(&clean));
    buf_add_char(b, '"');
}

void answer_problem(struct answer *a, unsigned status, const struct error *err,
                    struct span parameter)
{
    const char *title;
    size_t i;

    for (i = 0; i + 1 < ARRAY_SIZE(PROBLEMS) && PROBLEMS[i].status != status; i++)
        ;
    title = status == 503 && err->retry_s ? "Not available at this moment" : PROBLEMS[i].title;
    if (a->body.max < 16384)
        a->body.max = 16384; /* room for any sentence */
    buf_clear(&a->body);
    a->fixed = SPAN_NULL;
    a->no_body = false;
    a->status = status;
    a->content_type = "application/problem+json";
    span_copy(span_of(err->msg), a->problem, sizeof(a->problem));
    buf_printf(&a->body,
               "{\n  \"type\": \"urn:flamed:problem:%s\",\n  \"title\": \"%s\",\n"
               "  \"status\": %u",
               PROBLEMS[i].type, title, status);
    add_member(&a->body, "detail", span_of(err->msg[0] ? err->msg : title));
    if (parameter.n == 0 && err->parameter)
        parameter = span_of(err->parameter);
    add_member(&a->body, "parameter", parameter);
    if (err->code < 0 && status >= 404 && status != 405 && status != 406)
        add_member(&a->body, "errno", span_of(strerrorname_np(-err->code)));
    if (err->step)
        add_member(&a->body, "step", span_of(err->step));
    add_member(&a->body, "remedy", span_of(err->remedy));
    buf_add_str(&a->body, "\n}\n");
}

/* Returns @err if it has a sentence, else one on the lack of memory (base/memory_guard.h) in @buf.
 * */
static const struct error *memory_error(const struct error *err, struct error *buf)
{
    if (err->msg[0])
        return err;
    error_set(buf, -ENOMEM, "flamed has too little memory for this answer now");
    error_remedy(buf, "ask again later, or for less: a shorter time, fewer processes");
    return buf;
}

void answer_outcome(struct answer *a, int outcome, const struct error *err, unsigned retry_s)
{
    struct error own = ERROR_NULL;
    unsigned status = 500;

    switch (outcome) {
    case BACKEND_NOT_FOUND:
        status = 404;
        break;
    case BACKEND_CONFLICT:
        status = 409;
        break;
    case BACKEND_TOO_MANY:
        status = 429;
        break;
    case BACKEND_UNAVAILABLE:
    case -ENOMEM:
    case -ENOTCONN: /* flamed-broker has ended */
    case -EBUSY:    /* a disk stalls */
    case -ENODEV:   /* the store is not open */
        status = 503;
        break;
    case -EINVAL:
    case -E2BIG:
        status = 400;
        break;
    case -EFBIG:
        status = 413;
        break;
    default:
        break;
    }
    if (outcome == -ENOMEM)
        err = memory_error(err, &own);
    answer_problem(a, status, err, SPAN_NULL);
    if (status == 429 || (status == 503 && err->retry_s))
        answer_header(a, "Retry-After", "%u", MAX(err->retry_s ? err->retry_s : retry_s, 1u));
}

/* Replaces the body by its compressed form. @format: as in deflater_open(). False: failed, and the
 * body is unchanged. */
static bool body_deflate(struct answer *a, int format)
{
    struct span in = a->fixed.p ? a->fixed : buf_span(&a->body);
    struct buf packed = BUF_UPTO(in.n + in.n / 8 + 256); /* more than zlib ever adds */

    if (deflater_pack(in, ANSWER_ZLIB_LEVEL, format, &packed) < 0) {
        buf_deinit(&packed);
        return false;
    }
    buf_deinit(&a->body);
    a->fixed = SPAN_NULL;
    a->body.p = packed.p;
    a->body.n = packed.n;
    a->body.cap = packed.cap;
    return true;
}

static int take_piece(void *cookie, struct span text)
{
    struct answer *a = cookie;
    int r = 0;

    if (!a->packed) {
        size_t most = SIZE_MAX / ANSWER_PACKED_RATIO;

        r = zstd_buf_new(MIN(a->body.max, most) * ANSWER_PACKED_RATIO, a->body.max, &a->packed);
        a->body.spill_bytes = MIN(ANSWER_PIECE_BYTES, a->body.max / 2);
    }
    return r == 0 ? zstd_buf_add(a->packed, text) : r;
}

void answer_flow(struct answer *a)
{
    a->body.spill = take_piece;
    a->body.spill_cookie = a;
    a->body.spill_bytes = MIN(ANSWER_FLOW_BYTES, a->body.max / 2);
}

int answer_flow_end(struct answer *a)
{
    int r = a->body.error;

    a->body.spill = NULL;
    if (r < 0 || !a->packed)
        return r;
    r = zstd_buf_add(a->packed, buf_span(&a->body));
    buf_clear(&a->body);
    return r == 0 ? zstd_buf_end(a->packed) : r;
}

bool answer_gzip(struct answer *a)
{
    return body_deflate(a, DEFLATER_GZIP);
}

void answer_encode(struct answer *a, enum content_coding coding)
{
    size_t n = a->fixed.p ? a->fixed.n : a->body.n;

    if (coding == CODING_IDENTITY || a->coding || a->packed || n < ANSWER_ENCODE_MIN)
        return;
    if (body_deflate(a, coding == CODING_GZIP ? DEFLATER_GZIP : DEFLATER_ZLIB))
        a->coding = coding == CODING_GZIP ? "gzip" : "deflate";
}
