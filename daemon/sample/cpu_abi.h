/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What cpu.bpf.c and its loader share besides the records: counters, one per cause, kept per CPU.
 */
#pragma once

#define CPU_SETS_MAX 4
#define CPU_FILTERS_MAX 16384 /* processes that are asked for by name */
#define CPU_PROCESSES_MAX 4096
#define CPU_THREADS_MAX 16384 /* Java threads whose native code has no unwind rules */
#define CPU_PID_DEPTH_MAX 32  /* the kernel's MAX_PID_NS_LEVEL */

enum cpu_counter {
    CPU_RUNS,      /* entries of the program, idle and unwanted ones included */
    CPU_SAMPLES,   /* records written */
    CPU_TIME_NS,   /* spent in the program for samples that were wanted */
    CPU_LOST_RING, /* the ring buffer was full */
    CPU_HIDDEN,    /* all were asked for, but this one's process is outside our pid namespace */
    CPU_LOST_BUG,  /* a map was not there: cannot happen */
    CPU_COUNTERS,
};
