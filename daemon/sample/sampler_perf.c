/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler_perf.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "sample/perf_abi.h"
#include "sample/sampler.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SET_MASK (SAMPLER_SETS_MAX - 1u)

/* A ring belongs to an event that never happens; the events of the sets write into it. */
struct perf_ring {
    int event;  /* owned */
    void *page; /* a ring exists only while it is mapped */
    uint32_t cpu;
};

struct perf_home {
    struct error why, problem; /* problem: why a processor that came online later has no ring; code
                                * 0: none */
    size_t bytes;              /* size of a ring, without its first page */
    struct perf_ring *rings;
    size_t count, cap;
};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void close_rings(struct perf_home *h)
{
    for (size_t i = 0; i < h->count; i++) {
        munmap(h->rings[i].page, page_bytes() + h->bytes);
        close(h->rings[i].event);
    }
    h->count = 0;
}

struct perf_home *perf_home_free(struct perf_home *h)
{
    if (!h)
        return NULL;
    close_rings(h);
    free(h->rings);
    free(h);
    return NULL;
}

/* Opens the ring of @cpu. 0; -ENODEV: it is offline; -errno with @err. */
static int add_ring(struct perf_home *h, uint32_t cpu, struct error *err)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_DUMMY,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    _cleanup_close_ int fd = -1;
    void *page;

    if (!array_grow(&h->rings, &h->cap, h->count + 1, 8))
        return error_set(err, -ENOMEM, "not enough memory for the rings of perf events");
    fd = (int)syscall(SYS_perf_event_open, &attr, /* pid= */ -1, (int)cpu, /* group_fd= */ -1,
                      PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == ENODEV)
        return -ENODEV;
    if (fd < 0) {
        int r = error_errno(err, "cannot open the ring of perf events of CPU %u", cpu);

        if (r == -EPERM || r == -EACCES)
            sampler_denied(err);
        return r;
    }
    page = mmap(NULL, page_bytes() + h->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        int r = error_errno(err, "cannot map the ring of perf events of CPU %u", cpu);

        error_remedy(err, "raise flamed-broker's limit of locked memory (LimitMEMLOCK), or "
                          "kernel.perf_event_mlock_kb");
        return r;
    }
    h->rings[h->count++] = (struct perf_ring){ take_fd(&fd), page, cpu };
    return 0;
}

static int add_rings(struct perf_home *h, const uint32_t *cpus, size_t count, struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < count && (r == 0 || r == -ENODEV); i++)
        r = add_ring(h, cpus[i], err);
    return r == -ENODEV ? 0 : r;
}

int perf_home_new(const struct error *why, struct perf_home **ret, struct error *err)
{
    _cleanup_free_ uint32_t *cpus = calloc(SAMPLER_CPUS_MAX, sizeof(*cpus));
    struct perf_home *h = calloc(1, sizeof(*h));
    int n = cpus && h ? sampler_online_cpus(cpus, err) : -ENOMEM, r = MIN(n, 0);

    if (n > 0) {
        h->why = *why;
        h->bytes = PERF_HOME_RING_MAX;
        while (h->bytes > PERF_HOME_RING_MIN && h->bytes * (size_t)n > PERF_HOME_RINGS_BYTES_MAX)
            h->bytes /= 2;
        /* Tries smaller rings if the limit of locked memory is reached. */
        while ((r = add_rings(h, cpus, (size_t)n, err)) < 0 && h->bytes > PERF_HOME_RING_MIN) {
            close_rings(h);
            h->bytes /= 2;
        }
    }
    if (r < 0) {
        perf_home_free(h);
        return r;
    }
    *ret = h;
    return 0;
}

int perf_home_refuse(const struct perf_home *h, struct error *err)
{
    error_set(err, -EOPNOTSUPP, "without BPF programs event cpu alone is sampled: %s", h->why.msg);
    error_remedy(err, "%s", h->why.remedy);
    return -EOPNOTSUPP;
}

int perf_home_check(const struct perf_home *h, const struct sampler_event *event, uint64_t period,
                    struct error *err)
{
    if (event->info->kind != EVENT_CPU)
        return perf_home_refuse(h, err);
    if (period && period < NSEC_PER_SEC / PERF_HOME_HZ_MAX) {
        error_set(err, -ERANGE,
                  "without BPF programs each sample copies %u KB of stack, so flamed takes %d a "
                  "second at most; %s",
                  PERF_HOME_STACK_BYTES >> 10, PERF_HOME_HZ_MAX, h->why.msg);
        error_remedy(err, "lower hz to %d", PERF_HOME_HZ_MAX);
        return -ERANGE;
    }
    return 0;
}

/* Returns the ring's event of @cpu, and opens one if the CPU came online since; -errno. */
static int ring_of(struct perf_home *h, uint32_t cpu, struct error *err)
{
    struct error problem = ERROR_NULL;
    int r;

    for (size_t i = 0; i < h->count; i++) {
        if (h->rings[i].cpu == cpu)
            return h->rings[i].event;
    }
    r = add_ring(h, cpu, &problem);
    if (r != -ENODEV)
        h->problem = problem;
    if (r < 0 && err)
        *err = problem;
    return r < 0 ? r : h->rings[h->count - 1].event;
}

int perf_home_open(struct perf_home *h, const struct sampler_event *event, uint32_t cpu,
                   uint32_t set, uint64_t period, struct error *err)
{
    struct sampler_event copies = *event;
    struct perf_event_attr *attr = &copies.attr;
    _cleanup_close_ int fd = -1;
    int ring = ring_of(h, cpu, err);

    if (ring < 0)
        return ring;
    attr->sample_type = PERF_HOME_SAMPLE;
    attr->sample_regs_user = PERF_HOME_REGISTERS;
    attr->sample_stack_user = PERF_HOME_STACK_BYTES;
    attr->exclude_callchain_user = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    fd = sampler_open_event(&copies, cpu, (period & ~(uint64_t)SET_MASK) | set, err);
    if (fd < 0)
        return take_fd(&fd);
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring) < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
        return error_errno(err, "cannot have the event of CPU %u write into its ring", cpu);
    return take_fd(&fd);
}

int perf_home_ring(const struct perf_home *h, size_t i)
{
    return i < h->count ? h->rings[i].event : -ENOENT;
}

const struct error *perf_home_problem(const struct perf_home *h)
{
    return &h->problem;
}

size_t perf_home_ring_bytes(const struct perf_home *h)
{
    return h->bytes;
}

const struct error *perf_home_why(const struct perf_home *h)
{
    return &h->why;
}
