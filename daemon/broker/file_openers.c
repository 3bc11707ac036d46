/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/file_openers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "broker_client/wire.h"
#include "privileged/child.h"
#include "privileged/lockdown.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>

#define FORK_PAUSE_NS NSEC_PER_SEC

/* The kernel shows cgroup paths relative to the reader's cgroup namespace, and a pod has its own.
 * An opener that may not enter the host's cgroup namespace sees paths that begin with "/..", which
 * are not looked up. The broker and the processes that it starts in containers keep their own
 * namespace. */
static void enter_cgroup_ns(void)
{
    _cleanup_close_ int fd = open("/proc/1/ns/cgroup", O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && setns(fd, CLONE_NEWCGROUP) < 0)
        log_debug_errno(-errno, "cannot enter the host's cgroup namespace");
}

static opener_look_fn look; /* of openers; set before they are forked */

static int opener_main(int socket)
{
    struct error err = ERROR_NULL;
    struct server s;
    int r;

    enter_cgroup_ns(); /* fails, without harm, if the nursery has already entered it */
    r = server_init(&s, /* client= */ 0, &err);
    s.look = look;
    if (r == 0)
        r = opener_lockdown(&err);
    if (r < 0)
        return log_err_errno(r, "a process that opens files cannot start: %s", err.msg);
    while (server_answer(&s, socket) == 0)
        ;
    server_deinit(&s);
    return 0;
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

/* Forks an opener for each byte received, and sends its pid and the broker's end of its socket; a
 * pid < 0 alone if that failed. Ends with the broker. */
static int nursery_main(int socket)
{
    struct error err = ERROR_NULL;
    char byte;
    pid_t pid;
    int r;

    enter_cgroup_ns();
    r = nursery_lockdown(&err);
    if (r < 0)
        return log_err_errno(r, "the process that starts file openers cannot start: %s", err.msg);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    while (wire_receive(socket, &byte, 1, NULL, 0, NULL) == 1) {
        int fd = -1;

        pid = child_start("flamed-opener", opener_main, &fd);
        if (pid < 0 || wire_send(socket, &pid, sizeof(pid), &fd, 1) < 0) {
            pid = -1;
            wire_send(socket, &pid, sizeof(pid), NULL, 0);
        }
        close_fd(fd);
    }
    return 0;
}

/* Adds the opener @pid with the socket @fd, which it takes. */
static void add(struct server *s, pid_t pid, int fd)
{
    s->openers[s->opener_count++] = (struct opener){ .pid = pid, .fd = fd, .late_fd = -1 };
}

void file_openers_start(struct server *s, opener_look_fn fn)
{
    int r;

    look = fn;
    r = child_start("flamed-nursery", nursery_main, &s->nursery.fd);

    if (r < 0)
        log_err_errno(r, "the process that starts file openers cannot be started");
    for (size_t i = 0; i < OPENERS_AT_FIRST; i++) {
        int fd = -1;

        r = child_start("flamed-opener", opener_main, &fd);
        if (r < 0)
            log_err_errno(r, "a process that opens files cannot be started");
        else
            add(s, r, fd);
    }
    s->has_openers = s->opener_count || s->nursery.fd >= 0;
}

static void lose_nursery(struct server *s)
{
    log_err("the process that starts file openers has ended");
    s->nursery.fd = close_fd(s->nursery.fd);
}

/* Adds the opener that the nursery has sent. If it could not fork one, or we have no descriptor
 * left for it, the next request waits. */
static void take_new(struct server *s)
{
    size_t count = 0;
    int fd = -1;
    pid_t pid = -1;
    ssize_t n = wire_receive(s->nursery.fd, &pid, sizeof(pid), &fd, 1, &count);

    s->nursery.asked = false;
    if (n == sizeof(pid) && count == 1)
        add(s, pid, fd);
    else if (n == sizeof(pid) || n == -EMFILE)
        s->nursery.again_ns = clock_monotonic_ns() + FORK_PAUSE_NS;
    else
        lose_nursery(s);
}

static void ask_for_one(struct server *s)
{
    int r = wire_send(s->nursery.fd, "+", 1, NULL, 0);

    s->nursery.asked = r == 0;
    if (r == -EPIPE || r == -ECONNRESET)
        lose_nursery(s);
}

static size_t count_free(const struct server *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->opener_count; i++)
        n += !s->openers[i].owner;
    return n;
}

