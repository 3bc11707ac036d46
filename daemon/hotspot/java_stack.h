/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the Java frames of a stack in memory. This is the stack of a thread outside Java code, from
 * its last Java frame on. Or it is the stack of an unmounted virtual thread, in a StackChunk.
 * Native frames between two pieces of Java code are left out. The memory is foreign: each step goes
 * outwards and stays inside the bounds, and the number of frames is bounded.
 */
#pragma once

#include "hotspot/vm.h"

#define JAVA_STACK_WORDS_MAX 2048 /* words of one stack; an interpreted frame takes two */
#define JAVA_CODE_COUNT 4096      /* cached pieces of code; a power of two */

/* What a walk needs to know about the code at a return address. */
struct java_code {
    uint64_t pc; /* return address; 0: the entry is free */
    uint64_t deopt_handler;
    int32_t frame_words, orig_pc_offset, compile_id;
    bool is_method, known;
    uint32_t turn; /* turn in which the entry was read */
};

/* Cache of a VM; entries are valid for the turn that read them. */
struct java_codes {
    uint32_t turn;
    struct java_code at[JAVA_CODE_COUNT];
};

enum java_stack_end {
    JAVA_STACK_WHOLE,  /* walked up to the outermost frame */
    JAVA_STACK_CUT,    /* no room for more frames */
    JAVA_STACK_BROKEN, /* a malformed frame */
};

struct java_walk {
    struct hotspot_vm *vm;
    struct java_codes *codes;
    /* The words of [low, high). They are at @words, or in the target's memory if @words is NULL. */
    const uint64_t *words;
    uint64_t low, high;
    uint64_t words_end; /* address behind the last of @words, at most @high */
    bool relative; /* a StackChunk: an address in a frame is a number of words from its own place */
    /* The current frame. @fp: frame pointer of an interpreted frame; 0: in the word that the inner
     * frame saved. @unextended: sp before the interpreter made room above it; 0: equal to @sp. */
    uint64_t sp, pc, fp, unextended;
    uint64_t *out; /* frames as in unwind/unwind.h; the first is also a return address */
    uint32_t count, max;
};

/* Walks outwards from @w->pc. Return: enum java_stack_end. */
int java_stack_walk(struct java_walk *w);
/* Begins a turn, in which code that was read in earlier turns does not count. */
static inline void java_codes_begin(struct java_codes *c)
{
    c->turn++;
}
