/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits per caller. At once: requests that wait for a worker or a capture, streams, captures. Over
 * time: attaches, and the CPU time of answers. A caller beyond a limit gets 429, which names the
 * limit and the time to retry. Root has no limit, and capacity that no other caller can use.
 */
#include "base/list.h"
#include "serve/serve_impl.h"

#include "base/clock.h"
#include "base/lock.h"

#define QUOTA_RETRY_S 2         /* retry after short-lived requests */
#define QUOTA_STREAM_RETRY_S 10 /* retry after long-lived ones */

static const char ONE_CALLER[] =
    "one caller is a user, on the Unix socket, over TCP or by a browser, or a token";

/* Returns how many requests of one caller may wait or stream at once. Its other connections stay
 * free for requests that need no waiting. */
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

        if (c->used && caller_equal(&c->asks, of)) {
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
              caller_name(&req->who.caller, name), count, what);
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
    room = connection_place_promote(s, req->client);
    if (!room)
        s->stats.quota_refused[QUOTA_CONNECTIONS]++;
    pthread_mutex_unlock(&s->lock);
    if (!room) {
        refuse(req, s->opts.connections_max, "connections with a request under way", QUOTA_RETRY_S);
        answer_header(&req->answer, "Connection", "close");
    }
    return room;
}

/* ---- budgets that refill over time ---- */

static const struct {
    unsigned share;            /* as in base/budget.h */
    uint64_t max_ns, taken_ns; /* taken_ns: charged in advance; 0: the cost is charged afterwards */
    enum quota quota;
    const char *what; /* object of "has used up" */
} BUDGETS[QUOTA_BUDGET_KINDS] = {
    [QUOTA_BUDGET_ATTACHES] = { 1, QUOTA_ATTACHES_MAX *QUOTA_ATTACH_NS, QUOTA_ATTACH_NS,
                                QUOTA_ATTACHES, "its attaches to JVMs, 12 a minute" },
    [QUOTA_BUDGET_BEGUN] = { 1, QUOTA_BEGUN_MAX *QUOTA_BEGUN_NS, 0, QUOTA_BEGUN,
                             "the captures that it may begin, 64 at once and one a second" },
    [QUOTA_BUDGET_BEGUN_OF_ALL] = { 1, QUOTA_BEGUN_MAX *QUOTA_BEGUN_OF_ALL_NS, 0, QUOTA_BEGUN,
                                    "the captures that it may begin, 64 at once and 8 a second" },
    [QUOTA_BUDGET_RENDERING] = { QUOTA_RENDER_SHARE, QUOTA_RENDER_NS, 0, QUOTA_RENDERING,
                                 "the CPU time of its answers, half of a CPU" },
};

/* Returns whether budgets apply to the caller. A caller that may manage, here or on the Unix
 * socket, has none, because it could get around them. */
static bool has_budget(const struct request *req)
{
    return req->who.subject.role < ROLE_MANAGE && !req->who.subject.limited &&
           !caller_is_root(&req->who.caller);
}

/* Returns what is left of the emptiest budget of @b, in thousandths. */
static int64_t budgets_left(struct quota_budgets *b, uint64_t now)
{
    int64_t least = 1000;

    for (size_t i = 0; i < QUOTA_BUDGET_KINDS; i++) {
        budget_has(&b->of[i], now);
        least = MIN(least, b->of[i].left_ns * 1000 / (int64_t)b->of[i].max_ns);
    }
    return least;
}

/* Returns the budgets of @caller. A new caller gets full ones, in an unused entry, or in that of
 * the caller who has the most left and so gains least by it. */
static struct quota_budgets *budgets_of(struct serve *s, const struct caller *caller, uint64_t now)
{
    struct quota_budgets *spare = &s->budgets[0];
    int64_t most = INT64_MIN;