/* Returns true if fewer openers are free than at the start, and there may be more of them. */
static bool are_too_few(const struct server *s)
{
    return s->nursery.fd >= 0 && count_free(s) < OPENERS_AT_FIRST && s->opener_count < OPENERS_MAX;
}

int file_openers_check(const struct server *s, struct error *err)
{
    if (!s->has_openers || s->nursery.fd >= 0 || count_free(s))
        return 0;
    return error_set(err, -ECHILD,
                     "no process is left that opens files, nor the one that starts them: "
                     "flamed-broker ends, to be started again with them");
}

/* Adds a requested opener once the nursery has sent it. Requests another one if there are too
 * few. */
static void replenish(struct server *s)
{
    if (s->nursery.asked && is_readable(s->nursery.fd, 0))
        take_new(s);
    if (!s->nursery.asked && are_too_few(s) && clock_monotonic_ns() >= s->nursery.again_ns)
        ask_for_one(s);
}

void file_openers_stop(struct server *s)
{
    s->nursery.fd = close_fd(s->nursery.fd);
    for (size_t i = 0; i < s->opener_count; i++) {
        s->openers[i].fd = close_fd(s->openers[i].fd);
        s->openers[i].late_fd = close_fd(s->openers[i].late_fd);
    }
    s->opener_count = 0;
}

bool file_openers_take(const struct server *s, uint32_t kind)
{
    switch (kind) {
    case BROKER_MAPS:
    case BROKER_MEM:
    case BROKER_PAGEMAP:
    case BROKER_SERVICE_WORDS:
    case BROKER_TRACER_INFO:
    case BROKER_PROGRAM_JAR:
    case BROKER_CGROUP:
    case BROKER_HSPERFDATA:
    case BROKER_PERFMAP:
    case BROKER_MAPPED:
    case BROKER_DEBUG:
    case BROKER_DEBUG_SHARED:
    case BROKER_DEBUGLINK:
        return s->has_openers;
    default:
        return false;
    }
}

/* Removes an opener that has ended, and moves the last opener to its place. */
static void forget(struct server *s, struct opener *o)
{
    log_err("a process that opens files has ended");
    close_fd(o->fd);
    close_fd(o->late_fd);
    *o = s->openers[--s->opener_count];
}

/* Receives an answer that has arrived. 0 and *ret_fd (-1: the answer has no fd); -EMFILE: we have
 * no descriptor left for its fd, which the kernel closed; -EPIPE: the opener is gone. */
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
    if (n == -EMFILE)
        return -EMFILE;
    return n == sizeof(*a) ? 0 : -EPIPE;
}

static void drop_late(struct opener *o)
{
    o->late_fd = close_fd(o->late_fd);
    o->kept = false;
}

/* Takes the late answer of @o. A copy counts as given (given.h) as long as it is kept. Return: as
 * take_answer(); -EDQUOT: flamed has too many, or the copies of late answers take too much. */
static int take_late(struct server *s, struct opener *o)
{
    int r = take_answer(o, &o->late_answer, &o->late_fd);

    if (r == 0 && o->late_fd >= 0)
        r = given_take(&s->given, &o->late_fd, 1, GIVEN_LATE_BYTES_MAX, /* err= */ NULL);
    o->kept = true;
    if (r < 0)
        drop_late(o);
    return r;
}

/* Frees the openers that have answered late, and stores their answers. Drops the answers to
 * requests that are older than OPENER_KEEP_NS. */
static void take_back(struct server *s)
{
    uint64_t now_ns = clock_monotonic_ns();

    for (size_t i = 0; i < s->opener_count;) {
        struct opener *o = &s->openers[i];

        if (o->owner && is_readable(o->fd, 0)) {
            o->owner = 0;
            if (take_late(s, o) == -EPIPE) {
                forget(s, o);
                continue;
            }
        }
        if (o->kept && now_ns - o->late_ns >= OPENER_KEEP_NS)
            drop_late(o);
        i++;
    }
}

void file_openers_tend(struct server *s)
{
    take_back(s);
    replenish(s);
}

bool file_openers_need_tending(const struct server *s)
{
    return are_too_few(s) || ANY_OF(i, s->opener_count, s->openers[i].owner || s->openers[i].kept);
}

/* Returns true if the kernel answers requests of @kind without the memory or a file of the
 * process. */
static bool is_of_proc(uint32_t kind)
{
    return kind == BROKER_MAPS || kind == BROKER_MEM || kind == BROKER_PAGEMAP ||
           kind == BROKER_CGROUP || kind == OPENER_LOOK_AGENT || kind == OPENER_LOOK_JVM;
}

