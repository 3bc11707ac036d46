/* SPDX-License-Identifier: Apache-2.0 */
/* GET /top: the hottest functions of the last interval, repeated until the client leaves. */
#include "serve/routes/handlers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory_guard.h"
#include "serve/routes/top_table.h"

#define TOP_TEXT "text/plain; charset=utf-8"
#define TOP_FIRST "\x1b[H\x1b[2Ksampling\xe2\x80\xa6\n" /* shown until the first table */
#define TOP_WIDTH_DEFAULT 120
#define TOP_ROWS_DEFAULT 18 /* fills a terminal of 24 lines, with the header */
#define TOP_EVENT_ROWS_DEFAULT 100
#define TOP_COST_FACTOR 4 /* all streams together spend at most 1/4 of the time on tables */

static size_t top_rows(const struct params *p, bool events)
{
    return p->picture.top ? p->picture.top : events ? TOP_EVENT_ROWS_DEFAULT : TOP_ROWS_DEFAULT;
}

/* Appends @profile in the form that the request wants. 0 or -errno with @err. */
static int top_write(struct request *req, struct profile *profile, bool live, struct buf *out,
                     struct error *err)
{
    _cleanup_(view_freep) struct view *view = NULL;
    const struct params *p = &req->params;
    struct top_opts o = { .width = p->picture.width ? p->picture.width : TOP_WIDTH_DEFAULT,
                          .rows = top_rows(p, /* events= */ false),
                          .live = live };
    struct view_opts view_opts = p->view;
    json_t *value;
    char *text;
    int r;

    view_opts.waits = true;
    r = shown_event(p, profile, &view_opts.event, err) ?: view_new(profile, &view_opts, &view, err);
    if (r < 0)
        return r;
    if (!req->wants.events)
        return top_table(view, &o, out);
    value = top_json(view, top_rows(p, /* events= */ true));
    text = json_dumps(value, JSON_COMPACT);
    json_decref(value);
    if (!text)
        return -ENOMEM;
    buf_add_str(out, text);
    free(text);
    return out->error;
}

static void top_error(struct request *req, const struct error *err)
{
    _cleanup_buf_ struct buf b = BUF_NULL;

    if (req->wants.events) {
        event_error(req, err);
    } else {
        buf_init(&b, STREAM_PIECE_MAX_BYTES);
        buf_printf(&b, "\n%s\n", err->msg[0] ? err->msg : "the sampling ended");
        stream_write(req, buf_span(&b));
    }
    stream_end(req);
}

/* Streams the next table. */
static void top_step(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    _cleanup_(profile_unrefp) struct profile *profile = NULL;
    _cleanup_buf_ struct buf b = BUF_UPTO(STREAM_PIECE_MAX_BYTES);
    uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct error err = ERROR_NULL;
    bool over;
    int r;

    pthread_mutex_lock(&req->serve->lock);
    over = req->capture.done || req->capture.ended;
    if (req->capture.done)
        err = req->capture.err;
    pthread_mutex_unlock(&req->serve->lock);
    if (over) {
        top_error(req, &err);
        return;
    }
    r = be->capture_snapshot(be->ctx, req->capture.handle, /* reset= */ true, &profile, &err)
            ?: top_write(req, profile, /* live= */ true, &b, &err);
    if (r == 0 && memory_guard_refused())
        r = error_set(&err, -ENOMEM, "flamed has too little memory for this table now");
    if (r != 0)
        top_error(req, &err);
    else if (req->wants.events)
        stream_event(req, "top", buf_span(&b));
    else
        stream_write(req, buf_span(&b));
    stream_pace(req, req->params.refresh_ns,
                (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns) * TOP_COST_FACTOR);
}

/* Checks the event. Events that count live objects or blocks at the end of a capture cannot be
 * streamed. False: the answer is complete. */
static bool check_top_event(struct request *req)
{
    struct error err = ERROR_NULL;
    const struct span events = span_of(req->params.events.names);
    const char *event = events_listed(events, "live")         ? "live"
                        : events_listed(events, "nativelive") ? "nativelive"
                                                              : NULL;

    if (req->params.once || !event)
        return check_event(req);
    error_remedy(&err, "ask once: /top?once=1&interval=60s, or /profile");
    error_parameter(&err, "event", -EINVAL,
                    "event=%s is known only when a capture ends, so /top shows it only with once=1",
                    event);
    answer_outcome(&req->answer, -EINVAL, &err, 0);
    return false;
}

/* Answers with one table. */
static void answer_table(struct request *req, struct profile *profile)
{
    struct answer *a = &req->answer;
    struct error err = ERROR_NULL;
    int r;

    a->status = 200;
    a->content_type = TOP_TEXT;
    if (req->wants.events) {
        a->content_type = STREAM_EVENTS;
        buf_add_str(&a->body, "event: top\ndata: ");
    }
    r = top_write(req, profile, /* live= */ false, &a->body, &err);
    if (req->wants.events)
        buf_add_str(&a->body, "\n\n");
    if (r != 0) {
        answer_reset(a);
        answer_outcome(a, r, &err, 1);
    }
}

bool handle_top(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct capture_request c;
    struct error err = ERROR_NULL;
    int r;

    if (req->params.given & PARAMS_RANGE) {
        answer_recorded(req, answer_table);
        return true;
    }
    if (!check_top_event(req))
        return true;
    if (req->wants.head) {
        r = be->target_check(be->ctx, &req->params.capture.target, &err);
        if (r != 0)
            answer_outcome(&req->answer, r, &err, 1);
        else
            req->answer.content_type = req->wants.events ? STREAM_EVENTS : TOP_TEXT;
        req->answer.no_body = r == 0;
        return true;
    }
    if (!req->params.once && !quota_stream(req))
        return true;
    request_describe_capture(req, &c);
    c.keep = false;
    c.live = true;
    c.duration_ns = req->params.once ? req->params.refresh_ns : 0;
    if (!req->params.once) {
        stream_plan(req, req->wants.events ? STREAM_EVENTS : TOP_TEXT, req->params.refresh_ns,
                    top_step);
        buf_add_str(&req->stream.out, req->wants.events ? ": sampling\n\n" : TOP_FIRST);
    }
    return request_begin_capture(req, &c);
}

/* Answers once=1 with its only table. */
void finish_top(struct request *req)
{
    if (req->capture.profile)
        answer_table(req, req->capture.profile);
    else
        answer_outcome(&req->answer, req->capture.outcome ? req->capture.outcome : -EIO,
                       &req->capture.err, 1);
}
