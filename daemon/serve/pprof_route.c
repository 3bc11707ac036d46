/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /debug/pprof, as Go programs serve it: for scrapers that know nothing of flamed. What it measures
 * comes from the route for profiles; kinds of profile that flamed has none of are empty and valid.
 */
#include "serve/serve_impl.h"

#include "base/clock.h"

#define PPROF_TYPE "application/octet-stream"

static const char INDEX[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>/debug/pprof/</title>"
    "</head><body>\n<h1>/debug/pprof/</h1>\n<ul>\n"
    "<li><a href=\"profile?seconds=10\">profile</a>: CPU time; takes seconds, and pid, container, "
    "pod, namespace or jvm, else the whole node</li>\n"
    "<li><a href=\"heap\">heap</a>, <a href=\"allocs\">allocs</a>, <a href=\"block\">block</a>, "
    "<a href=\"mutex\">mutex</a>, <a href=\"goroutine\">goroutine</a>: empty</li>\n"
    "</ul>\n</body></html>\n";

bool handle_pprof_index(struct request *req)
{
    answer_fixed(&req->answer, "text/html; charset=utf-8", span_of(INDEX));
    if (!span_ends_with(span_of(req->path), "/")) { /* its links go on from the folder */
        req->answer.status = 301;
        answer_header(&req->answer, "Location", "pprof/");
    }
    return true;
}

bool handle_pprof_profile(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    struct capture_request c;
    int r;

    req->params.format = render_format_find(SPAN("pprof"));
    if (!req->params.format) {
        answer_missing(req, "pprof profiles are");
        return true;
    }
    if (!req->head) {
        work_describe(req, &c);
        c.keep = false;             /* who scrapes stores it */
        c.symbols = SYMBOLS_MEMORY; /* and does so all day: an agent is loaded only for a person */
        return work_capture(req, &c);
    }
    r = be->target_check(be->ctx, &req->params.target, &err);
    if (r != 0)
        answer_outcome(&req->answer, r, &err, 1);
    req->answer.content_type = r == 0 ? PPROF_TYPE : req->answer.content_type;
    req->answer.no_body = r == 0;
    return true;
}

void finish_pprof(struct request *req)
{
    finish_profile(req);
    if (req->answer.status == 200)
        req->answer.content_type = PPROF_TYPE;
}

/* ---- empty ones ---- */

struct pprof_kind {
    const char *path;
    struct {
        const char *type, *unit;
    } values[4];
};

static const struct pprof_kind KINDS[] = {
    { "/debug/pprof/heap",
      { { "alloc_objects", "count" },
        { "alloc_space", "bytes" },
        { "inuse_objects", "count" },
        { "inuse_space", "bytes" } } },
    { "/debug/pprof/allocs",
      { { "alloc_objects", "count" },
        { "alloc_space", "bytes" },
        { "inuse_objects", "count" },
        { "inuse_space", "bytes" } } },
    { "/debug/pprof/block", { { "contentions", "count" }, { "delay", "nanoseconds" } } },
    { "/debug/pprof/mutex", { { "contentions", "count" }, { "delay", "nanoseconds" } } },
    { "/debug/pprof/goroutine", { { "goroutine", "count" } } },
};

/* Fields of pprof's Profile message. */
enum {
    PPROF_SAMPLE_TYPE = 1,
    PPROF_STRING_TABLE = 6,
    PPROF_TIME_NANOS = 9,
    PPROF_PERIOD_TYPE = 11,
    PPROF_PERIOD = 12
};

static void add_varint(struct buf *b, uint64_t v)
{
    while (v >= 0x80) {
        buf_add_char(b, (char)(v | 0x80));
        v >>= 7;
    }
    buf_add_char(b, (char)v);
}

static void add_bytes(struct buf *b, unsigned field, struct span s)
{
    add_varint(b, field << 3 | 2);
    add_varint(b, s.n);
    buf_add_span(b, s);
}

static void add_number(struct buf *b, unsigned field, uint64_t v)
{
    add_varint(b, field << 3);
    add_varint(b, v);
}

/* A ValueType: two small indexes into the table of strings. */
static void add_value_type(struct buf *b, unsigned field, size_t type)
{
    const char message[] = { 1 << 3, (char)type, 2 << 3, (char)(type + 1) };

    add_bytes(b, field, (struct span){ message, sizeof(message) });
}

static void add_empty(struct buf *b, const struct pprof_kind *k)
{
    size_t count = 0;

    while (count < ARRAY_SIZE(k->values) && k->values[count].type)
        add_value_type(b, PPROF_SAMPLE_TYPE, 1 + 2 * count++);
    add_bytes(b, PPROF_STRING_TABLE, SPAN(""));
    for (size_t i = 0; i < count; i++) {
        add_bytes(b, PPROF_STRING_TABLE, span_of(k->values[i].type));
        add_bytes(b, PPROF_STRING_TABLE, span_of(k->values[i].unit));
    }
    add_number(b, PPROF_TIME_NANOS, clock_realtime_ns());
    add_value_type(b, PPROF_PERIOD_TYPE, 1);
    add_number(b, PPROF_PERIOD, 1);
}

bool handle_pprof_empty(struct request *req)
{
    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++) {
        if (strcmp(KINDS[i].path, req->route->path) == 0)
            add_empty(&req->answer.body, &KINDS[i]);
    }
    if (!answer_gzip(&req->answer)) {
        struct error err = ERROR_NULL;

        answer_outcome(&req->answer, error_set(&err, -ENOMEM, "out of memory"), &err, 0);
        return true;
    }
    req->answer.status = 200;
    req->answer.content_type = PPROF_TYPE;
    return true;
}
