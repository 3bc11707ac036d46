/* SPDX-License-Identifier: Apache-2.0 */
/* The loops and calls of a method's bytecodes, as they lie in a running VM: some are rewritten. */
#pragma once

#include "hotspot/leaf/leaf.h"

#define LEAF_SPANS_MAX 128 /* loops of one method */
#define LEAF_CALLS_MAX 256 /* calls of one method */

/* A bytecode that calls a method. */
struct leaf_call {
    int32_t bci;
    uint16_t index; /* of what it resolves to, as the VM rewrote it */
    uint8_t opcode;
};

struct leaf_bytecodes {
    struct leaf_span spans[LEAF_SPANS_MAX]; /* the small ones first */
    struct leaf_call calls[LEAF_CALLS_MAX]; /* in order */
    uint32_t span_count, call_count;
};

/* Finds the loops and calls of @code. Pure. 0; -EBADMSG: it cannot be read; -E2BIG: more than there
 * is room for. */
int leaf_bytecode_read(struct span code, struct leaf_bytecodes *ret);
