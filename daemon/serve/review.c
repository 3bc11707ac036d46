/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Revokes rights while they are in use. A stream or a running capture ends when its subject loses
 * the right to it: by other rules, a log-out, or a certificate that is no longer valid.
 */
#include "serve/http.h"

#include "base/clock.h"
#include "base/lock.h"

#include <time.h>

#define REVIEW_EVERY_NS NSEC_PER_SEC            /* sessions and certificates expire by themselves */
#define BACKGROUND_MAX_NS (3600 * NSEC_PER_SEC) /* longest run of a capture without a duration */

static const char ENDED[] =
    "the right to this has ended: the rules changed, the caller logged out, "
    "or its certificate is no longer valid";
static const char REMEDY[] = "log in or connect again: /api/v1/whoami says what you may do";

/* ---- rights in force ---- */

/* Returns whether the connection would still pass a handshake now. */
static bool certificate_counts(const struct serve *s, const struct client *c)
{
    return !c->names ||
           ((int64_t)time(NULL) <= c->until_s && tls_same_clients(c->tls, s->listen.tls));
}

/* Gets the present rights of @before by the rules in force. @base: the user of the machine without
 * any rule. False: no rights are left. */
static bool rights_now(struct serve *s, const struct subject *before, const struct subject *base,
                       struct subject *ret)
{
    const struct access_rules *rules = s->access;
    const struct access_rule *rule;

    *ret = *base;
    if (before->shown) {
        rule = access_rules_same(rules, before->shown);
        if (!rule)
            return false;
    } else {
        rule =
            base->kind == SUBJECT_USER ? access_rules_user(rules, base->uid, base->groups) : NULL;
    }
    if (rule)
        subject_apply(ret, rule);
    return true;
}

static bool sees_as_much(const struct subject *now, const struct subject *before)
{
    return now->viewer.whole ||
           (!before->viewer.whole && strcmp(now->viewer.scope, before->viewer.scope) == 0);
}

bool review_may_still(const struct request *req, uint64_t now_ns)
{
    struct subject by_session, now;
    uint64_t left_ns;

    if (!certificate_counts(req->serve, req->client))
        return false;
    if (req->who.session[0] && !sessions_find(req->serve->sessions, span_of(req->who.session),
                                              &req->client->subject, now_ns, &by_session, &left_ns))
        return false;
    return rights_now(req->serve, &req->who.subject, &req->who.base, &now) &&
           now.role >= request_role(req) && sees_as_much(&now, &req->who.subject);
}

/* ---- streams, and captures that a request waits for ---- */

static bool is_over(const struct request *req)
{
    return req->revoked || req->left || req->capture.ended || req->capture.done;
}

/* Ends one capture of a subject that has lost the right to it. False: there is none. */
static bool end_one(struct serve *s)
{
    for (struct request *req = s->capturing; req; req = req->capture.next) {
        if (!req->revoked || req->capture.ended || req->capture.done)
            continue;
        request_end_capture(req, /* keep= */ false);
        return true;
    }
    return false;
}

void review_soon(struct serve *s)
{
    LOCK_SCOPE(&s->lock);

    s->review.next_ns = 0;
    s->review.background_due = true;
    pthread_cond_broadcast(&s->workers.work);
}

void review_tick(struct serve *s, uint64_t now_ns)
{
    if (now_ns < s->review.next_ns)
        return;
    s->review.next_ns = now_ns + REVIEW_EVERY_NS;
    if (s->review.background_again) {
        s->review.background_again = false;
        s->review.background_due = true;
        pthread_cond_broadcast(&s->workers.work);
    }
    for (struct request *req = s->capturing; req; req = req->capture.next)
        req->revoked |= !is_over(req) && !review_may_still(req, now_ns);
    for (struct request *req = s->streams; req; req = req->stream.next)
        req->revoked |= !is_over(req) && !req->stream.ended && !review_may_still(req, now_ns);
    while (end_one(s))
        ;
}

void review_refuse(struct request *req)
{
    struct error err = ERROR_NULL;

    answer_reset(&req->answer);
    error_set(&err, -EACCES, "%s", ENDED);
    error_remedy(&err, "%s", REMEDY);
    request_refuse(req, 403, &err);
}

void review_end_stream(struct request *req)
{
    struct error err = ERROR_NULL;
    _cleanup_buf_ struct buf text = BUF_NULL;

    error_set(&err, -EACCES, "%s", ENDED);
    error_remedy(&err, "%s", REMEDY);
    if (strcmp(req->stream.content_type, STREAM_EVENTS) == 0) {
        event_error(req, &err);
    } else {
        buf_init(&text, STREAM_PIECE_MAX_BYTES);
        buf_printf(&text, "\n%s\n", err.msg);
        stream_write(req, buf_span(&text));
    }
    stream_end(req);
    audit_note_revoked(req->serve->audit, req, err.msg);
}

/* ---- captures that run on their own ---- */

void review_add(struct request *req, const char *id)
{
    struct serve *s = req->serve;
    uint64_t now_ns = clock_monotonic_ns(), runs_ns = req->params.given & PARAM_BIT(PARAM_SECONDS)
                                                          ? req->params.capture.duration_ns
                                                          : BACKGROUND_MAX_NS;
    struct background *to = &s->review.background[0];
    LOCK_SCOPE(&s->lock);

    for (size_t i = 0; i < BACKGROUND_MAX;
         i++) { /* an unused entry, else the capture that ends first */
        if (s->review.background[i].until_ns < to->until_ns)
            to = &s->review.background[i];
    }
    *to = (struct background){ .until_ns = now_ns + runs_ns + SERVE_END_GRACE_NS,
                               .role = request_role(req),
                               .subject = req->who.subject,
                               .base = req->who.base };
    span_copy(span_of(id), to->id, sizeof(to->id));
}

/* Claims entry @i if the right to its capture was lost, and copies it to *ret. */
static bool take_lost(struct serve *s, size_t i, struct background *ret)
{
    struct background *b = &s->review.background[i];
    struct subject now;
    LOCK_SCOPE(&s->lock);

    if (b->stopping || b->until_ns <= clock_monotonic_ns() ||
        (rights_now(s, &b->subject, &b->base, &now) && now.role >= b->role &&
         sees_as_much(&now, &b->subject)))
        return false;
    b->stopping = true;
    *ret = *b;
    return true;
}

/* Frees entry @i of the capture @id, or keeps it for the next tick if it was not @stopped. */
static void give_back(struct serve *s, size_t i, const char *id, bool stopped)
{
    struct background *b = &s->review.background[i];
    LOCK_SCOPE(&s->lock);

    if (strcmp(b->id, id) != 0) /* review_add() needed the entry */
        return;
    b->stopping = false;
    if (stopped)
        b->until_ns = 0;
    else
        s->review.background_again = true;
}

void review_background(struct serve *s)
{
    struct error err = ERROR_NULL;
    struct background b;

    for (size_t i = 0; i < BACKGROUND_MAX; i++) {
        int r;

        if (!take_lost(s, i, &b))
            continue;
        r = s->be.capture_stop(s->be.ctx, &VIEWER_WHOLE, b.id, &err);
        if (r == 0)
            audit_note_stopped(s->audit, &b.subject, b.id, ENDED);
        give_back(s, i, b.id, r == 0 || r == BACKEND_NOT_FOUND || r == BACKEND_CONFLICT);
    }
}
