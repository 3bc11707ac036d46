/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /debug/pprof as Go programs serve it, for scrapers that do not know flamed. Profiles are captured
 * as by the route for profiles; kinds of profile that flamed lacks are empty and valid. As with Go,
 * the other kinds cover the time that seconds= gives; without it they are empty.
 */
#include "serve/routes/handlers.h"

#include "base/clock.h"

#define PPROF_TYPE "application/octet-stream"

static const char INDEX[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>/debug/pprof/</title>"
    "</head><body>\n<h1>/debug/pprof/</h1>\n<ul>\n"
    "<li><a href=\"profile?seconds=10\">profile</a>: CPU time; takes seconds, and pid, container, "
    "pod, namespace or jvm, else the whole node</li>\n"
    "<li><a href=\"mutex?seconds=10\">mutex</a>: locks that are fought for; "
    "<a href=\"block?seconds=10\">block</a>: conditions, too; "
    "<a href=\"allocs?seconds=10\">allocs</a>: allocation; take the same, and are empty without "
    "seconds</li>\n"
    "<li><a href=\"heap?seconds=10\">heap</a>: objects allocated in that time that are still "
    "reachable; of up to 8 JVMs, into which an agent is loaded</li>\n"
    "<li><a href=\"goroutine\">goroutine</a>: empty</li>\n"
    "</ul>\n</body></html>\n";

bool handle_pprof_index(struct request *req)
{
    answer_fixed(&req->answer, "text/html; charset=utf-8", span_of(INDEX));
    if (!span_ends_with(span_of(req->received.path), "/")) { /* links are relative to the folder */
        req->answer.status = 301;
        answer_header(&req->answer, "Location", "pprof/");
    }
    return true;
}

/* Samples as req's parameters select; @counts_objects: as in struct capture_request. Returns as a
 * handler. */
static bool sample(struct request *req, bool counts_objects)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    struct capture_request c;
    int r;

    req->params.picture.format = render_format_find(SPAN("pprof"));
    if (!req->wants.head) {
        request_describe_capture(req, &c);
        c.keep = false;             /* the scraper stores it */
        c.symbols = SYMBOLS_MEMORY; /* scrapes repeat all day; agents are loaded only for people */
        c.counts_objects = counts_objects;
        return request_begin_capture(req, &c);
    }
    r = be->target_check(be->ctx, &req->params.capture.target, &err);
    if (r != 0)
        answer_outcome(&req->answer, r, &err, 1);
    req->answer.content_type = r == 0 ? PPROF_TYPE : req->answer.content_type;
    req->answer.no_body = r == 0;
    return true;
}

bool handle_pprof_profile(struct request *req)
{
    return sample(req, /* counts_objects= */ false);
}

/* ---- other events, and empty profiles ---- */

struct pprof_kind {
    const char *path;
    const char *event;   /* NULL: always empty */
    const char *include; /* regular expression on frame names; NULL: all */
    bool counts_objects; /* as in struct capture_request */
    struct render_value values[RENDER_VALUES_MAX + 1];
};

#define VALUES_OF_WAITS                                                                            \
    {                                                                                              \
        { "contentions", "count" },                                                                \
        {                                                                                          \
            "delay", "nanoseconds"                                                                 \
        }                                                                                          \
    }
#define VALUES_OF_ALLOCATION                                                                       \
    {                                                                                              \
        { "alloc_objects", "count" }, { "alloc_space", "bytes" }, { "inuse_objects", "count" },    \
        {                                                                                          \
            "inuse_space", "bytes"                                                                 \
        }                                                                                          \
    }

static const struct pprof_kind KINDS[] = {
    { "/debug/pprof/heap",
      "live",
      NULL,
      true,
      { { "inuse_objects", "count" }, { "inuse_space", "bytes" } } },
    { "/debug/pprof/allocs", "alloc", NULL, false, VALUES_OF_ALLOCATION },
    { "/debug/pprof/block", "lock", NULL, true, VALUES_OF_WAITS },
    { "/debug/pprof/mutex", "lock", "^\\[(monitor|lock)\\]$", true, VALUES_OF_WAITS },
    { "/debug/pprof/goroutine", NULL, NULL, false, { { "goroutine", "count" } } },
};

/* Returns the kind of the request's route; NULL: it is the profile of CPU time. */
static const struct pprof_kind *kind_of(const struct request *req)
{
    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++) {
        if (strcmp(KINDS[i].path, req->route->path) == 0)
            return &KINDS[i];
    }
    return NULL;
}

/* Field numbers of pprof's Profile message. */
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

/* Appends a ValueType: two small indexes into the string table. */
static void add_value_type(struct buf *b, unsigned field, size_t type)
{
    const char message[] = { 1 << 3, (char)type, 2 << 3, (char)(type + 1) };

    add_bytes(b, field, (struct span){ message, sizeof(message) });
}

static void add_empty(struct buf *b, const struct pprof_kind *k)
{
    size_t count = 0;

    while (k->values[count].type)
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
    add_empty(&req->answer.body, kind_of(req));
    if (!answer_gzip(&req->answer)) {
        struct error err = ERROR_NULL;

        answer_outcome(&req->answer, error_set(&err, -ENOMEM, "out of memory"), &err, 0);
        return true;
    }
    req->answer.status = 200;
    req->answer.content_type = PPROF_TYPE;
    return true;
}

/* Answers with an empty profile, and the reason @why as a warning. */
static bool answer_without(struct request *req, const char *why)
{
    char warning[ERROR_MSG_MAX + ERROR_REMEDY_MAX + 4] = "";

    snprintf(warning, sizeof(warning), "%s", why ? why : "the event cannot be sampled here");
    answer_reset(&req->answer);
    handle_pprof_empty(req);
    answer_header(&req->answer, "X-Flamed-Warning", "%s", warning);
    return true;
}

/* Replaces the answer 409 (the event is not possible in this JVM) by an empty profile. */
static void answer_impossible(struct request *req)
{
    json_t *problem = json_loadb(req->answer.body.p, req->answer.body.n, 0, NULL);

    answer_without(req, json_string_value(json_object_get(problem, "detail")));
    json_decref(problem);
}

void finish_pprof(struct request *req)
{
    finish_profile(req);
    if (req->answer.status == 200)
        req->answer.content_type = PPROF_TYPE;
    else if (req->answer.status == 409 && kind_of(req))
        answer_impossible(req);
}

bool handle_pprof_event(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    const struct pprof_kind *k = kind_of(req);
    struct error err = ERROR_NULL;
    struct params *p = &req->params;
    int r;

    r = be->target_check(be->ctx, &p->capture.target, &err);
    if (r != 0) {
        answer_outcome(&req->answer, r, &err, 1);
        return true;
    }
    if (!(p->given & PARAM_BIT(PARAM_SECONDS)))
        return handle_pprof_empty(req);
    if (be->events_check(be->ctx, k->event, &err) != 0)
        return answer_without(req, err.msg);
    if (params_set_event(p, k->event) < 0 ||
        (k->include && match_new(&k->include, 1, "include", &p->view.include, &err) < 0)) {
        answer_outcome(&req->answer, error_set(&err, -ENOMEM, "out of memory"), &err, 0);
        return true;
    }
    if (!request_may_sample_events(req, &err))
        return answer_without(req, err.msg);
    req->wants.values = k->values;
    if (params_enter_jvm(p) && !req->wants.head && !quota_attach(req))
        return true;
    if (!sample(req, k->counts_objects))
        return false;
    if (req->answer.status == 409)
        answer_impossible(req);
    return true;
}
