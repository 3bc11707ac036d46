/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers and their queue. The queue holds at most one request per connection, so the limit on
 * connections bounds it.
 */
#include "serve/serve_impl.h"

#include "base/clock.h"
#include "base/memory_guard.h"
#include "serve/body.h"
#include "serve/credentials.h"

#include <microhttpd.h>

struct request *request_new(struct serve *s, const char *uri)
{
    struct request *req = calloc(1, sizeof(*req));

    if (!req)
        return NULL;
    req->serve = s;
    req->refs = 1;
    req->received.uri = strndup(uri, SERVE_CONNECTION_BYTES);
    answer_init(&req->answer, s->opts.answer_max_bytes);
    buf_init(&req->received.body, BODY_MAX_BYTES);
    if (!req->received.uri) {
        free(req);
        return NULL;
    }
    return req;
}

void request_unref_locked(struct request *req)
{
    struct serve *s = req->serve;

    if (--req->refs > 0)
        return;
    pthread_mutex_unlock(&s->lock);
    answer_deinit(&req->answer);
    params_deinit(&req->params);
    query_deinit(&req->query);
    buf_deinit(&req->received.body);
    buf_deinit(&req->stream.out);
    credentials_forget(req);
    profile_unref(req->capture.profile);
    json_decref(req->target_facts);
    json_decref(req->mcp.root);
    free(req->received.path);
    free(req->received.uri);
    free(req);
    pthread_mutex_lock(&s->lock);
}

void workers_push(struct serve *s, struct request *req)
{
    struct request **at = &s->workers.queue;

    while (*at)
        at = &(*at)->next;
    req->next = NULL;
    *at = req;
    pthread_cond_signal(&s->workers.work);
}

/* ---- scheduling ----
 *
 * The requests of one caller never take all workers. Nor does heavy work, which may take seconds:
 * rendering, regular expressions, an attach. One worker is left for quick requests, one for health
 * and one for root. Of the requests that may run, the one of the caller with the fewest busy
 * workers runs first. */

static size_t working(const struct serve *s, const struct caller *of, bool heavy_only)
{
    size_t n = 0;

    for (size_t i = 0; i < SERVE_WORKERS; i++) {
        const struct work_slot *w = &s->workers.slots[i];

        n += w->busy && (w->heavy || !heavy_only) && (!of || caller_equal(&w->caller, of));
    }
    return n;
}

/* Returns whether the next step of @req may take long. */
static bool work_is_heavy(const struct request *req)
{
    if (req->stream.queued || req->who.password.state == VERIFY_WANTED)
        return true;
    return req->capture.done || req->route->heavy || req->params.given & PARAMS_RANGE;
}

/* Returns whether a password of @c may be checked: passwords never take all workers for heavy
 * work. */
static bool work_may_verify(const struct serve *s, const struct caller *c)
{
    size_t n = 0;

    for (size_t i = 0; i < SERVE_WORKERS; i++) {
        if (s->workers.slots[i].busy && s->workers.slots[i].verifies) {
            if (caller_equal(&s->workers.slots[i].caller, c))
                return false;
            n++;
        }
    }
    return n < SERVE_VERIFY_MAX && working(s, NULL, false) < SERVE_WORKERS - 2 &&
           working(s, NULL, true) < SERVE_WORKERS_HEAVY;
}

static bool work_may_run(const struct serve *s, const struct request *req)
{
    const struct caller *c = &req->who.caller;

    if (req->who.password.state == VERIFY_WANTED)
        return work_may_verify(s, c);

    if (caller_is_root(c))
        return true;
    if (req->route->health)
        return working(s, NULL, false) < SERVE_WORKERS - 1 &&
               working(s, c, false) <= SERVE_WORKERS_OF_CALLER;
    if (working(s, NULL, false) >= SERVE_WORKERS - 2 ||
        working(s, c, false) >= SERVE_WORKERS_OF_CALLER)
        return false;
    return !work_is_heavy(req) || (working(s, NULL, true) < SERVE_WORKERS_HEAVY &&
                                   working(s, c, true) < SERVE_HEAVY_OF_CALLER);
}

/* Returns the place in the queue of the request to run next; NULL: none may run. */
static struct request **work_next(struct serve *s)
{
    size_t fewest = SIZE_MAX;
    struct request **next = NULL;

    for (struct request **at = &s->workers.queue; *at; at = &(*at)->next) {
        const struct caller *c = &(*at)->who.caller;
        size_t rank = caller_is_root(c) ? 0 : 1 + working(s, c, false);

        if (rank < fewest && work_may_run(s, *at)) {
            next = at;
            fewest = rank;
        }
    }
    return next;
}

/* Removes the next request from the queue for the worker of @slot. */
static struct request *work_pop(struct serve *s, struct work_slot *slot)
{
    struct request **at = work_next(s), *req;

