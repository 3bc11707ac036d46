/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_broker.h"

#include "suite.h"

#include "base/cleanup.h"
#include "broker_client/wire.h"
#include "event/events.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define DIALOGUE_BYTES 16384
#define RING_BYTES 65536
#define ROWS_BYTES (BROKER_ROWS_MAX * sizeof(struct unwind_row))

struct fake_broker {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below */
    struct {
        int32_t result;
        unsigned times;
        union broker_body body; /* the answer of a successful request */
    } answers[BROKER_KIND_END];
    uint32_t sets; /* bits: the sets that sample */
    char dialogue[DIALOGUE_BYTES];
    size_t dialogue_n;
};

static const char *const PROGRAMS[BROKER_PROBED_PROGRAMS] = {
    [BROKER_PROBED_HEAP] = "heap",       [BROKER_PROBED_AGENT] = "agent",
    [BROKER_PROBED_MOMENTS] = "moments", [BROKER_PROBED_CALL] = "call",
    [BROKER_PROBED_MALLOC] = "malloc",   [BROKER_PROBED_YIELDS] = "yields",
};

/* Returns true if a request of @kind belongs to the dialogue of a capture. */
static bool is_told(uint32_t kind)
{
    switch (kind) {
    case BROKER_SAMPLE_START:
    case BROKER_SAMPLE_BEGUN:
    case BROKER_SAMPLE_STOP:
    case BROKER_SAMPLE_FLUSH:
    case BROKER_SAMPLE_LATES:
    case BROKER_SAMPLE_AGENTS:
    case BROKER_FILTER_PROCESS:
    case BROKER_FILTER_ALL:
    case BROKER_TAKE_LOSSES:
    case BROKER_PROBE_PUT:
    case BROKER_PROBE_DROP:
    case BROKER_PROBES_BEGUN:
        return true;
    default:
        return false;
    }
}

/* Writes the name and the fields of @q to @to. */
static void describe(const struct broker_request *q, char *to, size_t size)
{
    const struct sample_fields *sample = &q->fields.sample_start;
    size_t rows;

    switch (q->kind) {
    case BROKER_SAMPLE_START:
        snprintf(to, size, " %s%s %llu", sample->event.yields ? "yields of " : "",
                 sample->event.text[0] ? sample->event.text
                                       : events_table(&rows)[sample->event.kind].name,
                 (unsigned long long)sample->period);
        break;
    case BROKER_SAMPLE_BEGUN:
    case BROKER_SAMPLE_STOP:
    case BROKER_SAMPLE_FLUSH:
    case BROKER_SAMPLE_LATES:
    case BROKER_SAMPLE_AGENTS:
        snprintf(to, size, " %u", q->fields.sample_stop.set);
        break;
    case BROKER_FILTER_ALL:
        snprintf(to, size, " %u", q->fields.filter_all.sets);
        break;
    case BROKER_FILTER_PROCESS:
        snprintf(to, size, " P %u", q->fields.filter_process.sets);
        break;
    case BROKER_PROBE_PUT:
        snprintf(to, size, " P %s %u", PROGRAMS[q->fields.probe_put.probes.program],
                 q->fields.probe_put.probes.set);
        break;
    case BROKER_PROBE_DROP:
        snprintf(to, size, " P %s %u", PROGRAMS[q->fields.probe_drop.program],
                 q->fields.probe_drop.which);
        break;
    case BROKER_TAKE_LOSSES:
        to[0] = '\0';
        break;
    default:
        snprintf(to, size, " P");
        break;
    }
}

static void tell(struct fake_broker *f, const struct broker_request *q)
{
    char rest[EVENT_NAME_BYTES + 64];

    describe(q, rest, sizeof(rest));
    f->dialogue_n += (size_t)snprintf(f->dialogue + f->dialogue_n, DIALOGUE_BYTES - f->dialogue_n,
                                      "%s%s\n", broker_request_info(q->kind)->name, rest);
    ck_assert_uint_lt(f->dialogue_n, DIALOGUE_BYTES - sizeof(rest));
}

/* Opens a file of the process of @q, or its replacement; -1: no such file. */
static int open_file(const struct broker_request *q)
{
    const struct mapping_fields *m = &q->fields.mapping;
    char path[96];
    int fd;

    switch (q->kind) {
    case BROKER_MAPS:
        snprintf(path, sizeof(path), "/proc/%d/maps", q->fields.target.host_pid);
        return open(path, O_RDONLY | O_CLOEXEC);
    case BROKER_MAPPED:
        snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", m->target.host_pid,
                 (unsigned long long)m->start, (unsigned long long)m->end);
        return open(path, O_RDONLY | O_CLOEXEC);
    case BROKER_PERF_RINGS:
    case BROKER_TABLES:
    case BROKER_ROWS:
    case BROKER_TAKE_LOSSES:
    case BROKER_CGROUP:
    case BROKER_CONTAINER_LOGS:
        fd = memfd_create("fake", MFD_CLOEXEC);
        ck_assert_int_eq(ftruncate(fd, q->kind == BROKER_TABLES ? (off_t)BROKER_TABLES_BYTES
                                       : q->kind == BROKER_ROWS ? (off_t)ROWS_BYTES
                                       : q->kind == BROKER_PERF_RINGS
                                           ? (off_t)RING_BYTES + sysconf(_SC_PAGESIZE)
                                           : 0),
                         0);
        return fd;
    default:
        return -1;
    }
}

