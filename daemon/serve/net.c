/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The net thread: accepts connections and passes them to the HTTP library, notices when the client
 * of a waiting request leaves, and keeps deadlines. Of HTTP it knows two fixed texts only.
 */
#include "serve/serve_impl.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define NET_TICK_MS 200
#define NET_IDLE_TICK_MS 2000 /* without a client or a request */
#define NET_EVENTS 32
#define NET_ACCEPTS 64 /* connections from one listening socket per turn */
#define HALF_CLOSE_NS                                                                              \
    NSEC_PER_SEC /* a client of HTTP/1.0 that ends its sending side later has left */
#define TOKEN_LISTEN UINT64_C(0xffffffff00000000)
#define TOKEN_WAKE UINT64_MAX

static uint64_t client_token(const struct serve *s, const struct client *c)
{
    return (uint64_t)(c->generation & 0x7fffffff) << 32 | (uint64_t)(c - s->clients);
}

/* ---- connections ---- */

/* Answers with a minimal 503 and closes: every connection has a request in progress. */
static void net_refuse(int fd, bool tls)
{
    static const char ANSWER[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
        "Connection: close\r\nRetry-After: 2\r\nContent-Length: 140\r\n\r\n"
        "{\"type\":\"urn:flamed:problem:unavailable\",\"title\":\"Too many "
        "connections\",\"status\":503,\"detail\":\"every connection is in use: try again soon\"}\n";
    char ignored[4096];

    /* Before a TLS handshake no answer is possible. Data of the client must be read, else closing
     * would reset the connection before the client has read the answer. */
    if (tls) {
        close(fd);
        return;
    }
    if (recv(fd, ignored, sizeof(ignored), MSG_DONTWAIT) >= 0 || errno == EAGAIN)
        send(fd, ANSWER, sizeof(ANSWER) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    close(fd);
}

static void address_text(const struct sockaddr_storage *sa, char ret[INET6_ADDRSTRLEN])
{
    if (sa->ss_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, ret, INET6_ADDRSTRLEN);
    else if (sa->ss_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)sa)->sin6_addr, ret, INET6_ADDRSTRLEN);
}

static void client_describe(struct client *c, int fd, const struct sockaddr_storage *peer)
{
    struct sockaddr_storage local = { 0 };
    socklen_t n = sizeof(local);

    c->fd = fd;
    c->unix_socket = peer->ss_family == AF_UNIX;
    if (c->unix_socket)
        return;
    address_text(peer, c->peer_address);
    if (getsockname(c->fd, (struct sockaddr *)&local, &n) == 0)
        address_text(&local, c->local_address);
}

/* Passes an accepted connection to the HTTP library, or refuses it if no place is left. */
static void net_add(struct serve *s, bool tls, const struct peer_connection *a)
{
    struct caller caller = caller_of_peer(&a->peer, &a->address);
    struct client *c;
    uint32_t generation;

    pthread_mutex_lock(&s->lock);
    c = connection_place_take(s, &caller);
    if (!c) {
        pthread_mutex_unlock(&s->lock);
        net_refuse(a->fd, tls);
        return;
    }
    generation = c->generation;
    client_describe(c, a->fd, &a->address);
    c->end = *a;
    c->speaks_tls = tls;
    s->stats.connections++;
    pthread_mutex_unlock(&s->lock);

    if (MHD_add_connection(tls ? s->listen.mhd_tls : s->listen.mhd, a->fd,
                           (const struct sockaddr *)&a->address, a->address_n) == MHD_YES)
        return;
    /* MHD_add_connection() has closed the socket */
    pthread_mutex_lock(&s->lock);
    if (c->used && c->generation == generation) {
        c->used = false;
        c->tls = tls_unref(c->tls);
    }
    pthread_mutex_unlock(&s->lock);
}

