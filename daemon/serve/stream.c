/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/serve_impl.h"

#include "base/clock.h"
#include "base/lock.h"

#include <microhttpd.h>

#define STREAM_EVERY_MAX_NS (60 * NSEC_PER_SEC) /* interval of a stream with high costs */

void stream_plan(struct request *req, const char *content_type, uint64_t every_ns,
                 void (*step)(struct request *req))
{
    struct stream *st = &req->stream;

    buf_init(&st->out, STREAM_PIECE_MAX_BYTES);
    st->content_type = content_type;
    st->step = step;
    st->every_ns = every_ns;
}

void stream_pace(struct request *req, uint64_t every_ns, uint64_t apart_ns)
{
    LOCK_SCOPE(&req->serve->lock);
    apart_ns *= MAX(req->serve->stats.streams_now, (size_t)1);
    req->stream.every_ns = MAX(every_ns, MIN(apart_ns, STREAM_EVERY_MAX_NS));
}

void stream_start_locked(struct request *req)
{
    struct serve *s = req->serve;
    struct stream *st = &req->stream;

    req->answer.status = 200;
    req->answer.content_type = st->content_type;
    answer_header(&req->answer, "X-Accel-Buffering", "no"); /* proxies forward each piece at once */
    st->active = true;
    st->next_ns = clock_monotonic_ns() + st->every_ns;
    st->next = s->streams;
    st->link = &s->streams;
    if (st->next)
        st->next->stream.link = &st->next;
    s->streams = req;
    s->stats.streams_now++;
}

void stream_start(struct request *req)
{
    LOCK_SCOPE(&req->serve->lock);

    stream_start_locked(req);
}

static void stream_unlink(struct request *req)
{
    struct stream *st = &req->stream;

    if (!st->link)
        return;
    *st->link = st->next;
    if (st->next)
        st->next->stream.link = st->link;
    st->link = NULL;
    req->serve->stats.streams_now--;
}

/* ---- between the worker and the HTTP library ---- */

/* Resumes a suspended stream in the HTTP library, which then reads the available text. */
static void stream_wake(struct request *req)
{
    struct serve *s = req->serve;

    if (!req->stream.suspended)
        return;
    req->stream.suspended = false;
    net_unwatch(s, req);
    req->client->since_ns = clock_monotonic_ns();
    req->refs++; /* the request may end before this call returns */
    pthread_mutex_unlock(&s->lock);
    MHD_resume_connection(req->connection);
    pthread_mutex_lock(&s->lock);
    s->suspended_count--;
    pthread_cond_broadcast(&s->idle);
    request_unref_locked(req);
}

static bool stream_has_news(const struct request *req)
{
    return req->left || req->stream.ended || req->stream.sent < req->stream.out.n;
}

static void stream_suspend(struct request *req)
{
    struct serve *s = req->serve;

    MHD_suspend_connection(req->connection);
    LOCK_SCOPE(&s->lock);
    req->stream.suspended = true;
    s->suspended_count++;
    net_watch(s, req);
    if (stream_has_news(req))
        stream_wake(req);
}

ssize_t stream_read(void *cookie, uint64_t at, char *buf, size_t max)
{
    struct request *req = cookie;
    struct serve *s = req->serve;
    struct stream *st = &req->stream;
    ssize_t result = 0;

    (void)at;
    pthread_mutex_lock(&s->lock);
    if (req->left) {
        result = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (st->sent < st->out.n) {
        result = (ssize_t)MIN(max, st->out.n - st->sent);
        memcpy(buf, st->out.p + st->sent, (size_t)result);
        st->sent += (size_t)result;
        if (st->sent == st->out.n) {
            buf_deinit(&st->out); /* its next piece may come late */
            st->sent = req->client->held_bytes = 0;
        }
        req->client->since_ns = clock_monotonic_ns();
    } else if (st->ended) {
        result = MHD_CONTENT_READER_END_OF_STREAM;
    }
    pthread_mutex_unlock(&s->lock);
    if (result == 0)
        stream_suspend(req);
    return result;
}

void stream_write(struct request *req, struct span text)
{
    struct serve *s = req->serve;
    LOCK_SCOPE(&s->lock);

    if (req->left)
        return;
    if (answers_have_room(s, &req->who.caller, text.n))
        buf_add_span(&req->stream.out, text);
    else
        req->stream.ended = true;
    if (req->stream.out.error)
        req->stream.ended = true; /* no room for the piece: end the stream */
    req->client->held_bytes = req->stream.out.n;
    stream_wake(req);
}

void stream_end(struct request *req)
{
    struct serve *s = req->serve;
    LOCK_SCOPE(&s->lock);

    req->stream.ended = true;
    stream_wake(req);
}

void stream_event(struct request *req, const char *name, struct span data)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(STREAM_PIECE_MAX_BYTES);

    buf_printf(&b, "event: %s\ndata: ", name);
    buf_add_span(&b, data);
    buf_add_str(&b, "\n\n");
    if (b.error)
        stream_end(req);
    else
        stream_write(req, buf_span(&b));
}

/* ---- steps ---- */

static void stream_push(struct request *req)
{
    struct stream *st = &req->stream;

    if (!st->link || st->queued || st->ended || req->left || !req->ready)
        return;
    st->queued = true;
    req->refs++;
    workers_push(req->serve, req);
}

void stream_step(struct request *req)
{
    struct serve *s = req->serve;
    struct stream *st = &req->stream;
    bool live, revoked;

    pthread_mutex_lock(&s->lock);
    live = !st->ended && !req->left;
    revoked = req->revoked;
    pthread_mutex_unlock(&s->lock);
    if (live && revoked)
        review_end_stream(req);
    else if (live)
        st->step(req);
    pthread_mutex_lock(&s->lock);
    if (s->stopping && (!req->capture.counted || req->capture.done)) {
        st->ended = true;
        stream_wake(req);
    }
    st->queued = false;
    st->next_ns = clock_monotonic_ns() + st->every_ns;
    request_unref_locked(req);
    pthread_mutex_unlock(&s->lock);
}

/* Ends one capture of a stream. False: there is none left; else the list may have changed. */
static bool streams_end_one(struct serve *s)
{
    for (struct request *req = s->streams; req; req = req->stream.next) {
        if (!req->capture.counted || req->capture.done || req->capture.ended)
            continue;
        request_end_capture(req, /* keep= */ true);
        return true;
    }
    return false;
}

void streams_tick(struct serve *s, uint64_t now_ns)
{
    while (s->stopping && streams_end_one(s))
        ;
    for (struct request *req = s->streams; req; req = req->stream.next) {
        const struct stream *st = &req->stream;

        if (st->out.n == 0 &&
            (now_ns >= st->next_ns || req->capture.done || req->revoked || s->stopping))
            stream_push(req);
    }
}

void stream_poke(struct request *req)
{
    if (req->stream.out.n == 0)
        stream_push(req);
}

void stream_left(struct request *req)
{
    req->left = true;
    stream_wake(req);
}

void stream_closed(struct request *req)
{
    if (!req->stream.active)
        return;
    if (!req->stream.ended) {
        if (!req->left)
            req->serve->stats.clients_left++;
        req->left = true;
    }
    request_end_capture(req, /* keep= */ false); /* also if its buffer was full */
    if (req->revoked && req->client)
        client_cut(req->client); /* the last text is already on its way */
    stream_unlink(req);
}
