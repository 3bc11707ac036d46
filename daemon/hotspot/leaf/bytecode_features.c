/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the features that a method's bytecodes share with the machine code made from them
 * (feature.h). */
#include "hotspot/leaf/bytecode.h"
#include "hotspot/leaf/feature.h"

enum {
    OP_BIPUSH = 16,
    OP_SIPUSH = 17,
    OP_LDC = 18,
    OP_LDC_W = 19,
    OP_LDC2_W = 20,
    OP_IALOAD = 46,
    OP_SALOAD = 53,
    OP_IASTORE = 79,
    OP_SASTORE = 86,
    OP_IMUL = 104,
    OP_LMUL = 105,
    OP_GETFIELD = 180,
    OP_PUTFIELD = 181,
    OP_ARRAYLENGTH = 190,
    OP_FAST_FIRST_FIELD = 203,
    OP_FAST_LAST_FIELD = 219,
    OP_FAST_FIRST_OWN = 221, /* aload_0, then a field of that object */
    OP_FAST_LAST_OWN = 223,
    OP_FAST_ICALOAD = 226,
};

#define ARRAY_LENGTH_OFFSET 12 /* with compressed classes */
#define CONSTANT_MIN 4

/* Bytes of an array element, by the opcode: the entries follow iaload, and iastore. */
static const uint8_t ELEMENTS[] = { 4, 8, 4, 8, 4, 1, 2, 2 };

static const struct {
    uint8_t opcode, operation;
} OPERATIONS[] = {
    { 98, LEAF_FLOAT_ADD },
    { 99, LEAF_DOUBLE_ADD },
    { 102, LEAF_FLOAT_ADD },
    { 103, LEAF_DOUBLE_ADD },
    { 104, LEAF_MULTIPLY },
    { 105, LEAF_MULTIPLY },
    { 106, LEAF_FLOAT_MULTIPLY },
    { 107, LEAF_DOUBLE_MULTIPLY },
    { 108, LEAF_DIVIDE },
    { 109, LEAF_DIVIDE },
    { 110, LEAF_FLOAT_DIVIDE },
    { 111, LEAF_DOUBLE_DIVIDE },
    { 112, LEAF_DIVIDE },
    { 113, LEAF_DIVIDE },
    { 120, LEAF_SHIFT_LEFT },
    { 121, LEAF_SHIFT_LEFT },
    { 122, LEAF_SHIFT_RIGHT },
    { 123, LEAF_SHIFT_RIGHT },
    { 124, LEAF_SHIFT_UNSIGNED },
    { 125, LEAF_SHIFT_UNSIGNED },
    { 130, LEAF_XOR },
    { 131, LEAF_XOR },
    { 134, LEAF_CONVERT },
    { 135, LEAF_CONVERT },
    { 137, LEAF_CONVERT },
    { 138, LEAF_CONVERT },
};

static bool is_power_of_two(uint32_t v)
{
    return v && !(v & (v - 1));
}

/* Returns the feature of the constant @v. The compilers multiply by 31 or 33 with a shift by 5. */
static uint32_t constant_key(int32_t v, uint8_t next)
{
    uint32_t power = is_power_of_two((uint32_t)v + 1) ? (uint32_t)v + 1 : (uint32_t)v - 1;

    if ((next != OP_IMUL && next != OP_LMUL) || v < CONSTANT_MIN || !is_power_of_two(power))
        return leaf_feature_constant(v);
    return leaf_feature_constant(__builtin_ctz(power));
}

static uint16_t get_u16(const uint8_t *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof(v)); /* the VM rewrote it to the byte order of the processor */
    return v;
}

/* Gets the feature of the opcode alone. Returns false if there is none. */
static bool by_opcode(uint8_t op, uint32_t *ret)
{
    if (op >= OP_IALOAD && op <= OP_SALOAD)
        *ret = leaf_feature(LEAF_ELEMENT, ELEMENTS[op - OP_IALOAD]);
    else if (op >= OP_IASTORE && op <= OP_SASTORE)
        *ret = leaf_feature(LEAF_ELEMENT, ELEMENTS[op - OP_IASTORE]);
    else if (op == OP_FAST_ICALOAD)
        *ret = leaf_feature(LEAF_ELEMENT, 2);
    else if (op == OP_ARRAYLENGTH)
        *ret = leaf_feature(LEAF_FIELD, ARRAY_LENGTH_OFFSET);
    else {
        for (size_t i = 0; i < ARRAY_SIZE(OPERATIONS); i++) {
            if (OPERATIONS[i].opcode == op) {
                *ret = leaf_feature(LEAF_OPERATION, OPERATIONS[i].operation);
                return true;
            }
        }
        return false;
    }
    return true;
}

static bool by_operand(const uint8_t *p, struct leaf_bytecode_feature *ret)
{
    switch (*p) {
    case OP_LDC:
        ret->index = p[1];
        ret->operand = LEAF_OPERAND_POOL;
        return true;
    case OP_LDC_W:
    case OP_LDC2_W:
        ret->index = (uint16_t)(p[1] << 8 | p[2]);
        ret->operand = *p == OP_LDC_W ? LEAF_OPERAND_POOL : LEAF_OPERAND_POOL_WIDE;
        return true;
    default:
        if (*p != OP_GETFIELD && *p != OP_PUTFIELD &&
            (*p < OP_FAST_FIRST_FIELD || *p > OP_FAST_LAST_OWN || *p == OP_FAST_LAST_FIELD + 1))
            return false;
        ret->index = get_u16(p + (*p >= OP_FAST_FIRST_OWN ? 2 : 1));
        ret->operand = LEAF_OPERAND_FIELD;
        return true;
    }
}

size_t leaf_bytecode_features(struct span code, struct leaf_bytecode_feature *ret, size_t max)
{
    const uint8_t *p = (const uint8_t *)code.p;
    size_t count = 0;

    for (size_t at = 0, n; at < code.n && count < max; at += n) {
        struct leaf_bytecode_feature f = { .bci = (int32_t)at };
        uint8_t next;
        int32_t v;

        n = leaf_bytecode_length(code, at);
        if (n == 0)
            break;
        next = at + n < code.n ? p[at + n] : 0;
        if (p[at] == OP_BIPUSH || p[at] == OP_SIPUSH) {
            v = p[at] == OP_BIPUSH ? (int8_t)p[at + 1] : (int16_t)(p[at + 1] << 8 | p[at + 2]);
            f.key = constant_key(v, next);
            if (v > -16 && v < CONSTANT_MIN)
                continue;
        } else if (!by_opcode(p[at], &f.key) && !by_operand(p + at, &f)) {
            continue;
        }
        ret[count++] = f;
    }
    return count;
}