    if (!at)
        return NULL;
    req = *at;
    *at = req->next;
    *slot = (struct work_slot){ .busy = true,
                                .heavy = work_is_heavy(req),
                                .verifies = req->who.password.state == VERIFY_WANTED,
                                .caller = req->who.caller };
    return req;
}

/* ---- workers ---- */

void request_resume(struct request *req, bool ready)
{
    struct serve *s = req->serve;

    pthread_mutex_lock(&s->lock);
    net_unwatch(s, req);
    req->client->waits = false;
    req->client->since_ns = clock_monotonic_ns();
    req->ready = ready;
    pthread_mutex_unlock(&s->lock);
    MHD_resume_connection(req->connection);
    pthread_mutex_lock(&s->lock);
    s->suspended_count--;
    pthread_cond_broadcast(&s->idle);
    pthread_mutex_unlock(&s->lock);
}

/* Refuses an answer that may lack a part for want of memory. */
static void refuse_partial(struct request *req)
{
    const struct error unnamed = ERROR_NULL;

    if (!memory_guard_refused())
        return;
    memory_guard_thread(false); /* the refusal itself is short */
    if (req->answer.status == 503)
        return;
    answer_reset(&req->answer);
    answer_outcome(&req->answer, -ENOMEM, &unnamed, 0);
}

static void work_step(struct request *req)
{
    struct serve *s = req->serve;
    bool complete = true, left, done, step, starts, revoked;

    pthread_mutex_lock(&s->lock);
    left = req->left;
    done = req->capture.done;
    step = req->stream.queued;
    starts = req->capture.starts;
    req->capture.starts = false;
    if (starts)
        stream_start_locked(req);
    revoked = req->revoked;
    pthread_mutex_unlock(&s->lock);
    if (step) {
        stream_step(req);
        return;
    }
    if (req->who.password.state == VERIFY_WANTED) {
        if (!left)
            credentials_check(req);
        req->who.password.state = VERIFY_DONE;
        request_resume(req, /* ready= */ left);
        return;
    }
    if (starts) {
        complete = true; /* its capture samples; steps follow */
    } else if (done && !left && revoked) {
        review_refuse(req);
    } else if (done && !left) {
        if (req->capture.profile && req->capture.profile->id[0])
            own_captures_add(req, req->capture.profile->id);
        req->route->finish(req);
    } else if (!left) {
        enum begin begin = request_begin(req);

        if (begin == BEGIN_GO) {
            audit_look(req);
            complete = req->route->handle(req);
        } else {
            complete = begin == BEGIN_REFUSED;
        }
    }
    if (!complete)
        return; /* a capture or whose.c owns it now, or has queued it again */
    if (!left && !req->stream.active) {
        refuse_partial(req);
        request_wrap(req);
        refuse_partial(req);
        answer_encode(&req->answer, req->wants.coding);
    }
    request_resume(req, /* ready= */ true);
}

static void *work_run(void *cookie)
{
    struct serve *s = cookie;
    struct work_slot *slot;

    pthread_setname_np(pthread_self(), "flamed-work");
    pthread_mutex_lock(&s->lock);
    slot = &s->workers.slots[s->workers.running++];
    for (;;) {
        struct request *req = work_pop(s, slot);

        if (req) {
            struct caller caller = req->who.caller;
            bool counts =
                req->who.subject.role < ROLE_MANAGE && !req->who.subject.limited && slot->heavy;
            uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

            pthread_mutex_unlock(&s->lock);
            memory_guard_thread(slot->heavy);
            work_step(req); /* the request may be freed then */
            memory_guard_thread(false);
            pthread_mutex_lock(&s->lock);
            if (counts)
                quota_spend(s, &caller, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
            slot->busy = false;
        } else if (s->workers.stop) {
            break;
        } else if (s->review.background_due) {
            s->review.background_due = false;
            pthread_mutex_unlock(&s->lock);
            review_background(s);
            pthread_mutex_lock(&s->lock);
        } else {
            pthread_cond_wait(&s->workers.work, &s->lock);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

int workers_start(struct serve *s, struct error *err)
{
    for (size_t i = 0; i < SERVE_WORKERS; i++) {
        int r = pthread_create(&s->workers.threads[i], NULL, work_run, s);

        if (r != 0)
            return error_code(err, -r, "cannot start a thread of the HTTP service");
        s->workers.started++;
    }
    return 0;
}

void workers_stop(struct serve *s)
{
    pthread_mutex_lock(&s->lock);
    s->workers.stop = true;
    pthread_cond_broadcast(&s->workers.work);
    pthread_mutex_unlock(&s->lock);
    while (s->workers.started > 0)
        pthread_join(s->workers.threads[--s->workers.started], NULL);
}