static int refuse(const struct broker_request *q, struct error *err)
{
    int32_t host_pid = q->fields.target.host_pid;

    if (q->kind == BROKER_CGROUP) {
        error_set(err, -ETIMEDOUT,
                  "the kernel does not answer in time for the cgroup of process %d", host_pid);
        error_remedy(err, "ask again in some seconds");
        return -ETIMEDOUT;
    }
    if (is_of_proc(q->kind) && q->kind != BROKER_MEM) {
        error_set(err, -ETIMEDOUT, "the kernel does not answer in time what process %d maps",
                  host_pid);
        error_remedy(err, "ask again in some seconds; if it stays, check its mounts (FUSE, NFS), "
                          "and whether it maps and unmaps memory all the time");
        return -ETIMEDOUT;
    }
    error_set(err, -ETIMEDOUT, "a file of process %d lies on a file system that does not answer",
              host_pid);
    error_remedy(err, "check its mounts (FUSE, NFS); flamed shows what it knows without that file");
    return -ETIMEDOUT;
}

static int refuse_without_openers(struct error *err)
{
    error_set(err, -EAGAIN, "no process of flamed-broker is left that opens files");
    error_remedy(err, "ask again in a second: others are being started");
    return -EAGAIN;
}

/* Finds a free opener for a request of @kind. Returns NULL if none is free, or if an earlier
 * request for @owner still blocks an opener. If that request is for a file, requests that are
 * is_of_proc() are still possible. */
static struct opener *find(struct server *s, uint64_t owner, uint32_t kind)
{
    struct opener *unused = NULL;

    for (size_t i = 0; i < s->opener_count; i++) {
        struct opener *o = &s->openers[i];

        if (!o->owner)
            unused = o;
        else if (o->owner == owner && (!is_of_proc(kind) || is_of_proc(o->late.kind)))
            return NULL;
    }
    return unused;
}

static bool same_request(const struct broker_request *a, const struct broker_request *b)
{
    return a->kind == b->kind && memcmp(&a->fields, &b->fields, sizeof(a->fields)) == 0;
}

/* Finds the opener that keeps a late answer to a request equal to @q; NULL: none. */
static struct opener *find_kept(struct server *s, const struct broker_request *q)
{
    return FIRST_OF(i, s->openers, s->opener_count,
                    s->openers[i].kept && same_request(&s->openers[i].late, q));
}

/* Copies an opener's answer into the reply, which takes @fd. */
static int pass_on(const struct broker_answer *a, int fd, struct reply *rep)
{
    if (fd >= 0)
        reply_fd(rep, fd);
    rep->body = a->body;
    if (a->result < 0) {
        error_set(&rep->err, a->result, "%s", a->body.failure.msg);
        if (a->body.failure.remedy[0])
            error_remedy(&rep->err, "%s", a->body.failure.remedy);
    }
    return a->result;
}

#define NS_PER_TICK (NSEC_PER_SEC / 100) /* of /proc: 100 ticks per second */

/* Returns true if @o computes or waits for a processor, and so is not blocked by a file. Gets its
 * processor time so far. */
static bool is_runnable(const struct server *s, const struct opener *o, uint64_t *ret_cpu_ns)
{
    struct proc_stat stat;

    if (proc_read_stat(s->proc_fd, o->pid, &stat) != 0)
        return false;
    *ret_cpu_ns = (stat.utime_ticks + stat.stime_ticks) * NS_PER_TICK;
    return stat.state == 'R';
}

/* Waits for an answer of @o: @wait_ns, and longer while @o is runnable. Returns true if an answer
 * is there. *ret_ns: the time that the wait is charged with. Waiting longer is not the owner's
 * fault if @o has no processor, so then only the processor time of @o counts. */
static bool wait_for_answer(const struct server *s, const struct opener *o, uint64_t wait_ns,
                            uint64_t *ret_ns)
{
    uint64_t began_ns = clock_monotonic_ns(), first_ns = 0, cpu_ns;
    bool there = is_readable(o->fd, wait_ns);

    *ret_ns = MIN(clock_monotonic_ns() - began_ns, wait_ns);
    if (there || !is_runnable(s, o, &first_ns))
        return there;
    cpu_ns = first_ns;
    do
        there = is_readable(o->fd, wait_ns);
    while (is_runnable(s, o, &cpu_ns) && !there &&
           clock_monotonic_ns() < began_ns + OPENER_TURN_NS);
    *ret_ns += cpu_ns - first_ns;
    return there;
}

