/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a capture that a request waits for, in parallel to the request. */
#include "serve/serve_impl.h"

#include "base/clock.h"
#include "base/lock.h"

static void capturing_add(struct request *req)
{
    struct serve *s = req->serve;

    s->stats.captures_now++;
    s->stats.captures++;
    req->capture.next = s->capturing;
    req->capture.link = &s->capturing;
    if (s->capturing)
        s->capturing->capture.link = &req->capture.next;
    s->capturing = req;
}

static void capturing_remove(struct request *req)
{
    req->serve->stats.captures_now--;
    *req->capture.link = req->capture.next;
    if (req->capture.next)
        req->capture.next->capture.link = req->capture.link;
}

/* Wakes a worker for @req when its capture has ended. */
static void work_notify(struct request *req)
{
    if (req->stream.active)
        stream_poke(req);
    else if (!req->capture.starts) /* a worker that starts the stream notices the end itself */
        workers_push(req->serve, req);
}

/* Starts the timers of @req when its capture has begun to sample. */
static void work_run(struct request *req, uint64_t now_ns)
{
    req->capture.runs = true;
    req->capture.started_ns = now_ns;
    if (req->capture.duration_ns)
        req->capture.end_ns =
            MIN(now_ns + req->capture.duration_ns + SERVE_END_GRACE_NS, req->capture.end_ns);
}

/* Called by the engine's thread when the capture of @cookie begins to sample. */
static void capture_begun(void *cookie)
{
    struct request *req = cookie;
    struct serve *s = req->serve;
    LOCK_SCOPE(&s->lock);

    work_run(req, clock_monotonic_ns());
    if (req->stream.step && !req->capture.held && !req->capture.done) {
        req->capture.starts = true;
        workers_push(s, req);
    }
}

/* Called by the engine's thread when the capture of @cookie has ended. */
static void capture_done(void *cookie, int outcome, struct profile *p, const struct error *err)
{
    struct request *req = cookie;
    struct serve *s = req->serve;

    pthread_mutex_lock(&s->lock);
    s->changes++;
    capturing_remove(req);
    if (!req->capture.abandoned) {
        req->capture.profile = p;
        req->capture.outcome = outcome;
        if (err)
            req->capture.err = *err;
        req->capture.done = true;
        if (!req->capture.held)
            work_notify(req);
        p = NULL;
    }
    pthread_cond_broadcast(&s->idle);
    request_unref_locked(req);
    pthread_mutex_unlock(&s->lock);
    profile_unref(p);
}

/* Clears `held` after a call into the backend, and wakes a worker if the capture ended during the
 * call. */
static void work_release(struct request *req)
{
    req->capture.held = false;
    if (req->capture.done && !req->capture.abandoned)
        work_notify(req);
}

static void call_end(struct request *req)
{
    struct serve *s = req->serve;

    pthread_mutex_unlock(&s->lock);
    s->be.capture_end(s->be.ctx, req->capture.handle, req->capture.end_keep);
    pthread_mutex_lock(&s->lock);
}

void request_end_capture(struct request *req, bool keep)
{
    if (!req->capture.counted || req->capture.done || req->capture.ended)
        return;
    req->capture.ended = true;
    req->capture.end_keep = keep;
    if (req->capture.held)
        return; /* the holding thread checks `ended` afterwards */
    req->capture.held = true;
    req->refs++; /* the capture may be given up during the call */
    call_end(req);
    work_release(req);
    request_unref_locked(req);
}

void request_give_up_capture(struct request *req)
{
    if (!req->capture.counted || req->capture.done)
        return;
    req->capture.abandoned = true;
    req->capture.done = true;
    req->capture.outcome = BACKEND_UNAVAILABLE;
    error_set(&req->capture.err, -ETIMEDOUT, "the capture did not finish in time");
    error_remedy(&req->capture.err, "see /readyz and the service's log; ask again");
    work_notify(req);
}

/* Adds the capture to the running ones. False: the limit is reached, the service is stopping or the
 * client has left; the answer is complete. */
static bool work_admit(struct request *req, uint64_t duration_ns)
{
    struct serve *s = req->serve;
    struct error err = ERROR_NULL;
    unsigned retry_s = 0;
    bool stopping, room;

    pthread_mutex_lock(&s->lock);
    stopping = s->stopping;
    room = quota_capture(req, &err, &retry_s);
    if (!req->left && !stopping && room) {
        capturing_add(req);
        req->refs += 2; /* for the capture, and for the call that starts it */
        req->capture.counted = req->capture.held = true;
        req->capture.duration_ns = duration_ns;
        req->capture.end_ns = req->capture.give_up_ns = UINT64_MAX;
        if (duration_ns) {
            req->capture.give_up_ns = clock_monotonic_ns() + duration_ns + SERVE_GIVE_UP_NS;
            req->capture.end_ns = req->capture.give_up_ns - SERVE_END_AHEAD_NS;
        }
        pthread_mutex_unlock(&s->lock);
        return true;
    }
    if (!req->left && !stopping) {
        s->stats.captures_refused++;
        s->stats.quota_refused[QUOTA_CAPTURES]++;
    }
    pthread_mutex_unlock(&s->lock);
    if (stopping) {
        error_set(&err, -ESHUTDOWN, "the service is stopping");
        answer_outcome(&req->answer, BACKEND_UNAVAILABLE, &err, 0);
        return false;
    }
    answer_outcome(&req->answer, BACKEND_TOO_MANY, &err, retry_s);
    return false;
}

void request_describe_capture(const struct request *req, struct capture_request *ret)
{
    *ret = req->params.capture;
    ret->lines = req->params.view.lines;
    ret->context = params_want_context(&req->params);
    ret->caller = req->who.caller;
    ret->keep = true;
}

bool request_begin_capture(struct request *req, const struct capture_request *c)
{
    struct serve *s = req->serve;
    struct error err = ERROR_NULL;
    const struct capture_waiter waiter = { capture_begun, capture_done, req };
    bool failed, streams = false;
    int r;

    if (!quota_begin(req) || !work_admit(req, c->duration_ns))
        return true;
    r = s->be.capture_start(s->be.ctx, c, &waiter, &req->capture.handle, &err);
    if (r == 0)
        quota_begun(req);

    pthread_mutex_lock(&s->lock);
    failed = r != 0 && !req->capture.abandoned;
    if (r != 0) {
        req->capture.counted = req->capture.held = false;
        capturing_remove(req);
        req->refs--; /* no capture was started */
    } else {
        /* An abandoned capture may have ended already; ending it again is harmless. */
        if (req->capture.abandoned)
            req->capture.end_keep = false;
        if (req->capture.abandoned || (req->capture.ended && !req->capture.done))
            call_end(req);
        streams = req->stream.step && req->capture.runs && !req->capture.abandoned;
        if (streams)
            stream_start_locked(req);
        work_release(req);
    }
    request_unref_locked(req);
    pthread_mutex_unlock(&s->lock);
    quota_note_capture(s, r);
    if (failed)
        answer_outcome(&req->answer, r, &err, 1);
    return failed || streams;
}
