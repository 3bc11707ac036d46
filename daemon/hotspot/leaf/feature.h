/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features that bytecodes share with the machine code made from them: constants, offsets of fields,
 * sizes of array elements, and operations. A feature is one number, made from its kind and its
 * value or a part of the value.
 */
#pragma once

#include "base/span.h"

#define LEAF_INSTRUCTION_FEATURES_MAX 4 /* features of one machine instruction */
#define LEAF_FEATURE_VALUE_BITS 28

enum leaf_feature_kind {
    LEAF_SMALL, /* a constant below 31: a shift, a step */
    LEAF_MEDIUM,
    LEAF_LARGE, /* a constant above 255 */
    LEAF_WIDE,  /* a constant of eight bytes, which the code reads from its constants */
    LEAF_FIELD, /* an offset in an object */
    LEAF_ELEMENT,
    LEAF_OPERATION,
    LEAF_FEATURE_KINDS,
};

enum leaf_operation {
    LEAF_DOUBLE_ADD,
    LEAF_DOUBLE_MULTIPLY,
    LEAF_DOUBLE_DIVIDE,
    LEAF_FLOAT_ADD,
    LEAF_FLOAT_MULTIPLY,
    LEAF_FLOAT_DIVIDE,
    LEAF_MULTIPLY,
    LEAF_DIVIDE,
    LEAF_XOR,
    LEAF_CONVERT, /* conversion of an integer to floating point */
    LEAF_SHIFT_LEFT,
    LEAF_SHIFT_RIGHT,
    LEAF_SHIFT_UNSIGNED,
    LEAF_OPERATIONS,
};

/* Returns the feature of @kind with @value. */
static inline uint32_t leaf_feature(enum leaf_feature_kind kind, uint64_t value)
{
    uint64_t folded =
        value ^ value >> LEAF_FEATURE_VALUE_BITS ^ value >> 2 * LEAF_FEATURE_VALUE_BITS;

    return (uint32_t)kind << LEAF_FEATURE_VALUE_BITS |
           (uint32_t)(folded & ((UINT32_C(1) << LEAF_FEATURE_VALUE_BITS) - 1));
}

/* Returns the feature of a constant of four bytes. */
static inline uint32_t leaf_feature_constant(int32_t value)
{
    uint32_t size = value < 0 ? -(uint32_t)value : (uint32_t)value;

    return leaf_feature(size < 31    ? LEAF_SMALL
                        : size < 256 ? LEAF_MEDIUM
                                     : LEAF_LARGE,
                        (uint32_t)value);
}

/* Gets the features of the instruction at byte @at of @code. @constants: the bytes right before
 * @code. Returns the number of features. Pure. */
size_t leaf_instruction_features(struct span code, uint32_t at, struct span constants,
                                 uint32_t ret[LEAF_INSTRUCTION_FEATURES_MAX]);
