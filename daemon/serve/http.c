/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts and stops the HTTP library; its callbacks for connections and requests. Nothing here
 * blocks.
 */
#include "serve/http.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"

static void *on_uri(void *cookie, const char *uri, struct MHD_Connection *connection)
{
    struct serve *s = cookie;
    struct request *req = request_new(s, uri);
    const union MHD_ConnectionInfo *info;

    if (!req)
        return NULL;
    req->connection = connection;
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    req->client = info ? info->socket_context : NULL;
    LOCK_SCOPE(&s->lock);
    if (req->client) {
        req->who.caller = req->client->asks = req->client->caller;
        req->client->since_ns = clock_monotonic_ns();
    }
    return req;
}

/* Suspends @req and queues it for the workers. False: its caller has too many waiting requests, or
 * the service is stopping; the answer says so. */
static bool request_wait(struct request *req)
{
    struct serve *s = req->serve;
    struct error err = ERROR_NULL;

    if (!quota_wait(req))
        return false;
    pthread_mutex_lock(&s->lock);
    if (!s->stopping) {
        s->suspended_count++; /* from here on serve_stop() waits for it */
        pthread_mutex_unlock(&s->lock);
        MHD_suspend_connection(req->connection);
        pthread_mutex_lock(&s->lock);
        net_watch(s, req);
        workers_push(s, req);
        pthread_mutex_unlock(&s->lock);
        return true;
    }
    pthread_mutex_unlock(&s->lock);
    error_set(&err, -ESHUTDOWN, "the service is stopping");
    answer_outcome(&req->answer, BACKEND_UNAVAILABLE, &err, 0);
    return false;
}

/* Sends the answer if the head is refused already; else waits for the body. As long as the body is
 * incomplete, a newer connection may evict this one. */
static enum MHD_Result await_body(struct request *req)
{
    if (req->received.has_body && !req->received.checked && !req->received.drains)
        return request_send(req);
    if (req->received.has_body) {
        LOCK_SCOPE(&req->serve->lock);
        req->client->busy = false;
        req->client->since_ns = clock_monotonic_ns();
    }
    return MHD_YES;
}

/* Marks the connection busy, because the request is complete. False: the connection was evicted. */
static bool body_has_come(struct request *req)
{
    LOCK_SCOPE(&req->serve->lock);

    if (req->client->closing)
        return false;
    req->client->busy = true;
    req->client->since_ns = clock_monotonic_ns();
    return true;
}

static enum MHD_Result on_request(void *cookie, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_n, void **request)
{
    struct serve *s = cookie;
    struct request *req = *request;
    bool ready, left;

    (void)connection;
    (void)url;
    if (!req || !req->client)
        return MHD_NO;
    pthread_mutex_lock(&s->lock);
    ready = req->ready;
    left = req->left;
    pthread_mutex_unlock(&s->lock);
    if (ready)
        return left ? MHD_NO : request_send(req);
    if (req->who.password.state == VERIFY_DONE || req->who.look_up.state == WHOSE_ANSWERED) {
        req->received.checked = request_admit(req);
        return await_body(req);
    }
    if (!req->received.seen) {
        req->received.seen = true;
        req->received.http_1_0 = strcmp(version, MHD_HTTP_VERSION_1_1) != 0;
        pthread_mutex_lock(&s->lock);
        s->stats.requests++;
        left = req->client->closing; /* evicted before its request came */
        req->client->busy = !left;
        req->client->since_ns = clock_monotonic_ns();
        pthread_mutex_unlock(&s->lock);
        if (left)
            return MHD_NO;
        /* Not answered yet: the library calls again when the request is complete, and an answer
         * then leaves the connection open for the next request. A large body is refused at once
         * instead. */
        req->received.checked = request_check(req, method);
        if (req->who.password.state == VERIFY_WANTED) {
            if (request_wait(req))
                return MHD_YES;
            req->who.password.state = VERIFY_NONE;
        }
        if (req->who.look_up.state == WHOSE_WANTED) {
            if (whose_ask(req))
                return MHD_YES;
            req->received.checked = request_admit(req);
        }
        return await_body(req);
    }
    if (*upload_n) {
        if (req->received.checked)
            buf_add(&req->received.body, upload,
                    *upload_n); /* up to the limit of the body; the rest is dropped */
        *upload_n = 0;
        return MHD_YES;
    }
    if (req->received.has_body && !body_has_come(req))
        return MHD_NO;
    req->received.checked = req->received.checked && request_body(req);
    if (req->received.checked) {
        bool at_once = !req->route->waits || (req->route->at_once && req->route->at_once(req));

        if (!at_once && request_wait(req))
            return MHD_YES;
        if (!req->route->waits)
            req->route->handle(req);
        if (at_once) {
            request_wrap(req);
            answer_encode(&req->answer, req->wants.coding);
        }
    }
    log_debug("request method=%s path=%s status=%u", method,
              req->received.path ? req->received.path : "-", req->answer.status);
    return request_send(req);
}

