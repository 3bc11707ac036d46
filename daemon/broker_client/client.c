/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed's end of the socket: sends a request, receives its answer in one or more parts, and drops
 * a broker that ends, breaks the protocol or does not answer. The requests are in client_*.c.
 */
#include "broker_client/client.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lock.h"
#include "broker_client/wire.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define ANSWER_DEADLINE_NS (10 * NSEC_PER_SEC)

int broker_new(int fd, struct broker **ret)
{
    struct broker *b = calloc(1, sizeof(*b));

    if (!b) {
        close_fd(fd);
        return -ENOMEM;
    }
    pthread_mutex_init(&b->lock, NULL);
    b->fd = fd;
    *ret = b;
    return 0;
}

struct broker *broker_free(struct broker *b)
{
    if (!b)
        return NULL;
    if (b->tables)
        munmap(b->tables, BROKER_TABLES_BYTES);
    close_fd(b->fd);
    pthread_mutex_destroy(&b->lock);
    free(b);
    return NULL;
}

int broker_fd(const struct broker *b)
{
    return b->fd;
}

bool broker_lost(const struct broker *b)
{
    return atomic_load(&b->lost);
}

/* Writes to @err that the broker is lost, and that a repeated request may succeed. Returns
 * -ENOTCONN. */
static int say_lost(struct error *err, const char *why)
{
    error_set(err, -ENOTCONN, "the connection to flamed-broker is lost: %s", why);
    error_remedy(err, "flamed and its broker are being started again: ask again in a second");
    if (err)
        err->retry_s = 1;
    return -ENOTCONN;
}

/* Marks the broker as gone, without a way back: watchers of broker_fd() see the end. */
static int lose(struct broker *b, struct error *err, const char *why)
{
    atomic_store(&b->lost, true);
    shutdown(b->fd, SHUT_RDWR);
    return say_lost(err, why);
}

/* Writes to @err that flamed could not take a file. Returns -EMFILE. */
static int say_refused(struct error *err)
{
    error_set(err, -EMFILE,
              "flamed cannot take a file from flamed-broker: it has too many files "
              "open, or a security module refuses it this file");
    error_remedy(err, "raise flamed's hard limit of open files (ulimit -Hn)");
    return -EMFILE;
}

static void close_all(int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fds[i] = close_fd(fds[i]);
}

/* Waits until the socket is readable. Returns false at the deadline, unless a message arrived
 * before it while this thread was stalled. */
static bool wait_readable(int fd, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        uint64_t now = clock_monotonic_ns();
        bool late = now >= deadline_ns;
        int r = poll(&p, 1, late ? 0 : (int)((deadline_ns - now) / NSEC_PER_MSEC) + 1);

        if (r > 0)
            return true;
        if (late || (r < 0 && errno != EINTR))
            return false;
    }
}

/* Receives one message of the answer to @q and appends its fds to @fds. Returns 0; -EMFILE if
 * flamed could not take the fds, which are -1 then; or -ENOTCONN with all of @fds closed. */
static int receive_part(struct broker *b, const struct broker_request *q, uint64_t deadline_ns,
                        struct broker_answer *a, int *fds, size_t fds_max, size_t *count,
                        struct error *err)
{
    struct broker_answer raw = { 0 };
    const char *why = "it sent no valid answer";
    int got[BROKER_FDS_MAX];
    size_t got_count = 0;
    bool refused;
    ssize_t n;

    if (!wait_readable(b->fd, deadline_ns)) {
        why = "it did not answer within 10 s";
    } else {
        n = wire_receive(b->fd, &raw, sizeof(raw), got, ARRAY_SIZE(got), &got_count);
        if (n == 0 || n == -ECONNRESET) /* reset: the broker has not read a request */
            why = "it has ended";
        refused = n == -EMFILE;
        if (refused) {
            n = sizeof(raw);
            got_count = MIN(raw.fd_count, ARRAY_SIZE(got));
            memset(got, -1, sizeof(got));
        }
        if (n > 0 && broker_answer_check(&raw, (size_t)n, got_count, q, *count, a) == 0 &&
            *count + got_count <= fds_max) {
            if (got_count)
                memcpy(fds + *count, got, got_count * sizeof(*got));
            *count += got_count;
            return refused ? -EMFILE : 0;
        }
    }
    close_all(got, got_count);
    close_all(fds, *count);
    return lose(b, err, why);
}

int client_call_locked(struct broker *b, struct broker_request *q, struct broker_answer *a,
                       int *fds, size_t fds_max, size_t *ret_count, struct error *err)
{
    uint64_t deadline_ns = clock_monotonic_ns() + ANSWER_DEADLINE_NS;
    size_t count = 0;
    bool refused = false;
    int r;

    *a = (struct broker_answer){ 0 };
    if (atomic_load(&b->lost))
        return say_lost(err, "it has ended");
    q->version = BROKER_WIRE_VERSION;
    q->seq = ++b->seq;
    r = wire_send(b->fd, q, sizeof(*q), NULL, 0);
    if (r < 0)
        return lose(b, err, "it has ended");
    do {
        r = receive_part(b, q, deadline_ns, a, fds, fds_max, &count, err);
        if (r < 0 && r != -EMFILE)
            return r;
        refused = refused || r == -EMFILE;
    } while (a->more);
    if (refused) {
        close_all(fds, count);
        return say_refused(err);
    }
    if (a->result < 0) {
        error_set(err, a->result, "%s", a->body.failure.msg);
        if (a->body.failure.remedy[0])
            error_remedy(err, "%s", a->body.failure.remedy);
    }
    if (a->result == 0)
        *ret_count = count;
    return a->result;
}

int client_call(struct broker *b, struct broker_request *q, struct broker_answer *a, int *fds,
                size_t fds_max, size_t *ret_count, struct error *err)
{
    const struct target_fields *target = &q->fields.target;
    const struct proc_id id = { .host_pid = target->host_pid, .start_ticks = target->start_ticks };

    if (broker_request_info(q->kind)->of_target && broker_is_quarantined(b, &id, NULL))
        return broker_refuse_quarantined(&id, err);
    LOCK_SCOPE(&b->lock);
    return client_call_locked(b, q, a, fds, fds_max, ret_count, err);
}

int client_call_plain(struct broker *b, struct broker_request *q, struct broker_answer *a,
                      struct error *err)
{
    size_t count = 0;

    return client_call(b, q, a, NULL, 0, &count, err);
}

int client_do(struct broker *b, struct broker_request q, struct error *err)
{
    struct broker_answer a;

    return client_call_plain(b, &q, &a, err);
}

int client_call_file(struct broker *b, struct broker_request *q, struct broker_answer *a,
                     int *ret_fd, struct error *err)
{
    size_t count = 0;
    int fd = -1, r = client_call(b, q, a, &fd, 1, &count, err);

    if (r == 0)
        *ret_fd = fd;
    return r;
}

int client_open(struct broker *b, struct broker_request q, int *ret_fd, struct error *err)
{
    struct broker_answer a;

    return client_call_file(b, &q, &a, ret_fd, err);
}

int client_put_name(char *field, size_t size, struct span name, struct error *err)
{
    if (name.n == 0 || name.n >= size)
        return error_set(err, -EINVAL, "a name for flamed-broker has 1 to %zu bytes, not %zu",
                         size - 1, name.n);
    memcpy(field, name.p, name.n);
    return 0;
}
