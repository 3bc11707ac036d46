/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/credentials.h"

#include "base/clock.h"
#include "base/lock.h"
#include "serve/http.h"

#include <time.h>

static const char WRONG_TOKEN[] = "flamed does not know this token";
static const char WRONG_PASSWORD[] = "there is no such user with this password";

void credentials_challenge(struct request *req, const char *sentence)
{
    const struct access_rules *rules = req->serve->access;
    struct error err = ERROR_NULL;

    error_set(&err, -EACCES, "%s", sentence);
    error_remedy(&err, "send one header Authorization: Bearer TOKEN, with a token of access: in "
                       "flamed.yaml (flamed --new-token NAME makes one), or Basic, with a name of "
                       "basic_auth_users");
    request_refuse(req, 401, &err);
    if (access_rules_have(rules, ACCESS_BY_TOKEN))
        answer_header(&req->answer, "WWW-Authenticate", "Bearer realm=\"flamed\"");
    if (access_rules_have(rules, ACCESS_BY_BASIC))
        answer_header(&req->answer, "WWW-Authenticate",
                      "Basic realm=\"flamed\", charset=\"UTF-8\"");
}

/* Returns whether the caller has an attempt left at a password for @name; NULL: at a token. Else
 * *ret_retry_s: seconds to wait. */
static bool has_attempt(struct request *req, const char *name, unsigned *ret_retry_s)
{
    struct serve *s = req->serve;
    bool left;
    LOCK_SCOPE(&s->lock);

    left = attempts_left(&s->attempts, &req->who.caller, name, clock_monotonic_ns(), ret_retry_s);
    if (!left)
        s->stats.quota_refused[QUOTA_ATTEMPTS]++;
    return left;
}

static void charge_attempt(struct request *req, const char *name)
{
    struct serve *s = req->serve;
    LOCK_SCOPE(&s->lock);

    attempts_charge(&s->attempts, &req->who.caller, name, clock_monotonic_ns());
}

static void refuse_attempt(struct request *req, unsigned retry_s)
{
    struct error err = ERROR_NULL;
    char name[CALLER_NAME_BYTES];

    error_set(&err, 0, "%s has shown too many wrong passwords or tokens",
              caller_name(&req->who.caller, name));
    error_remedy(&err, "try again in %u s", retry_s);
    answer_outcome(&req->answer, BACKEND_TOO_MANY, &err, retry_s);
}

/* Refuses credentials that are wrong without a check of a hash. @name: as in has_attempt(). */
static enum shown refuse(struct request *req, const char *name, const char *sentence)
{
    unsigned retry_s = 0;

    if (has_attempt(req, name, &retry_s)) {
        charge_attempt(req, name);
        credentials_challenge(req, sentence);
    } else {
        refuse_attempt(req, retry_s);
    }
    return SHOWN_WRONG;
}

static enum shown accept_rule(struct request *req, const struct access_rule *rule)
{
    subject_apply(&req->who.subject, rule);
    return SHOWN_RIGHT;
}

/* Checks a token. A valid one needs no attempt left: tokens cannot be guessed, so other callers'
 * failures must not lock its owner out. */
static enum shown token_of(struct request *req, struct span text, size_t count)
{
    const struct access_rule *rule =
        count == 1 ? access_rules_token(req->serve->access, text) : NULL;

    return rule ? accept_rule(req, rule) : refuse(req, /* name= */ NULL, WRONG_TOKEN);
}

/* Returns the result of the worker's check. */
static enum shown checked(struct request *req)
{
    req->who.password.state = VERIFY_NONE;
    if (req->who.password.verified)
        return accept_rule(req, req->who.password.verified);
    if (req->who.password.retry_s)
        refuse_attempt(req, req->who.password.retry_s);
    else
        credentials_challenge(req, WRONG_PASSWORD);
    return SHOWN_WRONG;
}

/* Checks a password. One that was verified before is accepted as in token_of(); any other takes an
 * attempt and a worker. */
static enum shown basic_of(struct request *req, struct span text, size_t count)
{
    struct serve *s = req->serve;
    const struct access_rule *rule;
    unsigned retry_s = 0;

    if (req->who.password.state == VERIFY_DONE)
        return checked(req);
    req->who.password.basic = count == 1 ? calloc(1, sizeof(*req->who.password.basic)) : NULL;
    if (!req->who.password.basic || !basic_parse(text, req->who.password.basic)) {
        credentials_forget(req);
        return refuse(req, /* name= */ "", WRONG_PASSWORD);
    }
    span_copy(span_of(req->who.password.basic->name), req->who.password.claimed,
              sizeof(req->who.password.claimed));
    rule = passwords_known(s->passwords, s->access, req->who.password.basic);
    if (rule) {
        credentials_forget(req);
        return accept_rule(req, rule);
    }
    if (!has_attempt(req, req->who.password.basic->name, &retry_s)) {
        credentials_forget(req);
        refuse_attempt(req, retry_s);
        return SHOWN_WRONG;
    }
    req->who.password.state = VERIFY_WANTED;
    return SHOWN_ASK;
}

