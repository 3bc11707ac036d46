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

/* Where the value of a feature stands, if not in the bytecodes. */
enum leaf_operand {
    LEAF_OPERAND_NONE,
    LEAF_OPERAND_POOL,      /* four bytes of the constant pool's entry @index */
    LEAF_OPERAND_POOL_WIDE, /* eight */
    LEAF_OPERAND_FIELD,     /* the offset of a field, by what @index resolves to */
};

struct leaf_bytecode_feature {
    int32_t bci;
    uint32_t key; /* feature.h; set by the caller where there is an operand */
    uint16_t index;
    uint8_t operand; /* enum leaf_operand */
};

/* Returns the bytes of the bytecode at @at; 0: cannot be told, or it is cut. */
size_t leaf_bytecode_length(struct span code, size_t at);
/* Finds the features of @code, at most @max of them. Pure. Return: their number. */
size_t leaf_bytecode_features(struct span code, struct leaf_bytecode_feature *ret, size_t max);
/* Finds the loops and calls of @code. Pure. 0; -EBADMSG: it cannot be read; -E2BIG: more than there
 * is room for. */
int leaf_bytecode_read(struct span code, struct leaf_bytecodes *ret);
