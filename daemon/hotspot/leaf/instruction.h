/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine instructions as flow: where each begins, how long it is, and where control goes next. In
 * this folder, only aarch64.c, x86_64.c and x86_64_features.c decode instructions.
 */
#pragma once

#include "base/span.h"

#define LEAF_NO_TARGET INT64_MIN

enum leaf_flow {
    LEAF_STEP,   /* control goes to the next instruction */
    LEAF_PAD,    /* as LEAF_STEP, but without effect: alignment */
    LEAF_CALL,   /* to the next instruction, after a call */
    LEAF_SLOW,   /* as LEAF_CALL, but of a rare path of the VM: set by mark_calls() */
    LEAF_TRAP,   /* nowhere, as the called function does not return: set by mark_calls() */
    LEAF_BRANCH, /* to the next instruction or to the target */
    LEAF_JUMP,   /* to the target */
    LEAF_STOP,   /* nowhere: a return, a trap, or bytes that are no instruction */
};

struct leaf_instruction {
    int64_t target; /* bytes from the code's start; LEAF_NO_TARGET: none, or unknown */
    uint32_t at;    /* bytes from the code's start */
    uint8_t size;   /* bytes */
    uint8_t flow;   /* enum leaf_flow */
    bool poll;      /* reads memory as a safepoint poll does, so it may have a record */
};

/* Decodes x86-64 @code from its start, one instruction after the other, at most @max. A byte that
 * begins no instruction becomes a LEAF_STOP of one byte. Returns the number of instructions, or
 * @max + 1 if there are more. Pure; allocates nothing. */
size_t leaf_decode(struct span code, struct leaf_instruction *ret, size_t max);
/* Does the same for aarch64. */
size_t leaf_decode_aarch64(struct span code, struct leaf_instruction *ret, size_t max);
/* Gets the address that the trampoline at byte @at of aarch64 @code leads to. Returns false if
 * there is no trampoline. Pure. */
bool leaf_trampoline(struct span code, size_t at, uint64_t *ret);
