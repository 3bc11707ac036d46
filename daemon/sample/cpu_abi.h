/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What cpu.bpf.c and its loader share besides the records: counters, one per cause, kept per CPU.
 */
#pragma once

enum cpu_counter {
    CPU_RUNS,        /* entries of the program, idle and unwanted ones included */
    CPU_SAMPLES,     /* records written */
    CPU_TIME_NS,     /* spent in the program for samples that were wanted */
    CPU_LOST_RING,   /* the ring buffer was full */
    CPU_HIDDEN,      /* all were asked for, but this one's process is outside our pid namespace */
    CPU_LOST_BUDGET, /* the processor had spent STACK_BUDGET_NS of its window on samples */
    CPU_LOST_BUG,    /* a map was not there: cannot happen */
    CPU_COUNTERS,
};