    for (size_t i = 0; i < QUOTA_BUDGETS_MAX; i++) {
        struct quota_budgets *b = &s->budgets[i];

        if (b->used && caller_equal(&b->caller, caller))
            return b;
    }
    for (size_t i = 0; i < QUOTA_BUDGETS_MAX && most < INT64_MAX; i++) {
        struct quota_budgets *b = &s->budgets[i];
        int64_t left = b->used ? budgets_left(b, now) : INT64_MAX;

        if (left > most) {
            most = left;
            spare = b;
        }
    }
    *spare = (struct quota_budgets){ .used = true, .caller = *caller };
    for (size_t i = 0; i < QUOTA_BUDGET_KINDS; i++)
        budget_init(&spare->of[i], BUDGETS[i].share, BUDGETS[i].max_ns, now);
    return spare;
}

/* Returns the seconds until @b is positive again. */
static unsigned budget_retry_s(const struct budget *b)
{
    uint64_t missing = b->left_ns > 0 ? 0 : (uint64_t)-b->left_ns;

    return (unsigned)(missing * b->share / NSEC_PER_SEC) + 1;
}

static void refuse_budget(struct request *req, enum quota_budget kind, unsigned retry_s)
{
    struct error err = ERROR_NULL;
    char name[CALLER_NAME_BYTES];

    pthread_mutex_lock(&req->serve->lock);
    req->serve->stats.quota_refused[BUDGETS[kind].quota]++;
    pthread_mutex_unlock(&req->serve->lock);
    error_set(&err, 0, "%s has used up %s", caller_name(&req->who.caller, name),
              BUDGETS[kind].what);
    error_remedy(&err, "ask again in %u s (%s)", retry_s, ONE_CALLER);
    answer_outcome(&req->answer, BACKEND_TOO_MANY, &err, retry_s);
}

/* Charges a budget of @req's caller. False: the budget is used up, and the answer says so. */
static bool quota_take(struct request *req, enum quota_budget kind)
{
    struct serve *s = req->serve;
    uint64_t now = clock_monotonic_ns();
    struct quota_budgets *b;
    unsigned retry_s = 1;
    bool room;

    if (!has_budget(req))
        return true;
    pthread_mutex_lock(&s->lock);
    b = budgets_of(s, &req->who.caller, now);
    room = budget_has(&b->of[kind], now);
    if (room)
        budget_spend(&b->of[kind], BUDGETS[kind].taken_ns);
    else
        retry_s = budget_retry_s(&b->of[kind]);
    pthread_mutex_unlock(&s->lock);
    if (!room)
        refuse_budget(req, kind, retry_s);
    return room;
}

bool quota_attach(struct request *req)
{
    return quota_take(req, QUOTA_BUDGET_ATTACHES);
}

static enum quota_budget begun_of(const struct request *req)
{
    return req->who.subject.viewer.whole ? QUOTA_BUDGET_BEGUN_OF_ALL : QUOTA_BUDGET_BEGUN;
}

bool quota_begin(struct request *req)
{
    return quota_take(req, begun_of(req));
}

void quota_begun(struct request *req)
{
    enum quota_budget kind = begun_of(req);
    struct serve *s = req->serve;
    struct quota_budgets *b;

    if (!has_budget(req))
        return;
    LOCK_SCOPE(&s->lock);
    b = budgets_of(s, &req->who.caller, clock_monotonic_ns());
    budget_spend(&b->of[kind], kind == QUOTA_BUDGET_BEGUN ? QUOTA_BEGUN_NS : QUOTA_BEGUN_OF_ALL_NS);
}

/* Returns whether the request may cost the CPU time of an answer. False: the answer says why
 * not. */
static bool quota_render(struct request *req)
{
    return (!req->route->heavy && !req->route->finish) || quota_take(req, QUOTA_BUDGET_RENDERING);
}

void quota_spend(struct serve *s, const struct caller *caller, uint64_t cpu_ns)
{
    struct quota_budgets *b = budgets_of(s, caller, clock_monotonic_ns());

    budget_spend(&b->of[QUOTA_BUDGET_RENDERING], cpu_ns);
}

