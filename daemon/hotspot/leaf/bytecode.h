/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the loops and calls in a method's bytecodes, as they lie in a running VM. The VM rewrites
 * some bytecodes to its own. Releases number those differently. The functions that read bytecodes
 * expect the numbers of JDK 9 to 27.
 */
#pragma once

#include "hotspot/leaf/leaf.h"

#define LEAF_SPANS_MAX 128 /* loops of one method */
#define LEAF_CALLS_MAX 256 /* calls of one method */

/* A bytecode that calls a method. */
struct leaf_call {
    int32_t bci;
    uint16_t index; /* operand as the VM rewrote it; names the called method */
    uint8_t opcode;
};

struct leaf_bytecodes {
    struct leaf_span spans[LEAF_SPANS_MAX]; /* smaller ones first */
    struct leaf_call calls[LEAF_CALLS_MAX]; /* in order */
    uint32_t span_count, call_count;
};

/* Where the value of a feature is, if it is not in the bytecodes. */
enum leaf_operand {
    LEAF_OPERAND_NONE,
    LEAF_OPERAND_POOL,      /* four bytes of entry @index in the constant pool */
    LEAF_OPERAND_POOL_WIDE, /* eight bytes of that entry */
    LEAF_OPERAND_FIELD,     /* offset of the field that @index resolves to */
};

struct leaf_bytecode_feature {
    int32_t bci;
    uint32_t key; /* feature.h; if there is an operand, the caller sets it */
    uint16_t index;
    uint8_t operand; /* enum leaf_operand */
};

#define LEAF_OWN_FIRST 203u /* the VM's own bytecodes have this number or a greater one */

/* The numbers that this file expects, by the numbers that a VM uses for its own bytecodes. */
struct leaf_numbers {
    uint8_t own[256 - LEAF_OWN_FIRST];
};

/* Returns the expected number of the VM's own bytecode @name, or of one that reads the same; 0:
 * unknown. */
uint8_t leaf_bytecode_number(const char *name);
/* Rewrites the VM's own bytecodes in @code to the expected numbers, up to an unknown one. */
void leaf_bytecode_renumber(uint8_t *code, size_t n, const struct leaf_numbers *numbers);

/* Returns the length in bytes of the bytecode at @at; 0: unknown, or cut. */
size_t leaf_bytecode_length(struct span code, size_t at);
/* Finds the features of @code, at most @max. Returns their number. Pure. */
size_t leaf_bytecode_features(struct span code, struct leaf_bytecode_feature *ret, size_t max);
/* Finds the loops and calls of @code. Pure. Return: 0; -EBADMSG: malformed; -E2BIG: more than
 * fit. */
int leaf_bytecode_read(struct span code, struct leaf_bytecodes *ret);
