/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one caller may have at once of what requests hold on to: waiting for a worker or a capture,
 * streams, captures. Who has his share is told which one, and when to ask again; root has no share,
 * and room that nobody else can take.
 */
#include "serve/impl.h"

#include "base/clock.h"

#define QUOTA_RETRY_S 2         /* for what is over soon */
#define QUOTA_STREAM_RETRY_S 10 /* for what stays */

static const char ONE_CALLER[] = "one caller is a user, on the Unix socket or over TCP";

/* Of what all requests of one caller wait for or stream: some connections are always left for those
 * that need no waiting. */
static size_t waiting_max(const struct serve *s)
{
    return s->opts.connections_max - s->opts.connections_max / 8;
}

static size_t streams_max(const struct serve *s)
{
    return s->opts.connections_max / 2;
}

static void count_requests(const struct serve *s, const struct caller *of, size_t *ret_waiting,
                           size_t *ret_streams)
{
    *ret_waiting = *ret_streams = 0;
    for (size_t i = 0; i < s->client_max; i++) {
        const struct client *c = &s->clients[i];

        if (c->used && caller_equal(&c->caller, of)) {
            *ret_waiting += c->waits || c->streams;
            *ret_streams += c->streams;
        }
    }
}

static void refuse(struct request *req, size_t count, const char *what, unsigned retry_s)
{
    struct error err = ERROR_NULL;
    char name[CALLER_NAME_BYTES];

    error_set(&err, 0, "%s has %zu %s, which is the most that one caller may have",
              caller_name(&req->caller, name), count, what);
    error_remedy(&err, "ask again in %u s, end one of them, or raise connections_max (%s)", retry_s,
                 ONE_CALLER);
    answer_outcome(&req->answer, BACKEND_TOO_MANY, &err, retry_s);
}

bool quota_enter(struct request *req)
{
    struct serve *s = req->serve;
    bool room;

    if (req->route->health)
        return true;
    pthread_mutex_lock(&s->lock);
    room = place_promote(s, req->client);
    if (!room)
        s->stats.quota_refused[QUOTA_CONNECTIONS]++;
    pthread_mutex_unlock(&s->lock);
    if (!room) {
        refuse(req, s->opts.connections_max, "connections with a request under way", QUOTA_RETRY_S);
        answer_header(&req->answer, "Connection", "close");
    }
    return room;
}

bool quota_wait(struct request *req)
{
    struct serve *s = req->serve;
    size_t waiting, streams, max = waiting_max(s);
    bool room;

    if (req->route->health)
        return true;
    pthread_mutex_lock(&s->lock);
    count_requests(s, &req->caller, &waiting, &streams);
    room = waiting < max || caller_is_root(&req->caller);
    if (room)
        req->client->waits = true;
    else
        s->stats.quota_refused[QUOTA_WAITING]++;
    pthread_mutex_unlock(&s->lock);
    if (!room)
        refuse(req, max, "requests that wait for their answers", QUOTA_RETRY_S);
    return room;
}

bool quota_stream(struct request *req)
{
    struct serve *s = req->serve;
    size_t waiting, streams, max = streams_max(s);
    bool room;

    pthread_mutex_lock(&s->lock);
    count_requests(s, &req->caller, &waiting, &streams);
    room = streams < max || caller_is_root(&req->caller);
    if (room)
        req->client->streams = true;
    else
        s->stats.quota_refused[QUOTA_STREAMS]++;
    pthread_mutex_unlock(&s->lock);
    if (!room)
        refuse(req, max, "streams", QUOTA_STREAM_RETRY_S);
    return room;
}

void quota_note_capture(struct serve *s, int outcome)
{
    if (outcome != BACKEND_TOO_MANY)
        return;
    pthread_mutex_lock(&s->lock);
    s->stats.captures_refused++;
    s->stats.quota_refused[QUOTA_CAPTURES]++;
    pthread_mutex_unlock(&s->lock);
}

/* ---- captures that requests wait for; the backend counts all ---- */

static size_t count_captures(const struct serve *s, const struct caller *of)
{
    size_t n = 0;

    for (const struct request *r = s->capturing; r; r = r->capturing_next)
        n += !of || caller_equal(&r->caller, of);
    return n;
}

/* Seconds until the first of the captures of @of (NULL: of any caller) is over. */
static unsigned captures_retry_s(const struct serve *s, const struct caller *of)
{
    uint64_t now = clock_monotonic_ns(), first = UINT64_MAX;

    for (const struct request *r = s->capturing; r; r = r->capturing_next) {
        if (!r->done && r->end_ns != UINT64_MAX && (!of || caller_equal(&r->caller, of)))
            first = MIN(first, r->end_ns - SERVE_END_GRACE_NS);
    }
    if (first == UINT64_MAX || first <= now)
        return 1;
    return (unsigned)((first - now) / NSEC_PER_SEC) + 1;
}

bool quota_capture(const struct request *req, struct error *err, unsigned *ret_retry_s)
{
    const struct serve *s = req->serve;
    bool root = caller_is_root(&req->caller);
    size_t own = count_captures(s, &req->caller), all = count_captures(s, NULL);
    bool own_full = !root && own >= s->opts.captures_max;
    char name[CALLER_NAME_BYTES];

    if (!own_full && all < callers_limit(s->opts.captures_max, root))
        return true;
    /* Who does not see all is not told what others do, nor for how long. */
    *ret_retry_s = own_full || req->subject.viewer.whole
                       ? captures_retry_s(s, own_full ? &req->caller : NULL)
                       : QUOTA_STREAM_RETRY_S;
    if (own_full)
        error_set(err, 0, "%zu captures are running for %s, which is the limit for one caller", own,
                  caller_name(&req->caller, name));
    else if (req->subject.viewer.whole)
        error_set(err, 0, "%zu captures are running, which is the limit", all);
    else
        error_set(err, 0, "no more captures can run at this time");
    error_remedy(err, "ask again in %u s, or raise captures_max in the configuration",
                 *ret_retry_s);
    return false;
}
