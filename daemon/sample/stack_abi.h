/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by stack.bpf.h and the loaders of its programs: the sizes of maps, the budget, counters.
 */
#pragma once

#define STACK_SETS_MAX 8
#define STACK_FILTERS_MAX 16384 /* processes that sets want by process id */
#define STACK_PROCESSES_MAX 4096
/* Sizes where maps cannot grow (before Linux 6.1). */
#define STACK_PROCESSES_PREALLOCATED 1024
#define STACK_FILTERS_PREALLOCATED 4096
#define STACK_CONTEXTS_PREALLOCATED 256
#define STACK_THREADS_MAX 16384 /* Java threads with native code that has no unwind rules */
#define STACK_CONTEXTS_MAX 1024 /* processes with a context to read */
#define STACK_PID_DEPTH_MAX 32  /* the kernel's MAX_PID_NS_LEVEL */

/* Samples of all events together take at most a quarter of a processor. */
#define STACK_BUDGET_WINDOW_NS 100000000ull
#define STACK_BUDGET_NS (STACK_BUDGET_WINDOW_NS / 4)
#define STACK_SAMPLE_MAX_NS 1000000ull /* limit of one sample by the unwinder's bounds */

/* The counters that each program has, in its map `counters`. */
enum stack_counter {
    STACK_SAMPLES,     /* records written */
    STACK_TIME_NS,     /* time spent on them */
    STACK_LOST_RING,   /* lost: a ring buffer was full */
    STACK_LOST_BUDGET, /* lost: the processor had spent STACK_BUDGET_NS of its window */
    STACK_LOST_OTHER,  /* lost: no memory, no room in a map, or the thread was unreadable */
    STACK_RUNS,        /* runs of cpu.bpf.c, also in idle and unwanted threads */
    STACK_HIDDEN,      /* not sampled: every process was wanted, but this one is outside our pid
                        * namespace */
    STACK_COUNTERS,
};
