/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java frames of a stack that lies in memory. It is that of a thread that is not in Java code,
 * from its last Java frame on. Or it is that of a virtual thread that is not mounted, which a
 * StackChunk holds. Native frames between two pieces of Java code are left out. All that is read is
 * foreign: each step goes outwards and stays inside the bounds, and the number of frames is
 * bounded.
 */
#pragma once

#include "hotspot/vm.h"

#define JAVA_STACK_WORDS_MAX 2048 /* of one stack; an interpreted frame takes two */
#define JAVA_CODE_COUNT 4096      /* pieces of code that are remembered; a power of two */

/* What a walk must know of the code at a return address. */
struct java_code {
    uint64_t pc; /* 0: free */
    uint64_t deopt_handler;
    int32_t frame_words, orig_pc_offset, compile_id;
    bool is_method, known;
    uint32_t turn; /* when it was read */
};

/* Of a VM; what one turn has read holds for that turn alone. */
struct java_codes {
    uint32_t turn;
    struct java_code at[JAVA_CODE_COUNT];
};

enum java_stack_end {
    JAVA_STACK_WHOLE,  /* it ends at its outermost frame */
    JAVA_STACK_CUT,    /* there was no room for more frames */
    JAVA_STACK_BROKEN, /* a frame made no sense */
};

struct java_walk {
    struct hotspot_vm *vm;
    struct java_codes *codes;
    /* The words of [low, high), at @words, or, where that is NULL, in the memory of the target. */
    const uint64_t *words;
    uint64_t low, high;
    uint64_t words_end; /* of @words: the address behind the last one, at most @high */
    bool relative; /* a chunk: addresses of frames are numbers of words from where they stand */
    /* The frame that the walk is at. @fp: of the interpreter; 0: it stands where the frame before
     * saved it. @unextended: its sp before the interpreter made room above it; 0: as @sp. */
    uint64_t sp, pc, fp, unextended;
    uint64_t *out; /* as unwind/unwind.h has frames; the first is a return address, too */
    uint32_t count, max;
};

/* Walks from @w->pc on. Return: enum java_stack_end. */
int java_stack_walk(struct java_walk *w);
/* Begins a turn: code that was read before is read again. */
static inline void java_codes_begin(struct java_codes *c)
{
    c->turn++;
}
