/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/openers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/child.h"
#include "broker/lockdown.h"
#include "broker/wire.h"

#include <poll.h>
#include <unistd.h>

static int opener_main(int socket)
{
    struct error err = ERROR_NULL;
    struct server s;
    int r;

    r = server_init(&s, /* client= */ 0, &err);
    if (r == 0)
        r = opener_lockdown(&err);
    if (r < 0)
        return log_err_errno(r, "an opener cannot start: %s", err.msg);
    while (server_answer(&s, socket) == 0)
        ;
    server_deinit(&s);
    return 0;
}

void openers_start(struct server *s)
{
    for (size_t i = 0; i < OPENERS_MAX; i++) {
        int r = child_start("flamed-opener", opener_main, &s->openers[s->opener_count].fd);

        if (r < 0)
            log_err_errno(r, "an opener of files cannot be started");
        else
            s->opener_count++;
    }
}

void openers_stop(struct server *s)
{
    for (size_t i = 0; i < s->opener_count; i++)
        s->openers[i].fd = close_fd(s->openers[i].fd);
    s->opener_count = 0;
}

bool openers_take(const struct server *s, uint32_t kind)
{
    switch (kind) {
    case BROKER_HSPERFDATA:
    case BROKER_PERFMAP:
    case BROKER_MAPPED:
    case BROKER_DEBUG:
    case BROKER_DEBUGLINK:
        return s->opener_count > 0;
    default:
        return false;
    }
}

/* One that ended is not asked again: the last takes its place. */
static void forget(struct server *s, struct opener *o)
{
    log_err("an opener of files has ended");
    close_fd(o->fd);
    *o = s->openers[--s->opener_count];
}

/* Takes the answer that is there. 0; -EPIPE: the opener is gone. */
static int take_answer(const struct opener *o, struct broker_answer *a, struct reply *rep)
{
    int fds[BROKER_FDS_MAX];
    size_t count = 0;
    ssize_t n = wire_receive(o->fd, a, sizeof(*a), fds, ARRAY_SIZE(fds), &count);

    for (size_t i = 0; i < count; i++) {
        if (n == sizeof(*a) && rep->fd_count == 0)
            reply_fd(rep, fds[i]);
        else
            close_fd(fds[i]);
    }
    return n == sizeof(*a) ? 0 : -EPIPE;
}

static bool is_readable(int fd, uint64_t wait_ns)
{
    uint64_t deadline = clock_monotonic_ns() + wait_ns, now;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int r;

    do {
        now = clock_monotonic_ns();
        r = poll(&p, 1, now < deadline ? (int)((deadline - now) / NSEC_PER_MSEC) : 0);
    } while (r < 0 && errno == EINTR);
    return r != 0;
}

/* Takes back those whose file system has answered at last. */
static void take_back(struct server *s)
{
    for (size_t i = 0; i < s->opener_count;) {
        struct opener *o = &s->openers[i];
        struct reply late = { 0 };
        struct broker_answer a;

        if (o->host_pid && is_readable(o->fd, 0)) {
            int r = take_answer(o, &a, &late);

            close_fd(late.fd_count ? late.fds[0] : -1);
            o->host_pid = 0;
            if (r < 0) {
                forget(s, o);
                continue;
            }
        }
        i++;
    }
}

static int refuse(int32_t host_pid, struct error *err)
{
    error_set(err, -ETIMEDOUT, "a file of process %d lies on a file system that does not answer",
              host_pid);
    error_remedy(err, "see to its mounts (FUSE, NFS); what else is known of it is shown");
    return -ETIMEDOUT;
}

/* A free one; NULL: none is, or this process holds one already. */
static struct opener *find(struct server *s, const struct broker_request *q)
{
    struct opener *unused = NULL;

    take_back(s);
    for (size_t i = 0; i < s->opener_count; i++) {
        struct opener *o = &s->openers[i];

        if (!o->host_pid)
            unused = o;
        else if (o->host_pid == q->host_pid && o->start_ticks == q->start_ticks)
            return NULL;
    }
    return unused;
}

int openers_ask(struct server *s, const struct broker_request *q, struct reply *rep)
{
    struct opener *o = find(s, q);
    struct broker_answer a;

    if (!o)
        return refuse(q->host_pid, &rep->err);
    if (wire_send(o->fd, q, sizeof(*q), NULL, 0) == 0) {
        if (!is_readable(o->fd, OPENER_WAIT_NS)) {
            o->host_pid = q->host_pid;
            o->start_ticks = q->start_ticks;
            return refuse(q->host_pid, &rep->err);
        }
        if (take_answer(o, &a, rep) == 0) {
            if (a.result < 0) {
                error_set(&rep->err, a.result, "%s", a.failure.msg);
                if (a.failure.remedy[0])
                    error_remedy(&rep->err, "%s", a.failure.remedy);
            }
            return a.result;
        }
    }
    forget(s, o);
    return error_set(&rep->err, -EIO, "an opener of flamed-broker has ended");
}
