/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What stack.bpf.h and the loaders of its programs share: the sizes of maps, the budget. */
#pragma once

#define STACK_SETS_MAX 8
#define STACK_FILTERS_MAX 16384 /* processes that are asked for by name */
#define STACK_PROCESSES_MAX 4096
/* Where maps cannot grow (before Linux 6.1). */
#define STACK_PROCESSES_PREALLOCATED 1024
#define STACK_FILTERS_PREALLOCATED 4096
#define STACK_CONTEXTS_PREALLOCATED 256
#define STACK_THREADS_MAX 16384 /* Java threads whose native code has no unwind rules */
#define STACK_CONTEXTS_MAX 1024 /* processes whose requests are read */
#define STACK_PID_DEPTH_MAX 32  /* the kernel's MAX_PID_NS_LEVEL */

/* A quarter of a processor is the most that samples take, of all events together. */
#define STACK_BUDGET_WINDOW_NS 100000000ull
#define STACK_BUDGET_NS (STACK_BUDGET_WINDOW_NS / 4)
#define STACK_SAMPLE_MAX_NS 1000000ull /* what the unwinder's bounds let a sample take */
