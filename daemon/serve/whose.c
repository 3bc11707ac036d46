/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the owner of a connection if that takes a search for the process that holds its
 * socket. A thread of its own searches, so that neither many processes nor a stalled broker delay
 * another thread. Requests wait in a list. One search serves many of them, the oldest request of
 * each caller first, so a caller that opens many connections delays no other.
 */
#include "serve/serve_impl.h"

#include "base/clock.h"
#include "base/lock.h"

#include <microhttpd.h>

#define WHOSE_WAIT_NS (5 * NSEC_PER_SEC) /* longest wait of a request */
#define WHOSE_HEALTH_NS                                                                            \
    (NSEC_PER_SEC / 2) /* longest wait of a request that can be answered without a caller */
#define WHOSE_STALL_NS                                                                             \
    (3 * NSEC_PER_SEC)              /* after a longer silence of the broker, no request may wait */
#define WHOSE_PAUSE_SHARE 7         /* pause after a search, in multiples of its duration */
#define WHOSE_PAUSE_NS NSEC_PER_SEC /* longest pause */

/* Returns true if another request would wait in vain: the broker is silent. One request may always
 * wait, to try again. */
static bool is_stalled(const struct serve *s, uint64_t now)
{
    return s->whose.begun_ns && now > s->whose.begun_ns &&
           now - s->whose.begun_ns > WHOSE_STALL_NS && (s->whose.queue || s->whose.looks);
}

/* Returns whether waiting is useless; @req then has PEER_UNTOLD as its answer. Called with lock
 * held. */
static bool is_in_vain(struct request *req, uint64_t now)
{
    if (!req->serve->stopping && !is_stalled(req->serve, now))
        return false;
    req->who.look_up.place = PEER_UNTOLD;
    req->who.look_up.state = WHOSE_ANSWERED;
    return true;
}

/* Appends @req to the list. Called with lock held. */
static void append(struct request *req, uint64_t now)
{
    struct serve *s = req->serve;
    struct request **at = &s->whose.queue;

    req->who.look_up.state = WHOSE_WANTED;
    req->who.look_up.until_ns =
        now +
        (req->route->role == ROLE_HEALTH && !req->route->asks ? WHOSE_HEALTH_NS : WHOSE_WAIT_NS);
    while (*at)
        at = &(*at)->next;
    req->next = NULL;
    *at = req;
    pthread_cond_signal(&s->whose.work);
}

bool whose_ask(struct request *req)
{
    uint64_t now = clock_monotonic_ns();
    struct serve *s = req->serve;
    bool vain;

    pthread_mutex_lock(&s->lock);
    vain = is_in_vain(req, now);
    s->suspended_count += !vain;
    pthread_mutex_unlock(&s->lock);
    if (vain)
        return false;
    MHD_suspend_connection(req->connection);
    pthread_mutex_lock(&s->lock);
    net_watch(s, req);
    append(req, now);
    pthread_mutex_unlock(&s->lock);
    return true;
}

bool whose_confirm(struct request *req)
{
    uint64_t now = clock_monotonic_ns();
    struct serve *s = req->serve;
    bool vain;
    LOCK_SCOPE(&s->lock);

    req->who.look_up.confirms = true;
    vain = is_in_vain(req, now);
    if (!vain)
        append(req, now);
    return !vain;
}

/* Removes @req from the list with @place as its answer. */
static void take_out(struct request *req, enum peer_place place)
{
    struct request **at = &req->serve->whose.queue;

    while (*at != req)
        at = &(*at)->next;
    *at = req->next;
    req->who.look_up.place = place;
    req->who.look_up.state = WHOSE_ANSWERED;
}

/* Resumes the requests of @list with whose_taken in the HTTP library or the workers; drops the
 * references to all of them. Called with lock held, which is dropped in between. */
static void go_on(struct serve *s, struct request *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct request *req = list[i];
        bool left = req->left, mine = req->who.look_up.taken;

        req->who.look_up.taken = false;
        if (mine && req->who.look_up.confirms) {
            workers_push(s, req);
        } else if (mine) {
            pthread_mutex_unlock(&s->lock);
            request_resume(req, /* ready= */ left);
            pthread_mutex_lock(&s->lock);
        }
        request_unref_locked(req);
    }
}

