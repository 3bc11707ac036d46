/* SPDX-License-Identifier: Apache-2.0 */
/* Samples one thread's pc, with the time on CLOCK_MONOTONIC and the top of the stack. For tests. */
#pragma once

#include "base/cleanup.h"

#include <sys/types.h>

#define LIVE_STACK_WORDS 256

struct live_sample {
    uint64_t time_ns, pc;
    size_t words;
    uint64_t stack[LIVE_STACK_WORDS]; /* words from the stack pointer up */
};

struct live_perf {
    int fd;
    void *ring;
};

typedef void (*live_sample_fn)(void *cookie, const struct live_sample *s);

/* Samples user code of thread @tid, @hz times per second of its CPU time. 0 or -errno. */
int live_perf_open(pid_t tid, unsigned hz, struct live_perf *ret);
void live_perf_drain(struct live_perf *p, live_sample_fn fn, void *cookie);
void live_perf_close(struct live_perf *p);
