/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What looks.bpf.c writes of each thread that it looks at, and flamed reads. No padding. */
#pragma once

#include "sample/sample_abi.h"

#define LOOKS_PROCESSES_MAX 4096
/* A pass begins no walk later than this after its first thread. */
#define LOOKS_PASS_NS 20000000ull
#define LOOKS_SHARE_ALL 0xffffffffu /* of struct looks_pass */

enum looks_found {
    LOOKS_RUNS,   /* the thread is on a processor */
    LOOKS_SAME,   /* it has not run since the pass that wrote LOOKS_PLACE last */
    LOOKS_PASSED, /* it has run, waits now, and is left out of this pass */
    LOOKS_PLACE,  /* the same, and the record of where it waits follows */
    LOOKS_LEFT,   /* the same, and the pass has no walk or no time left */
};

struct looks_entry {
    SAMPLE_U32 host_pid, host_tid;      /* in flamed's own pid namespace */
    SAMPLE_U64 ran_ns, queued_ns;       /* on a processor, and waiting for one, in all its life */
    SAMPLE_U32 bytes;                   /* of the record behind it, with its words; else 0 */
    SAMPLE_U8 found, runnable, zero[2]; /* enum looks_found; runnable 1: it waits for a processor */
};

#ifndef __bpf__
_Static_assert(sizeof(struct looks_entry) == 32, "looks_entry must have no padding");
#endif

/* What one pass does, as flamed asks for it. */
struct looks_pass {
    SAMPLE_U32 share;       /* of the threads that have run, the share that is walked, of 2^32 */
    SAMPLE_U32 walks;       /* at most so many are */
    SAMPLE_U32 parts, part; /* of all threads, those whose number is @part modulo @parts */
};
