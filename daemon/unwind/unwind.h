/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The words that the unwinder writes for frames. BPF programs and flamed share them. The
 * symbolizer names the frames.
 */
#pragma once

/*
 * A frame word: pc in bits 0..47, compile id mod 2^13 in bits 48..60, kind in bits 61..63. The pc
 * of the leaf and of a frame that a signal interrupted is exact. Every other pc is a return
 * address.
 */
enum unwind_kind {
    UNWIND_NATIVE =
        0, /* pc outside the JVM's generated code, or of unknown code (frame-pointer walks) */
    UNWIND_COMPILED = 1, /* pc in an nmethod, with its compile id */
    UNWIND_INTERPRETED =
        2, /* bits 0..47: Method*; the next word is the raw bcp (0: at the method's entry) */
    UNWIND_STUB = 3,
    UNWIND_SIGNAL = 4, /* the kernel's signal trampoline: the next frame's pc is exact */
    UNWIND_MARK = 7,   /* bits 0..47: enum unwind_mark */
};

enum unwind_mark {
    UNWIND_MARK_FROZEN = 1,  /* older frames of a virtual thread, frozen in the heap and not read */
    UNWIND_MARK_SKIPPED = 2, /* native frames without unwind rules, down to the thread's last Java
                              * frame */
};

#define UNWIND_PC_BITS 48 /* enough for aarch64; x86-64 needs 47 */
#define UNWIND_PC_MASK ((1ULL << UNWIND_PC_BITS) - 1)
#define UNWIND_ID_BITS 13
#define UNWIND_ID_MASK ((1ULL << UNWIND_ID_BITS) - 1)
#define UNWIND_KIND_SHIFT 61

/* Why a user stack ended. Values are counted and shown: never renumber them. */
enum unwind_end {
    UNWIND_END_ROOT = 0,       /* complete: every step down to the outermost frame was validated */
    UNWIND_END_COPY = 1,       /* the stack is longer than its copy (sample/perf_abi.h) */
    UNWIND_END_LIMIT = 2,      /* unwind_max_frames, or the most reads or steps of one walk */
    UNWIND_END_NO_PROCESS = 3, /* the process has no tables yet */
    UNWIND_END_NO_MAPPING = 4, /* the pc is in no mapping of the tables, which are updated soon */
    UNWIND_END_NO_RULE = 5,    /* native code without an unwind rule */
    UNWIND_END_MEMORY = 6,     /* a word of the stack could not be read */
    UNWIND_END_PROGRESS = 7,   /* the caller's frame would not lie above the callee's frame */
    UNWIND_END_RETURN = 8,     /* the return address of native code points to no code */
    UNWIND_END_NO_BLOB = 9,    /* the pc is in the code cache but in no live block */
    UNWIND_END_COMPILED = 10,  /* a compiled frame without a valid return address */
    UNWIND_END_INTERPRETED = 11, /* interpreter code without a valid interpreter frame */
    UNWIND_END_STUB = 12,        /* a stub or adapter, with no caller found */
    UNWIND_END_RUNTIME = 13,     /* a runtime, safepoint or deoptimization blob, with no caller
                                  * found */
    UNWIND_END_THREAD = 14,      /* frozen frames begin, and the carrier's frames were not found */
    UNWIND_END_NOT_TAKEN = 15,   /* the thread had run on, or the sampling budget was spent */
    UNWIND_END_REFUSED = 16,     /* the copied stack was not walked: nothing of its owner is read */
    UNWIND_END_NO_COPY = 17,     /* the kernel copied nothing of the stack */
    UNWIND_END_COUNT,
};