/* Sends @q to @o and waits for the answer. The wait is charged to @left, the owner's budget. */
static int ask(struct server *s, struct opener *o, uint64_t owner, struct budget *left,
               const struct broker_request *q, struct reply *rep)
{
    uint64_t began_ns = clock_monotonic_ns(), charged_ns;
    struct broker_answer a;
    int fd = -1, r = -EPIPE;

    if (wire_send(o->fd, q, sizeof(*q), NULL, 0) == 0) {
        uint64_t wait_ns = is_of_proc(q->kind) ? OPENER_WAIT_PROC_NS : OPENER_WAIT_NS;
        bool there = wait_for_answer(s, o, wait_ns, &charged_ns);

        budget_spend(left, charged_ns);
        if (!there) {
            drop_late(o);
            o->owner = owner;
            o->late = *q;
            o->late_ns = began_ns;
            return refuse(q, &rep->err);
        }
        r = take_answer(o, &a, &fd);
        if (r == 0)
            return pass_on(&a, fd, rep);
    }
    if (r == -EMFILE)
        return error_code(&rep->err, r, "flamed-broker cannot take a file of process %d",
                          q->fields.target.host_pid);
    forget(s, o);
    return error_set(&rep->err, -EIO, "a process of flamed-broker that opens files has ended");
}

/* Gets an answer to @q from an opener. Unless @fresh, a late answer to an earlier request is
 * accepted. */
static int ask_any(struct server *s, const struct broker_request *q, bool fresh, struct reply *rep)
{
    const struct target_fields *of = &q->fields.target;
    struct proc_id id = { .host_pid = of->host_pid, .start_ticks = of->start_ticks };
    uint64_t owner = server_owner(s, &id), now_ns = clock_monotonic_ns();
    struct budget *left = owner_budget_of(&s->owners.budgets, owner, now_ns);
    struct opener *o;
    bool deep = q->kind == BROKER_MEM || q->kind == BROKER_PAGEMAP ||
                q->kind == BROKER_SERVICE_WORDS || q->kind == BROKER_TRACER_INFO ||
                q->kind == BROKER_PROGRAM_JAR;
    int r = deep ? server_refuse_own(s, of->host_pid, &rep->err) : 0;

    if (r < 0) /* checked here, because an opener does not know all of our own processes */
        return r;
    take_back(s);
    replenish(s);
    o = fresh ? NULL : find_kept(s, q);
    if (o) {
        o->kept = false;
        return pass_on(&o->late_answer, take_fd(&o->late_fd), rep);
    }
    if (!s->opener_count)
        return refuse_without_openers(&rep->err);
    o = budget_has(left, now_ns) ? find(s, owner, q->kind) : NULL;
    return o ? ask(s, o, owner, left, q, rep) : refuse(q, &rep->err);
}

int file_openers_ask(struct server *s, const struct broker_request *q, struct reply *rep)
{
    return ask_any(s, q, /* fresh= */ false, rep);
}

int file_openers_look(struct server *s, const struct broker_request *q, struct reply *rep)
{
    return ask_any(s, q, /* fresh= */ true, rep);
}

/* Makes a request only to get its error. Accepts no late answer: the process may have begun another
 * exec since, with another program, or one that does not end. */
static int ask_whether(struct server *s, uint32_t kind, const struct target_fields *of,
                       struct error *err)
{
    const struct broker_request q = { .version = BROKER_WIRE_VERSION,
                                      .kind = kind,
                                      .fields.target = *of };
    struct reply rep = { 0 };
    int r = ask_any(s, &q, /* fresh= */ true, &rep);

    for (size_t i = 0; i < rep.fd_count; i++)
        close_fd(rep.fds[i]);
    if (r < 0)
        *err = rep.err;
    return r;
}

int file_openers_check_jvm(struct server *s, const struct target_fields *of, struct error *err)
{
    return ask_whether(s, BROKER_MEM, of, err);
}

int file_openers_try(struct server *s, const struct broker_request *q, struct error *err)
{
    struct error why = ERROR_NULL;
    int r;

    if (!broker_request_info(q->kind)->of_target || !file_openers_take(s, BROKER_MAPS))
        return 0;
    r = ask_whether(s, BROKER_MAPS, &q->fields.target, &why);
    if (r != -ETIMEDOUT && r != -EAGAIN)
        return 0; /* the request that follows reports the error */
    *err = why;
    return r;
}