/* Fills @a. Needs f->lock. Returns the descriptor to send with it, or -1. */
static int answer(struct fake_broker *f, const struct broker_request *q, struct broker_answer *a)
{
    const struct broker_request_info *info = broker_request_info(q->kind);
    int fd = -1;

    *a = (struct broker_answer){ .version = BROKER_WIRE_VERSION, .kind = q->kind, .seq = q->seq };
    if (is_told(q->kind))
        tell(f, q);
    a->body = f->answers[q->kind].body;
    if (f->answers[q->kind].times) {
        f->answers[q->kind].times--;
        a->result = f->answers[q->kind].result;
    } else if (q->kind == BROKER_SAMPLE_START) {
        a->body.sample_start.set = (uint32_t)__builtin_ctz(~f->sets);
        f->sets |= 1u << a->body.sample_start.set;
    } else if (q->kind == BROKER_SAMPLE_STOP) {
        f->sets &= ~(1u << q->fields.sample_stop.set);
    } else if (q->kind == BROKER_SIDEBAND) {
        a->result = -EACCES;
    } else if (q->kind == BROKER_NAMESPACE_USER) {
        a->result = BROKER_ABSENT;
    }
    if (a->result == 0 && info->fds_max) {
        fd = open_file(q);
        a->fd_count = fd >= 0;
        a->result = fd >= 0 ? 0 : BROKER_ABSENT;
    }
    if (a->result)
        a->body = (union broker_body){ 0 };
    if (a->result < 0)
        snprintf(a->body.failure.msg, sizeof(a->body.failure.msg), "the broker says %d", a->result);
    return fd;
}

static void *serve(void *arg)
{
    struct fake_broker *f = arg;
    struct broker_request q, raw;
    struct broker_answer a;
    size_t fds;

    for (;;) {
        _cleanup_close_ int fd = -1;
        ssize_t n = wire_receive(f->fd, &raw, sizeof(raw), NULL, 0, &fds);

        if (n <= 0)
            return NULL;
        ck_assert_int_eq(broker_request_check(&raw, (size_t)n, &q, NULL), 0);
        pthread_mutex_lock(&f->lock);
        fd = answer(f, &q, &a);
        pthread_mutex_unlock(&f->lock);
        ck_assert_int_eq(wire_send(f->fd, &a, sizeof(a), &fd, a.fd_count), 0);
    }
}

struct fake_broker *fake_broker_start(int *ret_fd)
{
    struct fake_broker *f = calloc(1, sizeof(*f));
    int fds[2];

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    f->fd = fds[0];
    pthread_mutex_init(&f->lock, NULL);
    ck_assert_int_eq(pthread_create(&f->thread, NULL, serve, f), 0);
    *ret_fd = fds[1];
    return f;
}

struct fake_broker *fake_broker_stop(struct fake_broker *f)
{
    pthread_join(f->thread, NULL);
    close_fd(f->fd);
    pthread_mutex_destroy(&f->lock);
    free(f);
    return NULL;
}

void fake_broker_answer(struct fake_broker *f, enum broker_request_kind kind, int32_t result,
                        unsigned times)
{
    pthread_mutex_lock(&f->lock);
    f->answers[kind].result = result;
    f->answers[kind].times = times;
    pthread_mutex_unlock(&f->lock);
}

void fake_broker_flush(struct fake_broker *f, uint32_t no, uint32_t late)
{
    pthread_mutex_lock(&f->lock);
    f->answers[BROKER_SAMPLE_FLUSH].body.sample_flush = (struct flush_answer){ no, late };
    pthread_mutex_unlock(&f->lock);
}

void fake_broker_sampling(struct fake_broker *f, bool works)
{
    pthread_mutex_lock(&f->lock);
    f->answers[BROKER_FACTS].body.facts =
        (struct broker_facts){ .bpf_loading = !works, .perf_home = works };
    f->answers[BROKER_PERF_RINGS].body.perf_rings.bytes = RING_BYTES;
    pthread_mutex_unlock(&f->lock);
}

void fake_broker_mallocs(struct fake_broker *f, uint64_t calls)
{
    pthread_mutex_lock(&f->lock);
    f->answers[BROKER_MALLOCS].body.mallocs.calls = calls;
    pthread_mutex_unlock(&f->lock);
}

void fake_broker_heap_hits(struct fake_broker *f, uint64_t hits)
{
    pthread_mutex_lock(&f->lock);
    f->answers[BROKER_HEAP_HITS].body.heap_hits.calls = hits;
    pthread_mutex_unlock(&f->lock);
}

void fake_broker_yields(struct fake_broker *f, const struct yields_counts *counts)
{
    pthread_mutex_lock(&f->lock);
    f->answers[BROKER_YIELDS_OF].body.yields = (struct yields_answer){ *counts };
    pthread_mutex_unlock(&f->lock);
}

void fake_broker_expect(struct fake_broker *f, const char *lines)
{
    char said[DIALOGUE_BYTES];

    pthread_mutex_lock(&f->lock); /* a failed assertion would never unlock it */
    memcpy(said, f->dialogue, f->dialogue_n);
    said[f->dialogue_n] = '\0';
    f->dialogue_n = 0;
    pthread_mutex_unlock(&f->lock);
    ck_assert_str_eq(said, lines);
}

void fake_broker_forget(struct fake_broker *f)
{
    pthread_mutex_lock(&f->lock);
    f->dialogue_n = 0;
    pthread_mutex_unlock(&f->lock);
}