/* Accepts waiting connections. Returns their number. */
static size_t accept_all(int listener, struct peer_connection *list, size_t max)
{
    size_t n = 0;

    while (n < max) {
        struct peer_connection *a = &list[n];

        *a = (struct peer_connection){ .address = { .ss_family = AF_UNIX },
                                       .address_n = sizeof(a->address) };
        a->fd = accept4(listener, (struct sockaddr *)&a->address, &a->address_n,
                        SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (a->fd >= 0) {
            n++;
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };

            if (log_limit())
                log_warn_errno(-errno, "cannot accept a connection");
            nanosleep(&pause, NULL); /* the socket stays readable: do not spin */
        }
        break;
    }
    return n;
}

static void net_accept(struct serve *s, size_t listener)
{
    bool tls = s->opts.listen_tls & UINT32_C(1) << listener;
    struct peer_connection list[NET_ACCEPTS];
    size_t n = accept_all(s->listen.fds[listener], list, ARRAY_SIZE(list));

    peers_ask(s->opts.peers, list, n);
    for (size_t i = 0; i < n; i++)
        net_add(s, tls, &list[i]);
}

/* ---- clients that leave ---- */

void net_watch(struct serve *s, struct request *req)
{
    struct client *c = req->client;
    /* On a Unix socket, HUP means that the client has left, not only shut down its sending side. */
    struct epoll_event ev = { .events = c->unix_socket ? 0 : EPOLLRDHUP,
                              .data.u64 = client_token(s, c) };

    c->request = req;
    c->probed = false;
    c->watching = epoll_ctl(s->net.epoll_fd, EPOLL_CTL_ADD, c->fd, &ev) == 0;
}

