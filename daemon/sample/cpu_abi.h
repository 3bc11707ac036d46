/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What cpu.bpf.c and its loader share besides the records: counters, one per cause, kept per CPU.
 */
#pragma once

#define CPU_SETS_MAX 4
#define CPU_FILTERS_MAX 16384 /* processes that are asked for by name */
#define CPU_PROCESSES_MAX 4096
/* Where maps cannot grow (before Linux 6.1). */
#define CPU_PROCESSES_PREALLOCATED 1024
#define CPU_FILTERS_PREALLOCATED 4096
#define CPU_THREADS_MAX 16384 /* Java threads whose native code has no unwind rules */
#define CPU_PID_DEPTH_MAX 32  /* the kernel's MAX_PID_NS_LEVEL */

/* A quarter of a processor is the most that sampling takes, whatever the rate and the depth. */
#define CPU_BUDGET_WINDOW_NS 100000000ull
#define CPU_BUDGET_NS (CPU_BUDGET_WINDOW_NS / 4)
#define CPU_SAMPLE_MAX_NS 1000000ull /* what the unwinder's bounds let a sample take */

enum cpu_counter {
    CPU_RUNS,        /* entries of the program, idle and unwanted ones included */
    CPU_SAMPLES,     /* records written */
    CPU_TIME_NS,     /* spent in the program for samples that were wanted */
    CPU_LOST_RING,   /* the ring buffer was full */
    CPU_HIDDEN,      /* all were asked for, but this one's process is outside our pid namespace */
    CPU_LOST_BUDGET, /* the processor had spent CPU_BUDGET_NS of its window on samples */
    CPU_LOST_BUG,    /* a map was not there: cannot happen */
    CPU_COUNTERS,
};
