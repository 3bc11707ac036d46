/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What off.bpf.c and its loader share besides the records. */
#pragma once

#include "sample/sample_abi.h"

#define OFF_LATE_MAX 8192      /* waits whose user stack is still to be taken, of all threads */
#define OFF_LATES_OF_THREAD 16 /* of them, that a flush looks at */
#define OFF_DEPTH 4            /* samples that one processor takes at once: each may be preempted */
/* A sample is near if so many waits like the last one, or so much time, may lie before it. */
#define OFF_NEAR_WAITS 32
#define OFF_NEAR_NS 250000
/* Where there is no task work: */
#define OFF_EARLY_THREADS 16384 /* whose waits are known at once */
#define OFF_EARLY_KEPT 4096     /* whose stack is kept while they wait */
#define OFF_EARLY_WORDS 512     /* of one */
/* Which processes may be wanted, by the low bits of their number: most are ruled out by one look.
 */
#define OFF_BITS 65536

/* Of a set. */
struct off_rate {
    SAMPLE_U64 interval_ns;
    SAMPLE_U64 start_ns; /* CLOCK_MONOTONIC */
};

enum off_counter {
    OFF_SAMPLES,     /* records written */
    OFF_TIME_NS,     /* spent on them */
    OFF_LATE,        /* waits whose user stack was to be taken */
    OFF_TAKEN,       /* those of them whose record was written, or lost */
    OFF_LOST_RING,   /* the ring buffer was full */
    OFF_LOST_MEMORY, /* no memory, or no room in a map: a wait is not known */
    OFF_BARE,        /* waits without user stack: the processor had spent its budget, or the kernel
                      * did not tell of their end */
    OFF_COUNTERS,
};
