/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by off.bpf.c and its loader, besides the records. */
#pragma once

#include "sample/sample_abi.h"
#include "sample/stack_abi.h"

#define OFF_LATE_MAX 8192      /* finished waits with a pending user stack, of all threads */
#define OFF_LATES_OF_THREAD 16 /* limit of such waits of one thread that a flush visits */
#define OFF_DEPTH 4            /* samples that one processor takes at once: each may be preempted */
/* A sample of a thread is near if it is at most this many waits like the last one, or OFF_NEAR_NS,
 * away. */
#define OFF_NEAR_WAITS 32
#define OFF_NEAR_NS 250000
/* Limits without task work: */
#define OFF_EARLY_THREADS 16384 /* threads with a known wait at a time */
#define OFF_EARLY_KEPT 4096     /* stacks stored during waits */
#define OFF_EARLY_WORDS 512     /* limit of words of one such stack */
/* Key of a thread in the maps of both, and its process. */
#define OFF_EARLY_KEY(tgid, tid) ((tgid) << 32 | (tid))
#define OFF_EARLY_TGID(key) ((key) >> 32)
/* Number of bits of a filter by the low bits of a process number. A clear bit means that no wanted
 * process has these low bits: one test rules out most processes. */
#define OFF_BITS 65536

/* The rate of a set. */
struct off_rate {
    SAMPLE_U64 interval_ns;
    SAMPLE_U64 start_ns; /* CLOCK_MONOTONIC */
};

enum off_counter {
    OFF_LATE = STACK_COUNTERS, /* waits with a user stack to be taken */
    OFF_TAKEN,                 /* waits of OFF_LATE with a record that was written or lost */
    OFF_COUNTERS,
};
