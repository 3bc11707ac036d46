/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Records of looks.bpf.c, one for each thread that a pass visits; flamed reads them. No padding. */
#pragma once

#include "sample/sample_abi.h"

#define LOOKS_PROCESSES_MAX 4096
/* A pass begins no walk later than this after its first thread. A walk may take 100 ms if memory
 * does not answer. */
#define LOOKS_PASS_NS 250000000ull
#define LOOKS_SHARE_ALL 0xffffffffu /* value of looks_pass.share: all threads are walked */

enum looks_found {
    LOOKS_RUNS,   /* the thread is on a processor */
    LOOKS_SAME,   /* it has not run since the pass that last wrote LOOKS_PLACE */
    LOOKS_PASSED, /* it has run, waits now, and the draw of this pass left it out */
    LOOKS_PLACE,  /* it has run, waits now, and the record of its place follows */
    LOOKS_LEFT,   /* it has run, waits now, and the pass has no walk or no time left */
    LOOKS_ALIKE,  /* it has run, and waits as it did when LOOKS_PLACE was written: with the same pc,
                   * stack pointer and kernel stack. It is assumed to wait at the same place. */
};

/* Threads that wait as before are walked in one of this many passes. */
#define LOOKS_ALIKE_SHARE 8
#define LOOKS_ALIKE_MAX 16 /* after this many LOOKS_ALIKE in a row, a thread is walked */
/* Flag of an epoch: threads that wait as before are walked like others, because each wait may
 * belong to another request. */
#define LOOKS_EPOCH_WALKS 0x80000000u

struct looks_entry {
    SAMPLE_U32 host_pid, host_tid; /* in flamed's own pid namespace */
    SAMPLE_U64 ran_ns, queued_ns;  /* total time on a processor, and in run queues */
    SAMPLE_U32 bytes;              /* size of the record behind this entry, with its words; 0: no
                                    * record */
    SAMPLE_U8 found, runnable;     /* enum looks_found; runnable 1: it waits for a processor */
    SAMPLE_U8 alike, zero; /* alike 1: the thread waits as before, as with LOOKS_ALIKE; its record
                            * then stands for this thread only */
};

#ifndef __bpf__
_Static_assert(sizeof(struct looks_entry) == 32, "looks_entry must have no padding");
#endif

/* The parameters of one pass, which flamed chooses. */
struct looks_pass {
    SAMPLE_U32 share;       /* of the threads that have run, the share to walk, in units of
                             * 1/2^32 */
    SAMPLE_U32 walks;       /* limit of walks */
    SAMPLE_U32 parts, part; /* the pass visits threads with a number of @part modulo @parts */
};
