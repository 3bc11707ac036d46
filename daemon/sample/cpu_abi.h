/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by cpu.bpf.c and its loader, besides the records: counters, one per cause, kept per CPU.
 */
#pragma once

enum cpu_counter {
    CPU_RUNS,        /* runs of the program, also idle and unwanted ones */
    CPU_SAMPLES,     /* records written */
    CPU_TIME_NS,     /* time spent in the program for wanted samples */
    CPU_LOST_RING,   /* lost: the ring buffer was full */
    CPU_HIDDEN,      /* every process was wanted, but this one is outside our pid namespace */
    CPU_LOST_BUDGET, /* lost: the processor had spent STACK_BUDGET_NS of its window on samples */
    CPU_LOST_BUG,    /* lost: a map was missing; cannot happen */
    CPU_COUNTERS,
};
