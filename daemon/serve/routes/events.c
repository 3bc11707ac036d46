/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-sent events about captures: of the capture that this request began, and of one that runs
 * on its own.
 */
#include "serve/routes/handlers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory_guard.h"
#include "serve/routes/top_table.h"

#define PROGRESS_EVERY_NS NSEC_PER_SEC
#define WATCH_EVERY_NS NSEC_PER_SEC
#define WATCH_TOP_ROWS 50
#define WATCH_COST_FACTOR 20 /* all streams together spend at most 1/20 of the time on tops */

/* Writes @value, which it takes, as the event @name. */
static void event_json(struct request *req, const char *name, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);

    if (text)
        stream_event(req, name, span_of(text));
    else
        stream_end(req);
    free(text);
    json_decref(value);
}

void event_error(struct request *req, const struct error *err)
{
    event_json(req, "failed",
               json_pack("{s:s, s:s}", "detail",
                         err->msg[0] ? err->msg : "the capture ended without a profile", "remedy",
                         err->remedy));
}

/* ---- GET /profile ---- */

/* Appends the rendering parameters of the request, as they were sent. */
static void add_render_params(const struct request *req, struct buf *out)
{
    struct span rest = span_of(req->received.uri), item;
    bool first = true;

    rest = span_from(rest, span_find(rest, '?') + 1);
    while (span_take_until(&rest, '&', &item)) {
        struct span name = { item.p, span_find(item, '=') };

        for (int id = 0; id < PARAM_COUNT; id++) {
            if (!(PARAMS_RENDER & PARAM_BIT(id)) ||
                !span_eq_str(name, param_name((enum param_id)id)))
                continue;
            buf_add_char(out, first ? '?' : '&');
            buf_add_span(out, item);
            first = false;
        }
    }
}

static void progress_done(struct request *req)
{
    _cleanup_buf_ struct buf link = BUF_UPTO(SERVE_HEAD_MAX_BYTES);
    const struct profile *p = req->capture.profile;
    json_t *value, *warnings = json_array();

    buf_printf(&link, "/api/v1/captures/%s/profile", p->id);
    add_render_params(req, &link);
    for (size_t i = 0; i < p->warning_count; i++)
        json_array_append_new(warnings, json_string(p->warnings[i]));
    if (req->capture.err.msg[0])
        json_array_append_new(warnings, json_string(req->capture.err.msg));
    value = json_pack("{s:s, s:f, s:I, s:I, s:I, s:I, s:o}", "state", "done", "progress", 1.0,
                      "samples", (json_int_t)p->total, "lost", (json_int_t)p->lost, "unknown",
                      (json_int_t)p->unknown, "truncated", (json_int_t)p->truncated, "warnings",
                      warnings);
    if (p->id[0] && !req->capture.err.msg[0] && !link.error) {
        json_object_set_new(value, "id", json_string(p->id));
        json_object_set_new(value, "link", json_string(link.p));
    }
    event_json(req, "done", value);
}

static void progress_step(struct request *req)
{
    uint64_t took_ns = clock_monotonic_ns() - req->capture.started_ns;
    double part = (double)took_ns / (double)req->params.capture.duration_ns;
    bool done;

    pthread_mutex_lock(&req->serve->lock);
    done = req->capture.done;
    pthread_mutex_unlock(&req->serve->lock);
    if (!done) {
        event_json(req, "progress",
                   json_pack("{s:s, s:f, s:f}", "state", "running", "progress", MIN(part, 1.0),
                             "seconds", (double)took_ns / 1e9));
        return;
    }
    if (req->capture.profile)
        progress_done(req);
    else
        event_error(req, &req->capture.err);
    stream_end(req);
}

void progress_plan(struct request *req)
{
    stream_plan(req, STREAM_EVENTS, PROGRESS_EVERY_NS, progress_step);
}

/* ---- GET /captures/{id}/stream ---- */

/* Returns the top functions so far; NULL: there are none yet, or no memory. */
static json_t *top_so_far(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    _cleanup_(profile_unrefp) struct profile *profile = NULL;
    _cleanup_(view_freep) struct view *view = NULL;
    json_t *ret;

    if (be->capture_profile(be->ctx, &req->who.subject.viewer, req->path_text, &profile, NULL) !=
            0 ||
        view_new(profile, &req->params.view, &view, NULL) < 0)
        return NULL;
    ret = top_json(view, WATCH_TOP_ROWS);
    if (!memory_guard_refused())
        return ret;
    json_decref(ret); /* it may be a part of the table */
    return NULL;
}

/* Sends the top functions so far. Sets the interval by what that took, to bound the CPU time of all
 * streams; where it failed, too. */
static void watch_top(struct request *req)
{
    uint64_t begun_ns = clock_monotonic_ns();
    json_t *top = top_so_far(req);

    if (top)
        event_json(req, "top", top);
    stream_pace(req, WATCH_EVERY_NS, (clock_monotonic_ns() - begun_ns) * WATCH_COST_FACTOR);
}

/* Sends the last event of the capture with the facts @value, which it takes. */
static void watch_end(struct request *req, json_t *value)
{
    const char *failure = json_string_value(json_object_get(value, "failure"));

    if (failure)
        json_object_set_new(value, "detail", json_string(failure));
    event_json(req, failure ? "failed" : "done", value);
    stream_end(req);
}

static void watch_step(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    bool running;
    int r = be->capture(be->ctx, &req->who.subject.viewer, req->path_text, &value, &running, &err);

    if (r != 0) {
        event_error(req, &err);
        stream_end(req);
        return;
    }
    if (running) {
        event_json(req, "progress", value);
        watch_top(req);
    } else {
        watch_end(req, value);
    }
}

bool handle_capture_stream(struct request *req)
{
    handle_capture(req); /* answers 404 and other refusals */
    if (req->answer.status != 200)
        return true;
    answer_reset(&req->answer);
    if (req->wants.head) {
        req->answer.content_type = STREAM_EVENTS;
        req->answer.no_body = true;
        return true;
    }
    if (!quota_stream(req))
        return true;
    stream_plan(req, STREAM_EVENTS, WATCH_EVERY_NS, watch_step);
    stream_start(req);
    return true;
}