/* Records a capture or an attach that its client left before the answer. */
static void note_unanswered(struct request *req)
{
    bool begun;

    pthread_mutex_lock(&req->serve->lock);
    begun = req->capture.counted && req->capture.done && !req->noted;
    pthread_mutex_unlock(&req->serve->lock);
    if (!begun)
        return;
    req->answer.status = STATUS_LEFT;
    audit_note(req->serve->audit, req);
}

static void on_completed(void *cookie, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
    struct serve *s = cookie;
    struct request *req = *request;

    (void)connection;
    (void)code;
    if (!req)
        return;
    *request = NULL;
    note_unanswered(req);
    LOCK_SCOPE(&s->lock);
    if (req->client) {
        req->client->busy = req->client->waits = req->client->streams = false;
        req->client->held_bytes = 0;
        req->client->since_ns = clock_monotonic_ns();
    }
    stream_closed(req);
    request_unref_locked(req);
    pthread_cond_broadcast(&s->idle);
}

/* Begins TLS with the set in force. Called with lock held. */
static void client_begin_tls(struct serve *s, struct client *c, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    c->tls = tls_ref(s->listen.tls);
    if (!info || !info->tls_session || tls_begin(c->tls, info->tls_session) < 0)
        client_cut(c);
}

static void on_connection(void *cookie, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct serve *s = cookie;
    struct client *c;
    LOCK_SCOPE(&s->lock);

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        for (size_t i = 0; i < s->client_max; i++) {
            if (s->clients[i].used && s->clients[i].fd == (int)info->connect_fd)
                *context = &s->clients[i];
        }
        c = *context;
        if (c && c->speaks_tls)
            client_begin_tls(s, c, connection);
    } else if ((c = *context)) {
        c->used = false; /* before the library closes the socket, so its number is not reused yet */
        c->fd = -1;
        *context = NULL;
        c->tls = tls_unref(c->tls);
        free(c->names);
        c->names = NULL;
    }
}

static void on_log(void *cookie, const char *fmt, va_list ap)
{
    char text[512];

    (void)cookie;
    if (log_level_get() < LOG_LEVEL_DEBUG)
        return;
    vsnprintf(text, sizeof(text), fmt, ap);
    log_debug("http: %s", text);
}

static struct MHD_Daemon *start_library(struct serve *s, const struct MHD_OptionItem *more,
                                        unsigned flags)
{
    return MHD_start_daemon(
        flags | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, s,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)SERVE_MHD_THREADS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(s->client_max * SERVE_MHD_THREADS), MHD_OPTION_CONNECTION_TIMEOUT,
        s->opts.idle_timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVE_CONNECTION_BYTES,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
}

int http_start(struct serve *s, struct error *err)
{
    static const struct MHD_OptionItem PLAIN[] = { { MHD_OPTION_END, 0, NULL } };
    /* client_begin_tls() sets the certificate of each connection. */
    const struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_no_certificate() },
        { MHD_OPTION_END, 0, NULL },
    };

    s->listen.mhd = start_library(s, PLAIN, MHD_USE_EPOLL_INTERNAL_THREAD);
    if (!s->listen.mhd)
        return error_set(err, -ENOMEM, "cannot start the HTTP library");
    if (!s->listen.tls)
        return 0;
    /* With epoll, the library polls in a busy loop while a client delays its handshake. */
    s->listen.mhd_tls = start_library(s, tls, MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_TLS);
    if (!s->listen.mhd_tls)
        return error_set(err, -EINVAL, "cannot start the HTTP library with TLS");
    return 0;
}

void http_stop(struct serve *s)
{
    if (s->listen.mhd)
        MHD_stop_daemon(s->listen.mhd);
    if (s->listen.mhd_tls)
        MHD_stop_daemon(s->listen.mhd_tls);
    s->listen.mhd = s->listen.mhd_tls = NULL;
}