/* ---- certificates ---- */

static void *session_of(const struct request *req)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    return info ? info->tls_session : NULL;
}

/* Adopts the TLS set in force if it has changed. False: failed. */
static bool take_tls(struct request *req, void *session, bool *ret_changed)
{
    struct client *c = req->client;
    struct serve *s = req->serve;
    struct tls *fresh = NULL, *before;

    pthread_mutex_lock(&s->lock);
    if (c->tls != s->listen.tls)
        fresh = tls_ref(s->listen.tls);
    pthread_mutex_unlock(&s->lock);
    *ret_changed = fresh != NULL;
    if (!fresh)
        return true;
    if (tls_change(fresh, session) < 0) {
        tls_unref(fresh);
        return false;
    }
    pthread_mutex_lock(&s->lock);
    before = c->tls;
    c->tls = fresh;
    pthread_mutex_unlock(&s->lock);
    tls_unref(before);
    return true;
}

/* Verifies the client's certificate. False: a handshake would now fail. */
static bool judge(struct request *req, void *session)
{
    struct certificate_names *names = calloc(1, sizeof(*names)), *before;
    struct client *c = req->client;
    int64_t until_s = INT64_MAX;
    int r = names ? tls_look(c->tls, session, names, &until_s) : -ENOMEM;

    if (r != 0) {
        free(names);
        names = NULL;
    }
    pthread_mutex_lock(&req->serve->lock);
    before = c->names;
    c->names = names;
    c->judged = r >= 0;
    c->until_s = until_s;
    pthread_mutex_unlock(&req->serve->lock);
    free(before);
    return r >= 0;
}

bool credentials_connection(struct request *req)
{
    struct client *c = req->client;
    struct error err = ERROR_NULL;
    void *session = c->tls ? session_of(req) : NULL;
    bool changed = false, good;

    if (!c->tls)
        return true;
    good = session && take_tls(req, session, &changed);
    if (good && (changed || !c->judged || (int64_t)time(NULL) > c->until_s))
        good = judge(req, session);
    if (good)
        return true;
    error_set(&err, -EACCES,
              "the client certificate of this connection is no longer valid: it has expired, or "
              "flamed's rules for certificates have changed");
    error_remedy(&err, "connect again, with a valid certificate");
    request_refuse(req, 403, &err);
    answer_header(&req->answer, "Connection", "close");
    return false;
}

static enum shown certificate_of(struct request *req)
{
    const struct certificate_names *names = req->client->names;
    const struct access_rule *rule = names ? certificate_rule(names, req->serve->access) : NULL;

    return rule ? accept_rule(req, rule) : SHOWN_NOTHING;
}

enum shown credentials_of(struct request *req, struct span header, size_t count)
{
    const struct access_rules *rules = req->serve->access;
    struct span rest;

    if (count && access_rules_have(rules, ACCESS_BY_TOKEN) &&
        authorization_is(header, "bearer", &rest))
        return token_of(req, rest, count);
    if (count && access_rules_have(rules, ACCESS_BY_BASIC) &&
        authorization_is(header, "basic", &rest))
        return basic_of(req, rest, count);
    /* Other schemes are for a proxy. */
    return access_rules_have(rules, ACCESS_BY_CERTIFICATE) ? certificate_of(req) : SHOWN_NOTHING;
}

void credentials_check(struct request *req)
{
    struct passwords *p = req->serve->passwords;
    const struct access_rules *rules = req->serve->access;

    /* Only one password of a caller is checked at a time. The checks before this one may have
     * verified it, or used up the attempts. */
    req->who.password.verified = passwords_known(p, rules, req->who.password.basic);
    if (!req->who.password.verified &&
        has_attempt(req, req->who.password.basic->name, &req->who.password.retry_s)) {
        req->who.password.verified = passwords_check(p, rules, req->who.password.basic);
        if (!req->who.password.verified)
            charge_attempt(req, req->who.password.basic->name);
    }
    credentials_forget(req);
}

void credentials_forget(struct request *req)
{
    if (req->who.password.basic)
        explicit_bzero(req->who.password.basic, sizeof(*req->who.password.basic));
    free(req->who.password.basic);
    req->who.password.basic = NULL;
}
