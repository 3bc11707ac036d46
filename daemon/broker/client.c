/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/requests.h"
#include "broker/wire.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define ANSWER_DEADLINE_NS (10 * NSEC_PER_SEC)

struct broker {
    pthread_mutex_t lock; /* held from a request until its answer: one at a time */
    int fd;               /* stays open (and readable: EOF) until broker_free(), lost or not */
    atomic_bool lost;
    uint32_t seq;
    void *tables; /* memory shared with the broker, BROKER_TABLES_BYTES; NULL until it is needed */
};

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

/* From here on the peer is gone for good: whoever watches broker_fd() sees its end. */
static int lose(struct broker *b, struct error *err, const char *why)
{
    atomic_store(&b->lost, true);
    shutdown(b->fd, SHUT_RDWR);
    return error_set(err, -ENOTCONN, "the connection to flamed-broker is lost: %s", why);
}

static void close_all(int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fds[i] = close_fd(fds[i]);
}

/* Waits until the socket is readable. False at the deadline. */
static bool wait_readable(int fd, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        uint64_t now = clock_monotonic_ns();
        int r;

        if (now >= deadline_ns)
            return false;
        r = poll(&p, 1, (int)((deadline_ns - now) / NSEC_PER_MSEC) + 1);
        if (r > 0)
            return true;
        if (r < 0 && errno != EINTR)
            return false;
    }
}

/* One message of the answer to @q; its fds are appended to @fds. 0, or -ENOTCONN with everything of
 * @fds closed. */
static int receive_part(struct broker *b, const struct broker_request *q, uint64_t deadline_ns,
                        struct broker_answer *a, int *fds, size_t fds_max, size_t *count,
                        struct error *err)
{
    struct broker_answer raw;
    const char *why = "it sent what is no answer";
    int got[BROKER_FDS_MAX];
    size_t got_count = 0;
    ssize_t n;

    if (!wait_readable(b->fd, deadline_ns)) {
        why = "it did not answer within 10 s";
    } else {
        n = wire_receive(b->fd, &raw, sizeof(raw), got, ARRAY_SIZE(got), &got_count);
        if (n == 0)
            why = "it has ended";
        if (n > 0 && broker_answer_check(&raw, (size_t)n, got_count, q, *count, a) == 0 &&
            *count + got_count <= fds_max) {
            if (got_count)
                memcpy(fds + *count, got, got_count * sizeof(*got));
            *count += got_count;
            return 0;
        }
    }
    close_all(got, got_count);
    close_all(fds, *count);
    return lose(b, err, why);
}

static int call_locked(struct broker *b, struct broker_request *q, struct broker_answer *a,
                       int *fds, size_t fds_max, size_t *ret_count, struct error *err)
{
    uint64_t deadline_ns = clock_monotonic_ns() + ANSWER_DEADLINE_NS;
    size_t count = 0;
    int r;

    *a = (struct broker_answer){ 0 };
    if (atomic_load(&b->lost))
        return error_set(err, -ENOTCONN, "the connection to flamed-broker is lost");
    q->version = BROKER_WIRE_VERSION;
    q->seq = ++b->seq;
    r = wire_send(b->fd, q, sizeof(*q), NULL, 0);
    if (r < 0)
        return lose(b, err, "it has ended");
    do {
        r = receive_part(b, q, deadline_ns, a, fds, fds_max, &count, err);
        if (r < 0)
            return r;
    } while (a->more);
    if (a->result < 0) {
        error_set(err, a->result, "%s", a->failure.msg);
        if (a->failure.remedy[0])
            error_remedy(err, "%s", a->failure.remedy);
    }
    if (a->result == 0)
        *ret_count = count;
    return a->result;
}

/* Asks @q. The answer's result; its fds (on 0) are the caller's. */
static int call(struct broker *b, struct broker_request *q, struct broker_answer *a, int *fds,
                size_t fds_max, size_t *ret_count, struct error *err)
{
    int r;

    pthread_mutex_lock(&b->lock);
    r = call_locked(b, q, a, fds, fds_max, ret_count, err);
    pthread_mutex_unlock(&b->lock);
    return r;
}

static int call_plain(struct broker *b, struct broker_request *q, struct broker_answer *a,
                      struct error *err)
{
    size_t count = 0;

    return call(b, q, a, NULL, 0, &count, err);
}

static int call_file(struct broker *b, struct broker_request *q, int *ret_fd, struct error *err)
{
    struct broker_answer a;
    size_t count = 0;
    int fd = -1, r;

    r = call(b, q, &a, &fd, 1, &count, err);
    if (r == 0)
        *ret_fd = fd;
    return r;
}

static struct broker_request request_of(uint32_t kind)
{
    return (struct broker_request){ .kind = kind };
}

static struct broker_request request_target(uint32_t kind, const struct proc_id *id)
{
    return (struct broker_request){
        .kind = kind,
        .host_pid = id->host_pid,
        .start_ticks = id->start_ticks,
    };
}

