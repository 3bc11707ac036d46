/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/file_openers.h"
#include "broker/target/agent_files.h"
#include "broker/target/owner_files.h"
#include "broker_client/wire.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define SERVER_TEND_NS NSEC_PER_SEC
#define SERVER_LOOK_SECONDS 9                     /* shorter than the client waits for an answer */
#define PID_NS_INITIAL_INODE UINT64_C(0xeffffffc) /* fixed in the kernel: PROC_PID_INIT_INO */

int server_init(struct server *s, pid_t client, struct error *err)
{
    struct stat st;

    *s = (struct server){
        .proc_fd = -1,
        .host_root_fd = -1,
        .pid_ns_fd = -1,
        .pins_fd = -1,
        .launcher_fd = -1,
        .nursery.fd = -1,
    };
    s->self = getpid();
    s->client = client;
    s->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->proc_fd < 0)
        return error_errno(err, "cannot open /proc");
    s->pid_ns_fd = openat(s->proc_fd, "self/ns/pid", O_RDONLY | O_CLOEXEC);
    if (s->pid_ns_fd < 0 || fstat(s->pid_ns_fd, &st) < 0)
        return error_errno(err, "cannot open /proc/self/ns/pid: is /proc mounted?");
    s->initial_pid_ns = st.st_ino == PID_NS_INITIAL_INODE;
    if (s->initial_pid_ns) {
        s->pid_ns_fd = close_fd(s->pid_ns_fd);
        /* Our own mount namespace may lack files of the host: a unit's PrivateTmp, a pod's image.
         */
        s->host_root_fd = openat(s->proc_fd, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    if (s->host_root_fd < 0)
        s->host_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->host_root_fd < 0)
        return error_errno(err, "cannot open the root directory");
    return 0;
}

int server_open_kallsyms(const struct server *s)
{
    int fd = openat(s->host_root_fd, "proc/kallsyms", O_RDONLY | O_CLOEXEC);

    return fd < 0 ? openat(s->proc_fd, "kallsyms", O_RDONLY | O_CLOEXEC) : fd;
}

void server_deinit(struct server *s)
{
    server_forget_client(s);
    hooker_end(s->hooker);
    s->proc_fd = close_fd(s->proc_fd);
    s->host_root_fd = close_fd(s->host_root_fd);
    s->pid_ns_fd = close_fd(s->pid_ns_fd);
    s->pins_fd = close_fd(s->pins_fd);
    s->launcher_fd = close_fd(s->launcher_fd);
    file_openers_stop(s);
    s->agents = agents_free(s->agents);
    s->owner_files = owner_files_free(s->owner_files);
    s->walk.holders = holders_free(s->walk.holders);
    given_deinit(&s->given);
}

void server_forget_tables(struct server *s)
{
    if (s->tables)
        munmap((void *)(uintptr_t)s->tables, BROKER_TABLES_BYTES);
    s->tables = NULL;
}

void sideband_forget(struct server_sideband *e)
{
    if (e->fd > 0)
        close_fd(e->fd);
    *e = (struct server_sideband){ 0 };
}

static void forget_sideband(struct server *s)
{
    for (size_t i = 0; i < ARRAY_SIZE(s->sampling.sideband); i++)
        sideband_forget(&s->sampling.sideband[i]);
}

void server_forget_client(struct server *s)
{
    server_forget_tables(s);
    forget_sideband(s);
    loader_drop(s->loader);
    s->sampling.sampler = sampler_free(s->sampling.sampler);
    s->sampling.state = SAMPLER_UNASKED;
    s->sampling.error = ERROR_NULL;
    memset(s->sampling.program_states, 0, sizeof(s->sampling.program_states)); /* SAMPLER_UNASKED */
    memset(s->sampling.program_errors, 0, sizeof(s->sampling.program_errors));
    s->sampling.again = (struct load_again){ 0 };
    memset(s->sampling.program_again, 0, sizeof(s->sampling.program_again));
    s->sampling.max_frames = 0;
}

int server_tend(struct server *s)
{
    uint64_t now_ns;

    if (!s->sampling.sampler && !s->given.count && !file_openers_need_tending(s))
        return -1;
    now_ns = clock_monotonic_ns();
    if (now_ns - s->tended_ns >= SERVER_TEND_NS) {
        s->tended_ns = now_ns;
        file_openers_tend(s);
        given_forget_closed(&s->given);
        if (s->sampling.sampler)
            sampler_follow_cpus(s->sampling.sampler);
    }
    return (int)(SERVER_TEND_NS / NSEC_PER_MSEC);
}