void quota_set_caller(struct request *req)
{
    char name[SUBJECT_NAME_BYTES];

    if (req->who.session[0]) {
        req->who.caller = (struct caller){ .kind = CALLER_SESSION, .uid = req->who.subject.uid };
    } else if (req->who.subject.name) {
        req->who.caller = caller_named(subject_name(&req->who.subject, name));
    } else {
        return;
    }
    LOCK_SCOPE(&req->serve->lock);
    req->client->asks = req->who.caller;
}

/* Takes one of the @max places of a caller for @what. False: none is left, and the answer says
 * so. */
static bool take_place(struct request *req, enum quota quota, size_t max, const char *what)
{
    struct serve *s = req->serve;
    size_t waiting, streams;
    bool room;

    pthread_mutex_lock(&s->lock);
    count_requests(s, &req->who.caller, &waiting, &streams);
    room = (quota == QUOTA_STREAMS ? streams : waiting) < max || caller_is_root(&req->who.caller);
    if (!room)
        s->stats.quota_refused[quota]++;
    else if (quota == QUOTA_STREAMS)
        req->client->streams = true;
    else
        req->client->waits = true;
    pthread_mutex_unlock(&s->lock);
    if (!room)
        refuse(req, max, what, quota == QUOTA_STREAMS ? QUOTA_STREAM_RETRY_S : QUOTA_RETRY_S);
    return room;
}

bool quota_wait(struct request *req)
{
    return req->route->health ||
           (quota_render(req) && take_place(req, QUOTA_WAITING, waiting_max(req->serve),
                                            "requests that wait for their answers"));
}

bool quota_stream(struct request *req)
{
    return take_place(req, QUOTA_STREAMS, streams_max(req->serve), "streams");
}

void quota_note_capture(struct serve *s, int outcome)
{
    if (outcome != BACKEND_TOO_MANY)
        return;
    LOCK_SCOPE(&s->lock);
    s->stats.captures_refused++;
    s->stats.quota_refused[QUOTA_CAPTURES]++;
}

/* ---- captures that requests wait for; the backend counts all captures ---- */

static size_t count_captures(const struct serve *s, const struct caller *of)
{
    size_t n = 0;

    for (const struct request *r = s->capturing; r; r = r->capture.next)
        n += !of || caller_equal(&r->who.caller, of);
    return n;
}

/* Returns the seconds until the first capture of @of ends. NULL: of any caller. */
static unsigned captures_retry_s(const struct serve *s, const struct caller *of)
{
    uint64_t now = clock_monotonic_ns(), first = UINT64_MAX;

    for (const struct request *r = s->capturing; r; r = r->capture.next) {
        if (!r->capture.done && r->capture.end_ns != UINT64_MAX &&
            (!of || caller_equal(&r->who.caller, of)))
            first = MIN(first, r->capture.end_ns - SERVE_END_GRACE_NS);
    }
    if (first == UINT64_MAX || first <= now)
        return 1;
    return (unsigned)((first - now) / NSEC_PER_SEC) + 1;
}

bool quota_capture(const struct request *req, struct error *err, unsigned *ret_retry_s)
{
    const struct serve *s = req->serve;
    bool root = caller_is_root(&req->who.caller);
    size_t own = count_captures(s, &req->who.caller), all = count_captures(s, NULL);
    bool own_full = !root && own >= s->opts.captures_max;
    char name[CALLER_NAME_BYTES];

    if (!own_full && all < callers_limit(s->opts.captures_max, root))
        return true;
    /* A caller that does not see the whole node must not learn from the retry time how long
     * captures of others run. */
    *ret_retry_s = own_full || req->who.subject.viewer.whole
                       ? captures_retry_s(s, own_full ? &req->who.caller : NULL)
                       : QUOTA_STREAM_RETRY_S;
    if (own_full)
        error_set(err, 0, "%zu captures are running for %s, which is the limit for one caller", own,
                  caller_name(&req->who.caller, name));
    else if (req->who.subject.viewer.whole)
        error_set(err, 0, "%zu captures are running, which is the limit", all);
    else
        error_set(err, 0, "no more captures can run at this time");
    error_remedy(err, "ask again in %u s, or raise captures_max in the configuration",
                 *ret_retry_s);
    return false;
}
