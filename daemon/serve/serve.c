/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and stops the HTTP service: threads, sockets, limits. */
#include "serve/serve_impl.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"

static bool serve_is_idle(const struct serve *s, bool answered)
{
    if (s->suspended_count || s->stats.captures_now)
        return false;
    for (size_t i = 0; answered && i < s->client_max; i++) {
        if (s->clients[i].used && s->clients[i].busy)
            return false;
    }
    return true;
}

/* Waits until @until_ns, or until no request waits for a worker or a capture. @answered: waits
 * until all answers were sent, too. Returns whether no request waits. Called with lock held. */
static bool wait_idle(struct serve *s, bool answered, uint64_t until_ns)
{
    while (!serve_is_idle(s, answered) && clock_wait(&s->idle, &s->lock, until_ns))
        ;
    return serve_is_idle(s, /* answered= */ false);
}

static void serve_free(struct serve *s)
{
    for (size_t i = 0; i < s->listen.count; i++)
        close_fd(s->listen.fds[i]);
    close_fd(s->net.epoll_fd);
    close_fd(s->net.wake_fd);
    pthread_cond_destroy(&s->workers.work);
    pthread_cond_destroy(&s->idle);
    pthread_cond_destroy(&s->whose.work);
    pthread_mutex_destroy(&s->lock);
    audit_free(s->audit);
    sessions_free(s->sessions);
    tls_unref(s->listen.tls);
    passwords_free(s->passwords);
    for (size_t i = 0; i < ARRAY_SIZE(s->metrics); i++)
        buf_deinit(&s->metrics[i].text);
    for (struct access_rules *r = s->access, *next; r; r = next) {
        next = r->next;
        access_rules_free(r);
    }
    free(s->clients);
    free(s);
}

int serve_start(const struct serve_opts *o, const struct api_backend *be, struct serve **ret,
                struct error *err)
{
    struct serve *s;
    int r = 0;

    if (o->listen_count > SERVE_LISTEN_MAX)
        r = error_set(err, -E2BIG, "at most %d addresses can be listened on", SERVE_LISTEN_MAX);
    s = r == 0 ? calloc(1, sizeof(*s)) : NULL;
    if (s) {
        s->client_max = callers_limit(o->connections_max, /* root= */ true) + SERVE_GUESTS_MAX +
                        SERVE_CLOSING_MAX;
        s->clients = calloc(s->client_max, sizeof(*s->clients));
    }
    if (s) {
        s->audit = audit_new(o->audit_fd, o->journal_fd);
        s->sessions = sessions_new();
        s->passwords = passwords_new();
    }
    if (!s || !s->clients || !s->audit || !s->sessions || !s->passwords) {
        for (size_t i = 0; i < o->listen_count; i++)
            close_fd(o->listen_fds[i]);
        if (s) {
            audit_free(s->audit);
            sessions_free(s->sessions);
            passwords_free(s->passwords);
            free(s->clients);
        }
        free(s);
        return r < 0 ? r : error_set(err, -ENOMEM, "out of memory");
    }
    s->be = *be;
    s->opts = *o;
    for (size_t i = 0; i < ARRAY_SIZE(s->metrics); i++)
        buf_init(&s->metrics[i].text, o->answer_max_bytes);
    if (o->peers)
        peers_ask_holders(o->peers, be->socket_holders, be->ctx);
    s->opts.idle_timeout_s = MAX(o->idle_timeout_s, 1u);
    s->net.epoll_fd = s->net.wake_fd = -1;
    s->listen.tls = tls_ref(o->tls);
    s->listen.count = o->listen_count;
    if (o->listen_count)
        memcpy(s->listen.fds, o->listen_fds, o->listen_count * sizeof(int));
    s->opts.listen_fds = s->listen.fds;
    for (size_t i = 0; i < s->listen.count && !s->listen.unix_path[0]; i++)
        listen_unix_path(s->listen.fds[i], s->listen.unix_path);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->workers.work, NULL);
    pthread_cond_init(&s->idle, NULL);
    pthread_cond_init(&s->whose.work, NULL);

    s->access = o->access; /* before a thread judges a request */
    r = http_start(s, err) ?: workers_start(s, err) ?: whose_start(s, err) ?: net_start(s, err);
    if (r < 0) {
        s->access = NULL; /* the caller keeps it */
        serve_stop(s);
        return r;
    }
    tls_unref(o->tls); /* s->tls has a reference */
    *ret = s;
    return 0;
}

void serve_set_audit_file(struct serve *s, int fd)
{
    audit_set_file(s->audit, fd);
}

void serve_set_access(struct serve *s, struct access_rules *rules)
{
    if (!rules) /* requests in progress may use the old rules */
        rules = calloc(1, sizeof(*rules));
    if (!rules)
        return;
    rules->next = s->access;
    s->access = rules;
    sessions_review(s->sessions, rules);
    review_soon(s);
}

void serve_set_tls(struct serve *s, struct tls *tls)
{
    struct tls *before;

    pthread_mutex_lock(&s->lock);
    before = s->listen.tls;
    s->listen.tls = tls;
    s->review.next_ns = 0;
    pthread_mutex_unlock(&s->lock);
    tls_unref(before);
}

const struct access_rules *serve_access(const struct serve *s)
{
    return s->access;
}

struct serve *serve_stop(struct serve *s)
{
    uint64_t until_ns;
    bool idle;

    if (!s)
        return NULL;
    until_ns = clock_monotonic_ns() + SERVE_STOP_ALL_NS;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    for (size_t i = 0; i < s->client_max; i++) {
        if (s->clients[i].request)
            request_end_capture(s->clients[i].request, /* keep= */ true);
    }
    idle = wait_idle(s, /* answered= */ false, clock_monotonic_ns() + SERVE_STOP_MAX_NS);
    for (size_t i = 0; !idle && i < s->client_max; i++) {
        if (s->clients[i].request)
            request_give_up_capture(s->clients[i].request);
    }
    wait_idle(s, /* answered= */ true, MIN(until_ns, clock_monotonic_ns() + SERVE_STOP_SEND_NS));
    idle = s->suspended_count == 0;
    pthread_mutex_unlock(&s->lock);
    net_stop(s);
    if (!idle) {
        /* A stalled backend call still owns requests, so the memory must outlive it. */
        log_warn("the HTTP service could not be stopped: a call into the engine does not return");
        return NULL;
    }
    whose_end(s);
    workers_stop(s);
    http_stop(s);
    pthread_mutex_lock(&s->lock);
    idle = s->stats.captures_now == 0;
    pthread_mutex_unlock(&s->lock);
    if (idle)
        serve_free(s);
    return NULL;
}

void serve_stats(struct serve *s, struct serve_stats *ret)
{
    LOCK_SCOPE(&s->lock);

    *ret = s->stats;
    ret->connections_now = ret->guests_now = 0;
    for (size_t i = 0; i < s->client_max; i++) {
        ret->connections_now += s->clients[i].used;
        ret->guests_now += s->clients[i].used && s->clients[i].guest;
    }
}
