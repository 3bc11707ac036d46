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
            s->openers[s->opener_count++].late_fd = -1;
    }
}

void openers_stop(struct server *s)
{
    for (size_t i = 0; i < s->opener_count; i++) {
        s->openers[i].fd = close_fd(s->openers[i].fd);
        s->openers[i].late_fd = close_fd(s->openers[i].late_fd);
    }
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
    close_fd(o->late_fd);
    *o = s->openers[--s->opener_count];
}

/* Takes the answer that is there. 0 and *ret_fd (-1: it has none); -EPIPE: the opener is gone. */
static int take_answer(const struct opener *o, struct broker_answer *a, int *ret_fd)
{
    int fds[BROKER_FDS_MAX];
    size_t count = 0;
    ssize_t n = wire_receive(o->fd, a, sizeof(*a), fds, ARRAY_SIZE(fds), &count);

    *ret_fd = -1;
    for (size_t i = 0; i < count; i++) {
        if (n == sizeof(*a) && *ret_fd < 0)
            *ret_fd = fds[i];
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

        if (o->owner && is_readable(o->fd, 0)) {
            close_fd(o->late_fd);
            o->owner = 0;
            o->kept = take_answer(o, &o->late_answer, &o->late_fd) == 0;
            if (!o->kept) {
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

/* A free one; NULL: none is, or a file of @owner holds one already. */
static struct opener *find(struct server *s, uint64_t owner)
{
    struct opener *unused = NULL;

    for (size_t i = 0; i < s->opener_count; i++) {
        struct opener *o = &s->openers[i];

        if (!o->owner)
            unused = o;
        else if (o->owner == owner)
            return NULL;
    }
    return unused;
}

static bool same_request(const struct broker_request *a, const struct broker_request *b)
{
    return a->kind == b->kind && a->host_pid == b->host_pid && a->start_ticks == b->start_ticks &&
           a->start == b->start && a->end == b->end && a->name_n == b->name_n &&
           memcmp(a->name, b->name, sizeof(a->name)) == 0;
}

/* The answer that came too late to @q before; NULL: none did. */
static struct opener *find_kept(struct server *s, const struct broker_request *q, uint64_t now_ns)
{
    for (size_t i = 0; i < s->opener_count; i++) {
        if (s->openers[i].kept && same_request(&s->openers[i].late, q) &&
            now_ns - s->openers[i].late_ns < OPENER_KEEP_NS)
            return &s->openers[i];
    }
    return NULL;
}

/* Puts an opener's answer into the reply; @fd is taken. */
static int pass_on(const struct broker_answer *a, int fd, struct reply *rep)
{
    if (fd >= 0)
        reply_fd(rep, fd);
    if (a->result < 0) {
        error_set(&rep->err, a->result, "%s", a->failure.msg);
        if (a->failure.remedy[0])
            error_remedy(&rep->err, "%s", a->failure.remedy);
    }
    return a->result;
}

/* Asks @o and waits, at the expense of @patience. */
static int ask(struct server *s, struct opener *o, uint64_t owner, struct budget *patience,
               const struct broker_request *q, struct reply *rep)
{
    uint64_t began_ns = clock_monotonic_ns();
    struct broker_answer a;
    int fd = -1;

    if (wire_send(o->fd, q, sizeof(*q), NULL, 0) == 0) {
        bool there = is_readable(o->fd, OPENER_WAIT_NS);

        budget_spend(patience, clock_monotonic_ns() - began_ns);
        if (!there) {
            o->owner = owner;
            o->kept = false;
            o->late = *q;
            o->late_ns = began_ns;
            return refuse(q->host_pid, &rep->err);
        }
        if (take_answer(o, &a, &fd) == 0)
            return pass_on(&a, fd, rep);
    }
    forget(s, o);
    return error_set(&rep->err, -EIO, "an opener of flamed-broker has ended");
}

int openers_ask(struct server *s, const struct broker_request *q, struct reply *rep)
{
    struct proc_id id = { .host_pid = q->host_pid, .start_ticks = q->start_ticks };
    uint64_t owner = proc_owner(s->proc_fd, &id), now_ns = clock_monotonic_ns();
    struct budget *patience = patience_of(&s->patience, owner, now_ns);
    struct opener *o;

    take_back(s);
    o = find_kept(s, q, now_ns);
    if (o) {
        o->kept = false;
        return pass_on(&o->late_answer, take_fd(&o->late_fd), rep);
    }
    o = budget_has(patience, now_ns) ? find(s, owner) : NULL;
    return o ? ask(s, o, owner, patience, q, rep) : refuse(q->host_pid, &rep->err);
}