void net_unwatch(struct serve *s, struct request *req)
{
    struct client *c = req->client;

    if (c->watching)
        epoll_ctl(s->net.epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
    c->watching = false;
    c->request = NULL;
}

/* Returns whether a half-closed TCP client may still wait for its answer, and then watches it on. A
 * write shows whether it has left, because a closed socket replies with a reset. HTTP/1.1 permits
 * an interim response at any time. Nothing else is written on this connection while its request is
 * suspended. HTTP/1.0 has no interim response: there, a client such as nc -N, which ends its
 * sending side right after its request, is taken for one that waits. */
static bool client_waits(struct serve *s, struct client *c)
{
    static const char INTERIM[] = "HTTP/1.1 102 Processing\r\n\r\n";
    struct epoll_event ev = { .events = 0, .data.u64 = client_token(s, c) };

    if (c->probed || c->speaks_tls || c->request->stream.active)
        return false; /* an answer in progress permits no interim response; a TLS client that ends
                       * its sending side also stops reading */
    c->probed = true;
    if (c->request->received.http_1_0 ? clock_monotonic_ns() - c->since_ns >= HALF_CLOSE_NS
                                      : send(c->fd, INTERIM, sizeof(INTERIM) - 1,
                                             MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(INTERIM) - 1)
        return false;
    return epoll_ctl(s->net.epoll_fd, EPOLL_CTL_MOD, c->fd, &ev) == 0;
}

static void net_client_event(struct serve *s, uint64_t token, uint32_t events)
{
    size_t slot = token & UINT32_MAX;
    struct client *c;

    if (slot >= s->client_max)
        return;
    LOCK_SCOPE(&s->lock);
    c = &s->clients[slot];
    if (c->used && c->watching && client_token(s, c) == token) {
        if ((events & (EPOLLHUP | EPOLLERR)) || !client_waits(s, c)) {
            struct request *req = c->request;

            epoll_ctl(s->net.epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
            c->watching = false;
            req->left = true;
            s->stats.clients_left++;
            req->refs++;
            request_end_capture(req, /* keep= */ false);
            if (req->stream.active)
                stream_left(req);
            request_unref_locked(req);
        }
    }
}

/* ---- deadlines ---- */

/* Returns whether a client or a request may have a deadline before the next idle tick. */
static bool net_tick(struct serve *s)
{
    uint64_t now = clock_monotonic_ns(), idle_ns = s->opts.idle_timeout_s * NSEC_PER_SEC;
    bool busy;

    pthread_mutex_lock(&s->lock);
    busy = s->capturing || s->streams || s->whose.queue;
    for (size_t i = 0; i < s->client_max; i++) {
        struct client *c = &s->clients[i];
        struct request *req = c->request;

        if (!c->used)
            continue;
        busy = true;
        client_watch_reading(c, now);
        /* Another thread may have made it busy after @now was read. */
        if (!req && !c->closing && now > c->since_ns &&
            now - c->since_ns > (c->busy ? MAX(idle_ns, SERVE_SEND_MAX_NS) : idle_ns)) {
            s->stats.timed_out++;
            client_cut(c);
        }
        if (req && req->capture.counted && !req->capture.done) {
            if (now >= req->capture.give_up_ns)
                request_give_up_capture(req);
            else if (now >= req->capture.end_ns)
                request_end_capture(req, /* keep= */ true);
        }
    }
    review_tick(s, now);
    streams_tick(s, now);
    pthread_mutex_unlock(&s->lock);
    whose_tick(s, now);
    return busy;
}

/* ---- the thread ---- */

static void *net_run(void *cookie)
{
    struct serve *s = cookie;
    uint64_t next_tick = 0;
    bool busy = true;

    pthread_setname_np(pthread_self(), "flamed-net");
    for (;;) {
        struct epoll_event events[NET_EVENTS];
        int n =
            epoll_wait(s->net.epoll_fd, events, NET_EVENTS, busy ? NET_TICK_MS : NET_IDLE_TICK_MS);
        bool stop;

        busy |= n > 0;
        for (int i = 0; i < n; i++) {
            uint64_t token = events[i].data.u64;

            if (token == TOKEN_WAKE)
                continue;
            if ((token & TOKEN_LISTEN) == TOKEN_LISTEN)
                net_accept(s, token & UINT32_MAX);
            else
                net_client_event(s, token, events[i].events);
        }
        pthread_mutex_lock(&s->lock);
        stop = s->net.stop;
        pthread_mutex_unlock(&s->lock);
        if (stop)
            return NULL;
        if (clock_monotonic_ns() >= next_tick) {
            busy = net_tick(s);
            next_tick = clock_monotonic_ns() + NET_TICK_MS * NSEC_PER_MSEC / 2;
        }
    }
}

int net_start(struct serve *s, struct error *err)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.u64 = TOKEN_WAKE };
    int r;

    s->net.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->net.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->net.epoll_fd < 0 || s->net.wake_fd < 0 ||
        epoll_ctl(s->net.epoll_fd, EPOLL_CTL_ADD, s->net.wake_fd, &ev) < 0)
        return error_errno(err, "cannot make the event loop of the HTTP service");
    for (size_t i = 0; i < s->listen.count; i++) {
        ev.data.u64 = TOKEN_LISTEN | i;
        if (epoll_ctl(s->net.epoll_fd, EPOLL_CTL_ADD, s->listen.fds[i], &ev) < 0)
            return error_errno(err, "cannot wait for connections on a listening socket");
    }
    r = pthread_create(&s->net.thread, NULL, net_run, s);
    if (r != 0)
        return error_code(err, -r, "cannot start a thread of the HTTP service");
    s->net.started = true;
    return 0;
}

void net_stop(struct serve *s)
{
    uint64_t one = 1;

    if (!s->net.started)
        return;
    pthread_mutex_lock(&s->lock);
    s->net.stop = true;
    pthread_mutex_unlock(&s->lock);
    if (write(s->net.wake_fd, &one, sizeof(one)) < 0)
        log_debug_errno(-errno, "cannot wake the net thread"); /* it wakes at its next tick */
    pthread_join(s->net.thread, NULL);
    s->net.started = false;
}
