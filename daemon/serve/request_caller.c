/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the caller, by its connection, a cookie or credentials, and checks its right to the
 * route.
 */
#include "base/lock.h"
#include "serve/credentials.h"
#include "serve/request_head.h"

/* Assigns the request to the caller for containers: a container's root must not use up the quotas
 * of the host's root. */
static void request_is_foreign(struct request *req)
{
    req->who.caller = caller_of_container();
    LOCK_SCOPE(&req->serve->lock);
    req->client->caller = req->client->asks = req->who.caller;
}

/* Sets the subject to the peer's user, without rules. False: whose.c must find the peer first. */
static bool request_peer(struct request *req)
{
    struct serve *s = req->serve;
    struct client *c = req->client;
    struct peer_connection end = c->end;
    enum peer_place place;

    if (req->who.look_up.state == WHOSE_ANSWERED) {
        place = req->who.look_up.place;
    } else {
        place = peer_place(s->opts.peers, &end, /* again= */ req->route->audit != AUDIT_NONE);
        pthread_mutex_lock(&s->lock);
        c->end = end;
        pthread_mutex_unlock(&s->lock);
    }
    if (place == PEER_UNTOLD && req->who.look_up.state == WHOSE_UNASKED) {
        req->who.look_up.state = WHOSE_WANTED;
        return false;
    }
    if (place == PEER_FOREIGN && c->end.peer.known)
        request_is_foreign(req);
    req->who.look_up.state = WHOSE_ASKED;
    req->who.by_peer = true;
    subject_of_peer(&c->end.peer, place, s->opts.tcp_manages, &c->subject);
    req->who.subject = c->subject;
    return true;
}

/* Checks that a request with a cookie was sent by our own page: pages of other sites must not start
 * anything in the user's name. False: the answer says so. */
static bool request_cookie_may(struct request *req, const struct request_head *h)
{
    const struct origin_facts *a = &h->access; /* origin_check() has passed */
    struct error err = ERROR_NULL;

    if ((req->route->role < ROLE_PROFILE && !(req->route->methods & METHOD_POST)) ||
        a->fetch_site.p || a->origin.p || span_trim(a->referer).n)
        return true;
    error_set(&err, -EACCES,
              "the browser does not say which page asked for this (Sec-Fetch-Site is missing): "
              "another site's page must not start anything in your name");
    error_remedy(&err, "use the page of flamed, or a browser that sends Sec-Fetch-Site");
    request_refuse(req, 403, &err);
    return false;
}

/* Applies the configuration's rule for a user of the machine. */
static void request_rule(struct request *req)
{
    const struct access_rule *rule =
        access_rules_user(req->serve->access, req->who.subject.uid, req->who.subject.groups);

    if (req->who.subject.kind == SUBJECT_USER && rule)
        subject_apply(&req->who.subject, rule);
}

/* Answers 503 with a retry after a second, when the caller may be identified. */
static void refuse_untold(struct request *req)
{
    struct error err = { .retry_s = 1 };

    pthread_mutex_lock(&req->serve->lock);
    req->serve->stats.callers_untold++;
    pthread_mutex_unlock(&req->serve->lock);
    error_set(&err, -ETIMEDOUT, "flamed does not know the caller yet: %s",
              req->who.subject.problem);
    if (req->serve->listen.unix_path[0])
        error_remedy(&err,
                     "ask once more in a second, or on the Unix socket: curl --unix-socket %s",
                     req->serve->listen.unix_path);
    else
        error_remedy(&err, "ask once more in a second");
    answer_outcome(&req->answer, BACKEND_UNAVAILABLE, &err, 0);
}

/* Returns whether the caller is identified, or the route does not need it. */
static bool request_is_told(const struct request *req)
{
    return !req->who.subject.untold ||
           (req->route->role == ROLE_HEALTH && !req->route->cookies_alone);
}

void request_refuse_peer(struct request *req, const struct peer *peer, enum peer_place place)
{
    struct error err = ERROR_NULL;

    subject_of_peer(peer, place, /* tcp_manages= */ false, &req->who.subject);
    if (req->who.subject.untold) {
        refuse_untold(req);
        return;
    }
    request_has_role(req, req->route->role, &err);
    request_refuse(req, 403, &err);
}

bool request_may_use_route(struct request *req)
{
    struct error err = ERROR_NULL;

    if (request_has_role(req, req->route->role, &err))
        return true;
    if (req->who.subject.kind == SUBJECT_NOBODY && access_rules_have_shown(req->serve->access))
        credentials_challenge(req, err.msg);
    else
        request_refuse(req, 403, &err);
    return false;
}

bool request_subject(struct request *req, const struct request_head *h)
{
    enum shown shown;

    if (req->route->role == ROLE_HEALTH && !req->route->waits && !req->route->asks)
        return true;
    shown = req->route->cookies_alone
                ? SHOWN_NOTHING
                : credentials_of(req, h->authorization, h->authorization_count);
    if (shown == SHOWN_WRONG || shown == SHOWN_ASK)
        return false;
    if (shown == SHOWN_NOTHING) {
        if (!request_peer(req))
            return false;
        if (login_find(req, h->cookie) && !request_cookie_may(req, h))
            return false;
        req->who.base = req->who.subject;
        request_rule(req);
    }
    quota_set_caller(req);
    if (!request_is_told(req)) {
        refuse_untold(req);
        return false;
    }
    return request_may_use_route(req);
}
