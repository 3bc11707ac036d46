/* SPDX-License-Identifier: Apache-2.0 */
/* A process that burns CPU time on one processor, and what a sampler says of it. */
#pragma once

#include "sampler_fixture.h"

#include "base/clock.h"
#include "sample/loss_abi.h"
#include "sample/sampler_events.h"
#include "sample/stack_abi.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Calls fork(2), with the child in new @namespaces. */
static inline pid_t fork_into(unsigned long namespaces)
{
    return (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* A child that burns CPU on processor 0. Sampling counts the time that it is scheduled in, so
 * results are compared with that time. Its CPU time is less: it excludes interrupts and
 * hypervisors. */
struct burner {
    pid_t pid;
    int clock_fd;
};

static inline int start_kind(struct sampler *s, enum event_kind kind, uint64_t period,
                             uint32_t *ret_set, struct error *e)
{
    struct sampler_event event;
    int r = sampler_describe(kind, SPAN_NULL, /* devices_fd= */ -1, &event, e);

    return r < 0 ? r : sampler_start_event(s, &event, period, ret_set, e);
}

static inline struct burner start_burner_in(unsigned long namespaces)
{
    struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof(attr),
                                    .config = PERF_COUNT_SW_TASK_CLOCK };
    struct burner b = { .pid = fork_into(namespaces) };

    cpu_set_t one;

    ck_assert_int_ge(b.pid, 0);
    if (b.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned i = 0;; i++)
            ;
    }
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    ck_assert_int_eq(sched_setaffinity(b.pid, sizeof(one), &one), 0);
    b.clock_fd = (int)syscall(SYS_perf_event_open, &attr, b.pid, -1, -1,
                              (unsigned long)PERF_FLAG_FD_CLOEXEC);
    ck_assert_int_ge(b.clock_fd, 0);
    return b;
}

static inline struct burner start_burner(void)
{
    return start_burner_in(0);
}

/* Makes @b run before others on its processor, if that is allowed. Threads that a timer wakes run
 * shortly after a tick and end before the next one, so the burner also gets the ticks of their
 * time. */
static inline void prefer_burner(const struct burner *b)
{
    const struct sched_param lowest = { .sched_priority = 1 };

    if (sched_setscheduler(b->pid, SCHED_FIFO, &lowest) < 0)
        printf("no real-time priority here: %s\n", strerrordesc_np(errno));
}

/* Returns how long it has been scheduled in since its start. */
static inline uint64_t burner_ns(const struct burner *b)
{
    uint64_t ns;

    ck_assert_int_eq(read(b->clock_fd, &ns, sizeof(ns)), sizeof(ns));
    return ns;
}

/* Reads the file @name of @b in /proc. */
static inline void read_burner(const struct burner *b, const char *name, char *text, size_t size)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", b->pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = read(fd, text, size - 1);
    close(fd);
    ck_assert_int_gt(n, 0);
    text[n] = '\0';
}

/* Returns the CPU time: the same time without that of a hypervisor, during which no timer fires. */
static inline uint64_t burner_cpu_ns(const struct burner *b)
{
    char text[128];

    read_burner(b, "schedstat", text, sizeof(text));
    return strtoull(text, NULL, 10);
}

/* Returns how often it had to leave its processor to others. */
static inline double burner_switches(const struct burner *b)
{
    const char *field = "nonvoluntary_ctxt_switches:", *at;
    char text[4096];

    read_burner(b, "status", text, sizeof(text));
    at = strstr(text, field);
    ck_assert_ptr_nonnull(at);
    return (double)strtoull(at + strlen(field), NULL, 10);
}

static inline void end_burner(struct burner *b)
{
    kill(b->pid, SIGKILL);
    waitpid(b->pid, NULL, 0);
    close(b->clock_fd);
}

/* Samples @b until it was scheduled in for @seconds. Drains the ring as flamed does. */
static inline void sample_for(const struct burner *b, double seconds)
{
    uint64_t end_ns = burner_ns(b) + (uint64_t)(seconds * 1e9);

    memset(&got, 0, sizeof(got));
    got.pid = (uint32_t)b->pid;
    while (burner_ns(b) < end_ns) {
        usleep(10000);
        drain();
    }
}