static int request_name(struct broker_request *q, const void *name, size_t n, struct error *err)
{
    if (n == 0 || n > BROKER_NAME_MAX)
        return error_set(err, -EINVAL, "a name for flamed-broker has 1 to %d bytes, not %zu",
                         BROKER_NAME_MAX, n);
    memcpy(q->name, name, n);
    q->name_n = (uint32_t)n;
    return 0;
}

int broker_facts(struct broker *b, struct broker_facts *ret, struct error *err)
{
    struct broker_request q = request_of(BROKER_FACTS);
    struct broker_answer a;
    int r = call_plain(b, &q, &a, err);

    if (r == 0)
        *ret = a.facts;
    return r;
}

int broker_maps(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    struct broker_request q = request_target(BROKER_MAPS, id);

    return call_file(b, &q, ret_fd, err);
}

int broker_environ(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    struct broker_request q = request_target(BROKER_ENVIRON, id);

    return call_file(b, &q, ret_fd, err);
}

int broker_mem(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    struct broker_request q = request_target(BROKER_MEM, id);

    return call_file(b, &q, ret_fd, err);
}

int broker_hsperfdata(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    struct broker_request q = request_target(BROKER_HSPERFDATA, id);

    return call_file(b, &q, ret_fd, err);
}

int broker_perfmap(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    struct broker_request q = request_target(BROKER_PERFMAP, id);

    return call_file(b, &q, ret_fd, err);
}

int broker_mapped(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                  int *ret_fd, struct error *err)
{
    struct broker_request q = request_target(BROKER_MAPPED, id);

    q.start = start;
    q.end = end;
    return call_file(b, &q, ret_fd, err);
}

int broker_debug(struct broker *b, const struct proc_id *id, const uint8_t *build_id, size_t n,
                 int *ret_fd, struct error *err)
{
    struct broker_request q = request_target(BROKER_DEBUG, id);
    int r = request_name(&q, build_id, n, err);

    return r < 0 ? r : call_file(b, &q, ret_fd, err);
}

int broker_debuglink(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                     const char *basename, int *ret_fd, struct error *err)
{
    struct broker_request q = request_target(BROKER_DEBUGLINK, id);
    int r = request_name(&q, basename, strlen(basename), err);

    q.start = start;
    q.end = end;
    return r < 0 ? r : call_file(b, &q, ret_fd, err);
}

int broker_config(struct broker *b, int *ret_fd, struct error *err)
{
    struct broker_request q = request_of(BROKER_CONFIG);

    return call_file(b, &q, ret_fd, err);
}

int broker_kallsyms(struct broker *b, int *ret_fd, struct error *err)
{
    struct broker_request q = request_of(BROKER_KALLSYMS);

    return call_file(b, &q, ret_fd, err);
}

int broker_container_config(struct broker *b, const char *id, int *ret_fd, struct error *err)
{
    struct broker_request q = request_of(BROKER_CONTAINER_CONFIG);
    int r = request_name(&q, id, strlen(id), err);

    return r < 0 ? r : call_file(b, &q, ret_fd, err);
}

int broker_container_logs(struct broker *b, int *ret_fd, struct error *err)
{
    struct broker_request q = request_of(BROKER_CONTAINER_LOGS);

    return call_file(b, &q, ret_fd, err);
}

int broker_sideband(struct broker *b, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                    struct error *err)
{
    struct broker_request q = request_of(BROKER_SIDEBAND);
    struct broker_answer a;

    return call(b, &q, &a, ret_fds, BROKER_CPUS_MAX, ret_count, err);
}

int broker_ring(struct broker *b, int *ret_fd, size_t *ret_bytes, struct error *err)
{
    struct broker_request q = request_of(BROKER_RING);
    struct broker_answer a;
    size_t count = 0;
    int fd = -1, r;

    r = call(b, &q, &a, &fd, 1, &count, err);
    if (r == 0) {
        *ret_fd = fd;
        *ret_bytes = (size_t)a.value;
    }
    return r;
}

int broker_sample_start(struct broker *b, uint64_t period_ns, uint32_t *ret_set, struct error *err)
{
    struct broker_request q = request_of(BROKER_SAMPLE_START);
    struct broker_answer a;
    int r;

    q.period_ns = period_ns;
    r = call_plain(b, &q, &a, err);
    if (r == 0)
        *ret_set = (uint32_t)a.value;
    return r;
}

int broker_sample_stop(struct broker *b, uint32_t set, struct error *err)
{
    struct broker_request q = request_of(BROKER_SAMPLE_STOP);
    struct broker_answer a;

    q.set = set;
    return call_plain(b, &q, &a, err);
}

int broker_filter_process(struct broker *b, int32_t host_pid, uint32_t sets, struct error *err)
{
    struct broker_request q = request_of(BROKER_FILTER_PROCESS);
    struct broker_answer a;

    q.host_pid = host_pid;
    q.sets = sets;
    return call_plain(b, &q, &a, err);
}

