/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/sampling.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#include <sys/epoll.h>

#define ASK_AGAIN_NS (250 * NSEC_PER_MSEC)
#define PERF_RINGS_NS NSEC_PER_SEC /* time between checks for new processors */
#define RETRY_S 1

static int open_ring(struct sampling *s, struct broker *b, struct error *err)
{
    _cleanup_close_ int fd = -1;
    size_t bytes;
    struct epoll_event woken = { .events = EPOLLIN | EPOLLET };
    int r = broker_ring(b, &fd, &bytes, err);

    if (r == 0)
        r = ring_open(fd, bytes, &s->ring, err);
    if (r < 0)
        return r;
    s->wake_fd = epoll_create1(EPOLL_CLOEXEC); /* the ring's mapping keeps its file open */
    if (s->wake_fd < 0 || epoll_ctl(s->wake_fd, EPOLL_CTL_ADD, fd, &woken) < 0)
        s->wake_fd = close_fd(s->wake_fd);
    return 0;
}

/* Maps the rings of processors that are not mapped yet. */
static int add_perf_rings(struct sampling *s, struct broker *b, struct error *err)
{
    int fds[BROKER_CPUS_MAX], r;
    size_t count = 0, bytes = 0, have = perf_rings_count(s->perf);

    if (have >= BROKER_CPUS_MAX)
        return 0;
    r = broker_perf_rings(b, (uint32_t)have, fds, &count, &bytes, err);
    return r < 0 || !count ? r : perf_rings_add(s->perf, fds, count, bytes, err);
}

/* Writes which features are missing without BPF programs. @err: the reason why a processor has no
 * ring; NULL: all have one. Logs a new sentence. */
static void say_without_bpf(struct sampling *s, const struct error *err)
{
    char said[sizeof(s->without_bpf)];
    size_t n = 0;

    memcpy(said, s->without_bpf, sizeof(said));
    if (err)
        n = (size_t)snprintf(s->without_bpf, sizeof(s->without_bpf),
                             "processors that came online later are not sampled: %s; ", err->msg);
    n = MIN(n, sizeof(s->without_bpf) - 1);
    snprintf(
        s->without_bpf + n, sizeof(s->without_bpf) - n,
        "without BPF programs event cpu alone is sampled, at %d Hz at most, stacks of more than "
        "%u KB are cut, and requests are not read: %s",
        PERF_HOME_HZ_MAX, PERF_HOME_STACK_BYTES >> 10, s->facts.bpf_problem);
    if (strcmp(said, s->without_bpf) != 0)
        log_warn("%s", s->without_bpf);
}

static int open_perf(struct sampling *s, struct broker *b, struct error *err)
{
    int r;

    s->perf = perf_rings_new();
    r = s->perf ? add_perf_rings(s, b, err) : -ENOMEM;
    if (r < 0) {
        s->perf = perf_rings_free(s->perf);
        return r;
    }
    say_without_bpf(s, NULL);
    return 0;
}

static int look(struct sampling *s, struct broker *b, struct error *err)
{
    int r = broker_facts(b, &s->facts, err);

    if (r == 0 && s->facts.bpf_loaded)
        r = open_ring(s, b, err);
    if (r == 0 && s->facts.perf_home)
        r = open_perf(s, b, err);
    return r;
}

int sampling_wake_fd(const struct sampling *s)
{
    return s->ring ? s->wake_fd : -1;
}

void sampling_woken(struct sampling *s)
{
    struct epoll_event woken;

    s->woken = true;
    epoll_wait(s->wake_fd, &woken, 1, 0);
}

void sampling_close(struct sampling *s)
{
    close_fd(sampling_wake_fd(s));
    s->ring = ring_close(s->ring);
    s->perf = perf_rings_free(s->perf);
}

bool sampling_works(const struct sampling *s)
{
    return s->ring || s->perf;
}

int sampling_open(struct sampling *s, struct broker *b, struct error *err)
{
    s->looked_ns = clock_monotonic_ns();
    return look(s, b, err);
}

/* Stores the sentence of @err as the reason why sampling does not work. */
static void note_problem(struct sampling *s, const struct error *err)
{
    span_copy(span_of(err->msg), s->facts.bpf_problem, sizeof(s->facts.bpf_problem));
}

void sampling_poll(struct sampling *s, struct broker *b, uint64_t now_ns)
{
    struct error err = ERROR_NULL;

    if (s->perf && now_ns - s->looked_ns >= PERF_RINGS_NS) {
        s->looked_ns = now_ns;
        say_without_bpf(s, add_perf_rings(s, b, &err) < 0 ? &err : NULL);
        err = ERROR_NULL;
    }
    if (sampling_works(s) || !s->facts.bpf_loading || now_ns - s->looked_ns < ASK_AGAIN_NS)
        return;
    s->looked_ns = now_ns;
    if (look(s, b, &err) < 0) /* if the broker is lost, the engine ends anyway */
        note_problem(s, &err);
}

void sampling_problem(const struct sampling *s, struct error *err)
{
    if (s->facts.bpf_loading) {
        error_set(err, -EAGAIN, "flamed is not ready yet: %s", s->facts.bpf_problem);
        if (err)
            err->retry_s = RETRY_S;
    } else {
        error_set(err, -ENOSYS, "this machine cannot sample: %s", s->facts.bpf_problem);
    }
}
