/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the caller, by the connection, a cookie or what is shown, and whether it may use the route.
 */
#include "serve/credentials.h"
#include "serve/request_head.h"

/* A container's root must not use up what there is for the host's. */
static void request_is_foreign(struct request *req)
{
    req->caller = caller_of_container();
    pthread_mutex_lock(&req->serve->lock);
    req->client->caller = req->client->asks = req->caller;
    pthread_mutex_unlock(&req->serve->lock);
}

/* Who is at the other end: worked out once for a connection, if it can be. Before any rule. False:
 * that has to be asked first. */
static bool request_peer(struct request *req)
{
    struct client *c = req->client;
    enum peer_place place;

    if (!c->subject_known) {
        place = req->whose == WHOSE_ANSWERED ? req->place
                                             : peer_place(req->serve->opts.peers, &c->peer);
        if (place == PEER_UNTOLD && req->whose == WHOSE_UNASKED) {
            req->whose = WHOSE_WANTED;
            return false;
        }
        if (place == PEER_FOREIGN && c->peer.known)
            request_is_foreign(req);
        req->whose = WHOSE_ASKED;
        subject_of_peer(&c->peer, place, &c->subject);
        c->subject_known = !c->subject.untold;
    }
    req->subject = c->subject;
    return true;
}

/* A page of another site must not start anything in the name of who has logged in: the browser has
 * to say that it is ours. False: the answer says so. */
static bool request_cookie_may(struct request *req, const struct head *h)
{
    const struct origin_facts *a = &h->access; /* origin_check() found no foreign one in them */
    struct error err = ERROR_NULL;

    if ((req->route->role < ROLE_PROFILE && !(req->route->methods & METHOD_POST)) ||
        a->fetch_site.p || a->origin.p || span_trim(a->referer).n)
        return true;
    error_set(&err, -EACCES,
              "the browser does not say whose page asked for this, and another site's must not "
              "start anything in your name");
    error_remedy(&err, "use the page of flamed, or a browser that sends Sec-Fetch-Site");
    request_refuse(req, 403, &err);
    return false;
}

/* The rule of the configuration for a user of the machine. */
static void request_rule(struct request *req)
{
    const struct access_rule *rule =
        access_rules_user(req->serve->access, req->subject.uid, req->subject.groups);

    if (req->subject.kind == SUBJECT_USER && rule)
        subject_apply(&req->subject, rule);
}

/* False where the caller may be known in a second, and counts: the answer says so. */
static bool request_is_told(struct request *req)
{
    struct error err = { .retry_s = 1 };

    if (!req->subject.untold || (req->route->role == ROLE_HEALTH && !req->route->cookies_alone))
        return true;
    pthread_mutex_lock(&req->serve->lock);
    req->serve->stats.callers_untold++;
    pthread_mutex_unlock(&req->serve->lock);
    error_set(&err, -ETIMEDOUT, "flamed does not know the caller yet: %s", req->subject.problem);
    error_remedy(&err, "ask once more in a second, or on the Unix socket: curl --unix-socket "
                       "/run/flamed/flamed.sock");
    answer_outcome(&req->answer, BACKEND_UNAVAILABLE, &err, 0);
    return false;
}

bool request_subject(struct request *req, const struct head *h)
{
    struct error err = ERROR_NULL;
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
        req->base = req->subject;
        request_rule(req);
    }
    quota_set_caller(req);
    if (!request_is_told(req))
        return false;
    if (subject_may(&req->subject, req->route->role, &err))
        return true;
    if (req->subject.kind == SUBJECT_NOBODY && access_rules_have_shown(req->serve->access))
        credentials_challenge(req, err.msg);
    else
        request_refuse(req, 403, &err);
    return false;
}