/* Sends the reply in as many messages as its fds need. */
static int reply_send(int fd, const struct broker_request *q, int result, const struct reply *rep)
{
    struct broker_answer a = {
        .version = BROKER_WIRE_VERSION,
        .kind = q->kind,
        .seq = q->seq,
        .result = result,
        .body = rep->body,
    };
    size_t sent = 0;
    int r;

    if (result < 0) {
        a.body = (union broker_body){ 0 };
        snprintf(a.body.failure.msg, sizeof(a.body.failure.msg), "%s", rep->err.msg);
        snprintf(a.body.failure.remedy, sizeof(a.body.failure.remedy), "%s", rep->err.remedy);
    }
    do {
        size_t n = result == 0 ? MIN(rep->fd_count - sent, (size_t)BROKER_FDS_MAX) : 0;

        a.fd_count = (uint32_t)n;
        a.more = result == 0 && sent + n < rep->fd_count;
        r = wire_send(fd, &a, sizeof(a), rep->fds + sent, n);
        if (r < 0)
            return r;
        sent += n;
    } while (a.more);
    return 0;
}

/* Ends the broker, which is then started again, after @seconds. For the case that its own look at a
 * process blocks in the kernel, on an exec that began after file_openers_try(). */
static void set_deadline(time_t seconds)
{
    const struct itimerval t = { .it_value = { .tv_sec = seconds } };

    setitimer(ITIMER_REAL, &t, NULL);
}

static int dispatch(struct server *s, const struct broker_request *q, struct reply *rep)
{
    switch (q->kind) {
#define REQUEST(number, id, name, type, answer, fds)                                               \
    case (number):                                                                                 \
        return request_##name(s, &q->fields.name, rep);
#include "broker_client/requests.def"
#undef REQUEST
    default:
        return -EOPNOTSUPP;
    }
}

static int call(struct server *s, const struct broker_request *q, struct reply *rep)
{
    /* An opener may wait. */
    bool looks = broker_request_info(q->kind)->of_target && s->has_openers;
    int r;

    if (looks)
        set_deadline(SERVER_LOOK_SECONDS);
    r = dispatch(s, q, rep);
    if (looks)
        set_deadline(0);
    return r;
}

/* Checks and answers the message @raw. */
static int answer(struct server *s, const void *raw, size_t n, struct broker_request *q,
                  struct reply *rep)
{
    int r;

    if (s->look && s->look(s, raw, n, q, rep, &r))
        return r;
    r = broker_request_check(raw, n, q, &rep->err);
    if (r < 0) {
        if (log_limit())
            log_warn("refused a request: %s", rep->err.msg);
        return r;
    }
    r = file_openers_take(s, q->kind) ? file_openers_ask(s, q, rep)
                                      : file_openers_try(s, q, &rep->err);
    if (r == 0 && !file_openers_take(s, q->kind))
        r = call(s, q, rep);
    if (r < 0 && !rep->err.msg[0])
        error_code(&rep->err, r, "%s", broker_request_info(q->kind)->name);
    log_debug("request=%s host_pid=%d result=%d", broker_request_info(q->kind)->name,
              broker_request_info(q->kind)->of_target ? q->fields.target.host_pid : 0, r);
    return r;
}

int server_answer(struct server *s, int fd)
{
    struct broker_request q = { 0 };
    struct reply rep = { 0 };
    uint8_t raw[sizeof(q)];
    ssize_t n;
    int r;

    /* No room for fds is given: the kernel closes what a client attaches. */
    n = wire_receive(fd, raw, sizeof(raw), NULL, 0, NULL);
    if (n <= 0)
        return n == 0 || n == -ECONNRESET ? 1 : (int)n;
    r = answer(s, raw, (size_t)n, &q, &rep);
    if (r == 0 && !s->look)
        r = given_take(&s->given, rep.fds, rep.fd_count, GIVEN_BYTES_MAX, &rep.err);
    r = reply_send(fd, &q, r, &rep);
    for (size_t i = 0; i < rep.fd_count; i++)
        close_fd(rep.fds[i]);
    return r == -EPIPE || r == -ECONNRESET ? 1 : r;
}
