/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The frames that the unwinder yields, one word each, shared by BPF and flamed. Naming them is not
 * the unwinder's business.
 */
#pragma once

/*
 * A frame word: pc in bits 0..46, compile id mod 2^14 in bits 47..60, kind in bits 61..63.
 */
enum unwind_kind {
    UNWIND_NATIVE =
        0, /* pc of code that is not the JVM's, or of unknown nature (frame-pointer walks) */
    UNWIND_COMPILED = 1,    /* pc in an nmethod, with its compile id */
    UNWIND_INTERPRETED = 2, /* bits 0..46: Method*; the next word is the raw bcp */
    UNWIND_STUB = 3,
    UNWIND_MARK = 7, /* bits 0..46: a mark, e.g. frozen frames of a virtual thread */
};

#define UNWIND_PC_BITS 47
#define UNWIND_PC_MASK ((1ULL << UNWIND_PC_BITS) - 1)
#define UNWIND_ID_BITS 14
#define UNWIND_ID_MASK ((1ULL << UNWIND_ID_BITS) - 1)
#define UNWIND_KIND_SHIFT 61

/* Why a user stack ended. */
enum unwind_end {
    UNWIND_END_ROOT = 0,      /* whole */
    UNWIND_END_UNCHECKED = 1, /* the kernel's frame-pointer walk ended: whole or not is not known */
    UNWIND_END_LIMIT = 2,
};