int broker_filter_all(struct broker *b, uint32_t sets, struct error *err)
{
    struct broker_request q = request_of(BROKER_FILTER_ALL);
    struct broker_answer a;

    q.sets = sets;
    return call_plain(b, &q, &a, err);
}

int broker_sample_stats(struct broker *b, struct broker_sample_stats *ret, struct error *err)
{
    struct broker_request q = request_of(BROKER_SAMPLE_STATS);
    struct broker_answer a;
    int r = call_plain(b, &q, &a, err);

    if (r == 0)
        *ret = a.stats;
    return r;
}

/* ---- the unwinder's tables ---- */

static int map_tables(struct broker *b, struct error *err)
{
    struct broker_request q = request_of(BROKER_TABLES);
    _cleanup_close_ int fd = -1;
    struct broker_answer a;
    size_t count = 0;
    void *p;
    int r;

    if (b->tables)
        return 0;
    r = call_locked(b, &q, &a, &fd, 1, &count, err);
    if (r < 0)
        return r;
    if (a.value != BROKER_TABLES_BYTES)
        return error_set(err, -EPROTO, "flamed-broker's tables are of another size");
    p = mmap(NULL, BROKER_TABLES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return error_errno(err, "cannot map the unwinder's tables");
    b->tables = p;
    return 0;
}

/* Puts @n bytes where the broker finds them and asks @q, under one lock. */
static int call_with_table(struct broker *b, struct broker_request *q, const void *p, size_t n,
                           struct error *err)
{
    struct broker_answer a;
    size_t count = 0;
    int r;

    pthread_mutex_lock(&b->lock);
    r = map_tables(b, err);
    if (r == 0) {
        memcpy(b->tables, p, n);
        r = call_locked(b, q, &a, NULL, 0, &count, err);
    }
    pthread_mutex_unlock(&b->lock);
    return r;
}

int broker_put_rows(struct broker *b, uint32_t first, const struct unwind_row *rows, uint32_t count,
                    struct error *err)
{
    int r = 0;

    if (first > BROKER_ROWS_MAX || count > BROKER_ROWS_MAX - first)
        return error_set(err, -EINVAL, "the rows do not lie in the table");
    for (uint32_t done = 0; r == 0 && done < count;) {
        struct broker_request q = request_of(BROKER_PUT_ROWS);
        uint32_t n = MIN(count - done, BROKER_TABLES_ROWS);

        q.start = first + done;
        q.end = q.start + n;
        r = call_with_table(b, &q, rows + done, n * sizeof(*rows), err);
        done += n;
    }
    return r;
}

int broker_put_process(struct broker *b, int32_t host_pid, const struct unwind_process *p,
                       struct error *err)
{
    struct broker_request q = request_of(p ? BROKER_PUT_PROCESS : BROKER_FORGET_PROCESS);
    struct broker_answer a;

    q.host_pid = host_pid;
    return p ? call_with_table(b, &q, p, sizeof(*p), err) : call_plain(b, &q, &a, err);
}

int broker_put_thread(struct broker *b, int32_t host_pid, int32_t host_tid, uint64_t java_thread,
                      struct error *err)
{
    struct broker_request q = request_of(BROKER_PUT_THREAD);
    struct broker_answer a;

    q.host_pid = host_pid;
    q.set = (uint32_t)host_tid;
    q.start = java_thread;
    return call_plain(b, &q, &a, err);
}

int broker_unwind_limit(struct broker *b, uint32_t frames, struct error *err)
{
    struct broker_request q = request_of(BROKER_UNWIND_LIMIT);
    struct broker_answer a;

    q.set = frames;
    return call_plain(b, &q, &a, err);
}

int broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, uint32_t options,
                  int *ret_result, int *ret_out, struct error *err)
{
    struct broker_request q = request_target(BROKER_ATTACH, id);
    int fds[BROKER_ATTACH_FDS] = { -1, -1 };
    struct broker_answer a;
    size_t count = 0;
    int r;

    q.set = mode;
    q.sets = options;
    r = call(b, &q, &a, fds, ARRAY_SIZE(fds), &count, err);
    if (r == 0) {
        *ret_result = fds[0];
        *ret_out = fds[1];
    }
    return r;
}

int broker_attach_check(struct broker *b, const struct proc_id *id, struct error *err)
{
    struct broker_request q = request_target(BROKER_ATTACH_CHECK, id);
    struct broker_answer a;

    return call_plain(b, &q, &a, err);
}

int broker_attach_ended(struct broker *b, const struct proc_id *id, int *ret_status)
{
    struct broker_request q = request_target(BROKER_ATTACH_ENDED, id);
    struct broker_answer a;
    int r = call_plain(b, &q, &a, NULL);

    if (r == 0)
        *ret_status = (int)a.value;
    return r;
}