void whose_tick(struct serve *s, uint64_t now)
{
    struct request *list[SOCKETS_ASKED_MAX], *next;
    size_t n;
    LOCK_SCOPE(&s->lock);

    do {
        n = 0;
        for (struct request *req = s->whose.queue; req && n < ARRAY_SIZE(list); req = next) {
            next = req->next;
            if (!s->stopping && !req->left && now < req->who.look_up.until_ns)
                continue;
            take_out(req, PEER_UNTOLD);
            req->who.look_up.taken = true;
            req->refs++;
            list[n++] = req;
        }
        go_on(s, list, n);
    } while (n == ARRAY_SIZE(list));
}

/* ---- the thread ---- */

static bool is_first_of_caller(const struct serve *s, const struct request *req)
{
    for (const struct request *r = s->whose.queue; r != req; r = r->next) {
        if (caller_equal(&r->who.caller, &req->who.caller))
            return false;
    }
    return true;
}

/* Chooses the requests of the next search: the oldest of each caller, then others. Returns their
 * number. */
static size_t choose(struct serve *s, struct request **list, struct peer_connection *ends)
{
    size_t n = 0;

    for (int first = 1; first >= 0; first--) {
        for (struct request *req = s->whose.queue; req && n < SOCKETS_ASKED_MAX; req = req->next) {
            if (is_first_of_caller(s, req) != first)
                continue;
            req->refs++;
            ends[n] = req->client->end;
            list[n++] = req;
        }
    }
    return n;
}

/* Searches once and stores the results. Called with lock held, which is dropped in between. Returns
 * the length of the pause, in nanoseconds. */
static uint64_t look(struct serve *s)
{
    enum peer_place places[SOCKETS_ASKED_MAX];
    struct request *list[SOCKETS_ASKED_MAX];
    struct peer_connection ends[SOCKETS_ASKED_MAX];
    size_t n = choose(s, list, ends);
    uint64_t begun_ns = clock_monotonic_ns(), took_ns;
    bool asked, late = false;

    if (!s->whose.begun_ns)
        s->whose.begun_ns = begun_ns;
    s->whose.looks = true;
    pthread_mutex_unlock(&s->lock);
    asked = peers_look(s->opts.peers, ends, n, places);
    pthread_mutex_lock(&s->lock);
    took_ns = clock_monotonic_ns() - begun_ns;
    s->whose.looks = false;
    if (asked)
        s->whose.begun_ns = 0;
    for (size_t i = 0; i < n; i++) {
        late |= places[i] == PEER_UNTOLD;
        /* whose_tick() has removed it; the first of both threads to see whose_taken resumes it. */
        if (list[i]->who.look_up.state != WHOSE_WANTED)
            continue;
        list[i]->client->end.peer = ends[i].peer;
        if (places[i] == PEER_UNTOLD)
            continue;
        list[i]->who.look_up.taken = true;
        take_out(list[i], places[i]);
    }
    s->stats.looks++;
    s->stats.looks_late += late;
    s->stats.looks_slow = peers_slow_looks(s->opts.peers);
    s->stats.looks_fast = peers_fast_looks(s->opts.peers);
    go_on(s, list, n);
    return asked ? MIN(took_ns * WHOSE_PAUSE_SHARE, (uint64_t)WHOSE_PAUSE_NS) : 0;
}

static void *run(void *cookie)
{
    struct serve *s = cookie;
    uint64_t free_ns = 0;
    LOCK_SCOPE(&s->lock);

    pthread_setname_np(pthread_self(), "flamed-callers");
    while (!s->whose.stop) {
        if (!s->whose.queue)
            pthread_cond_wait(&s->whose.work, &s->lock);
        else if (clock_monotonic_ns() < free_ns)
            clock_wait(&s->whose.work, &s->lock, free_ns);
        else
            free_ns = look(s) + clock_monotonic_ns();
    }
    return NULL;
}

int whose_start(struct serve *s, struct error *err)
{
    int r = pthread_create(&s->whose.thread, NULL, run, s);

    if (r != 0)
        return error_code(err, -r, "cannot start a thread of the HTTP service");
    s->whose.started = true;
    return 0;
}

void whose_end(struct serve *s)
{
    if (!s->whose.started)
        return;
    pthread_mutex_lock(&s->lock);
    s->whose.stop = true;
    pthread_cond_signal(&s->whose.work);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->whose.thread, NULL);
    s->whose.started = false;
}
