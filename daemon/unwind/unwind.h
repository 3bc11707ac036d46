/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The frames that the unwinder yields, one word each, shared by BPF and flamed. Naming them is not
 * the unwinder's business.
 */
#pragma once

/*
 * A frame word: pc in bits 0..47, compile id mod 2^13 in bits 48..60, kind in bits 61..63. The pc
 * of the leaf and of a frame that a signal interrupted is exact; every other one is a return
 * address.
 */
enum unwind_kind {
    UNWIND_NATIVE =
        0, /* pc of code that is not the JVM's, or of unknown nature (frame-pointer walks) */
    UNWIND_COMPILED = 1, /* pc in an nmethod, with its compile id */
    UNWIND_INTERPRETED =
        2, /* bits 0..47: Method*; the next word is the raw bcp (0: at its entry) */
    UNWIND_STUB = 3,
    UNWIND_SIGNAL = 4, /* the kernel's signal trampoline: the next frame's pc is exact */
    UNWIND_MARK = 7,   /* bits 0..47: enum unwind_mark */
};

enum unwind_mark {
    UNWIND_MARK_FROZEN = 1,  /* older frames of a virtual thread lie frozen in the heap */
    UNWIND_MARK_SKIPPED = 2, /* native frames without unwind rules, down to the thread's last Java
                              * frame */
};

#define UNWIND_PC_BITS 48 /* of aarch64; x86-64 has 47 */
#define UNWIND_PC_MASK ((1ULL << UNWIND_PC_BITS) - 1)
#define UNWIND_ID_BITS 13
#define UNWIND_ID_MASK ((1ULL << UNWIND_ID_BITS) - 1)
#define UNWIND_KIND_SHIFT 61

/* Why a user stack ended. Numbers never change: they are counted and shown. */
enum unwind_end {
    UNWIND_END_ROOT = 0,       /* whole: the outermost frame was reached and every step validated */
    UNWIND_END_COPY = 1,       /* the stack is longer than the copy of it (sample/perf_abi.h) */
    UNWIND_END_LIMIT = 2,      /* unwind_max_frames */
    UNWIND_END_NO_PROCESS = 3, /* no tables of this process yet */
    UNWIND_END_NO_MAPPING = 4, /* the pc is in no mapping that we know: its table comes soon */
    UNWIND_END_NO_RULE = 5,    /* native code without an unwind rule */
    UNWIND_END_MEMORY = 6,     /* a word of the stack could not be read */
    UNWIND_END_PROGRESS = 7,   /* the caller's frame would not lie above the callee's */
    UNWIND_END_RETURN = 8,     /* native code: what should be a return address is none */
    UNWIND_END_NO_BLOB = 9,    /* in the code cache but in no live block */
    UNWIND_END_COMPILED = 10,  /* no return address at its place in a compiled frame */
    UNWIND_END_INTERPRETED = 11, /* no interpreter frame where there should be one */
    UNWIND_END_STUB = 12,        /* stub or adapter whose caller was not found */
    UNWIND_END_RUNTIME = 13,     /* the same of a runtime, safepoint or deoptimization blob */
    UNWIND_END_THREAD = 14,    /* frozen frames begin, and the carrier's own are not to be found */
    UNWIND_END_NOT_TAKEN = 15, /* the thread had run on, or samples had taken too much time */
    UNWIND_END_COUNT,
};
