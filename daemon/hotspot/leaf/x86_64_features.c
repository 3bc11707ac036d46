/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the features of x86-64 instructions, by Zydis in its minimal mode. Zydis gives the bytes of
 * operands; this file interprets them.
 */
#include "hotspot/leaf/feature.h"

#include <Zydis/Zydis.h>

#define X86_MOD_REGISTER 3 /* in ModRM: the operand is a register */
#define X86_RM_SIB 4       /* a SIB byte follows; in a SIB byte: base rsp or r12, or no index */
#define X86_RM_RIP 5       /* relative to the next instruction, if mod gives no displacement */
#define X86_RM_THREAD 7    /* with B: r15, which holds HotSpot's thread */
#define FIELD_OFFSET_MIN 8 /* smaller offsets are in an object's mark */
#define CONSTANT_MIN 4     /* smaller constants are steps and strides */

/* Mnemonics and their operations. */
static const struct {
    uint16_t mnemonic;
    uint8_t operation;
} OPERATIONS[] = {
    { ZYDIS_MNEMONIC_ADDSD, LEAF_DOUBLE_ADD },
    { ZYDIS_MNEMONIC_SUBSD, LEAF_DOUBLE_ADD },
    { ZYDIS_MNEMONIC_VADDSD, LEAF_DOUBLE_ADD },
    { ZYDIS_MNEMONIC_VSUBSD, LEAF_DOUBLE_ADD },
    { ZYDIS_MNEMONIC_VADDPD, LEAF_DOUBLE_ADD },
    { ZYDIS_MNEMONIC_VSUBPD, LEAF_DOUBLE_ADD },
    { ZYDIS_MNEMONIC_MULSD, LEAF_DOUBLE_MULTIPLY },
    { ZYDIS_MNEMONIC_VMULSD, LEAF_DOUBLE_MULTIPLY },
    { ZYDIS_MNEMONIC_VMULPD, LEAF_DOUBLE_MULTIPLY },
    { ZYDIS_MNEMONIC_DIVSD, LEAF_DOUBLE_DIVIDE },
    { ZYDIS_MNEMONIC_VDIVSD, LEAF_DOUBLE_DIVIDE },
    { ZYDIS_MNEMONIC_VDIVPD, LEAF_DOUBLE_DIVIDE },
    { ZYDIS_MNEMONIC_ADDSS, LEAF_FLOAT_ADD },
    { ZYDIS_MNEMONIC_SUBSS, LEAF_FLOAT_ADD },
    { ZYDIS_MNEMONIC_VADDSS, LEAF_FLOAT_ADD },
    { ZYDIS_MNEMONIC_VSUBSS, LEAF_FLOAT_ADD },
    { ZYDIS_MNEMONIC_VADDPS, LEAF_FLOAT_ADD },
    { ZYDIS_MNEMONIC_VSUBPS, LEAF_FLOAT_ADD },
    { ZYDIS_MNEMONIC_MULSS, LEAF_FLOAT_MULTIPLY },
    { ZYDIS_MNEMONIC_VMULSS, LEAF_FLOAT_MULTIPLY },
    { ZYDIS_MNEMONIC_VMULPS, LEAF_FLOAT_MULTIPLY },
    { ZYDIS_MNEMONIC_DIVSS, LEAF_FLOAT_DIVIDE },
    { ZYDIS_MNEMONIC_VDIVSS, LEAF_FLOAT_DIVIDE },
    { ZYDIS_MNEMONIC_VDIVPS, LEAF_FLOAT_DIVIDE },
    { ZYDIS_MNEMONIC_IMUL, LEAF_MULTIPLY },
    { ZYDIS_MNEMONIC_VPMULLD, LEAF_MULTIPLY },
    { ZYDIS_MNEMONIC_VPMULLQ, LEAF_MULTIPLY },
    { ZYDIS_MNEMONIC_IDIV, LEAF_DIVIDE },
    { ZYDIS_MNEMONIC_DIV, LEAF_DIVIDE },
    { ZYDIS_MNEMONIC_XOR, LEAF_XOR },
    { ZYDIS_MNEMONIC_VPXOR, LEAF_XOR },
    { ZYDIS_MNEMONIC_VPXORD, LEAF_XOR },
    { ZYDIS_MNEMONIC_VPXORQ, LEAF_XOR },
    { ZYDIS_MNEMONIC_CVTSI2SD, LEAF_CONVERT },
    { ZYDIS_MNEMONIC_CVTSI2SS, LEAF_CONVERT },
    { ZYDIS_MNEMONIC_VCVTSI2SD, LEAF_CONVERT },
    { ZYDIS_MNEMONIC_VCVTSI2SS, LEAF_CONVERT },
    { ZYDIS_MNEMONIC_VCVTDQ2PD, LEAF_CONVERT },
    { ZYDIS_MNEMONIC_VCVTDQ2PS, LEAF_CONVERT },
    { ZYDIS_MNEMONIC_SHL, LEAF_SHIFT_LEFT },
    { ZYDIS_MNEMONIC_SHLX, LEAF_SHIFT_LEFT },
    { ZYDIS_MNEMONIC_VPSLLD, LEAF_SHIFT_LEFT },
    { ZYDIS_MNEMONIC_VPSLLQ, LEAF_SHIFT_LEFT },
    { ZYDIS_MNEMONIC_SAR, LEAF_SHIFT_RIGHT },
    { ZYDIS_MNEMONIC_SARX, LEAF_SHIFT_RIGHT },
    { ZYDIS_MNEMONIC_VPSRAD, LEAF_SHIFT_RIGHT },
    { ZYDIS_MNEMONIC_SHR, LEAF_SHIFT_UNSIGNED },
    { ZYDIS_MNEMONIC_SHRX, LEAF_SHIFT_UNSIGNED },
    { ZYDIS_MNEMONIC_VPSRLD, LEAF_SHIFT_UNSIGNED },
    { ZYDIS_MNEMONIC_VPSRLQ, LEAF_SHIFT_UNSIGNED },
};

/* Returns whether @i is an exclusive or of a register with itself, which gives zero. */
static bool is_zeroing(const ZydisDecodedInstruction *i)
{
    return i->raw.modrm.mod == X86_MOD_REGISTER && i->raw.modrm.reg == i->raw.modrm.rm &&
           i->raw.rex.R == i->raw.rex.B;
}

static size_t add_operation(const ZydisDecodedInstruction *i, uint32_t *ret)
{
    for (size_t k = 0; k < ARRAY_SIZE(OPERATIONS); k++) {
        if (OPERATIONS[k].mnemonic != i->mnemonic)
            continue;
        if (OPERATIONS[k].operation == LEAF_XOR && is_zeroing(i))
            return 0;
        *ret = leaf_feature(LEAF_OPERATION, OPERATIONS[k].operation);
        return 1;
    }
    return 0;
}

static size_t add_immediate(const ZydisDecodedInstruction *i, uint32_t *ret)
{
    int64_t v = i->raw.imm[0].value.s;

    if (i->raw.imm[0].size == 0 || (v > -16 && v < CONSTANT_MIN) ||
        i->opcode_map > ZYDIS_OPCODE_MAP_0F)
        return 0;
    *ret = v == (int32_t)v || v == (uint32_t)v ? leaf_feature_constant((int32_t)v)
                                               : leaf_feature(LEAF_WIDE, (uint64_t)v);
    return 1;
}

/* Adds the constant at @offset, counted from the start of the code. */
static size_t add_constant(int64_t offset, struct span constants, uint32_t *ret)
{
    int64_t at = (int64_t)constants.n + offset;
    uint64_t wide;
    uint32_t narrow;

    if (at < 0 || at > (int64_t)constants.n - 4)
        return 0;
    memcpy(&narrow, constants.p + at, sizeof(narrow));
    ret[0] = leaf_feature_constant((int32_t)narrow);
    if (at > (int64_t)constants.n - 8)
        return 1;
    memcpy(&wide, constants.p + at, sizeof(wide));
    ret[1] = leaf_feature(LEAF_WIDE, wide);
    return 2;
}

static size_t add_memory(const ZydisDecodedInstruction *i, int64_t next, struct span constants,
                         uint32_t *ret)
{
    bool base_b = i->raw.rex.B, indexed = false, on_stack = false;
    int64_t disp = i->raw.disp.value;

    if (!(i->attributes & ZYDIS_ATTRIB_HAS_MODRM) || i->raw.modrm.mod == X86_MOD_REGISTER ||
        i->mnemonic == ZYDIS_MNEMONIC_LEA || i->mnemonic == ZYDIS_MNEMONIC_NOP)
        return 0;
    if (i->raw.modrm.mod == 0 && i->raw.modrm.rm == X86_RM_RIP)
        return add_constant(next + disp, constants, ret);
    if (i->raw.modrm.rm == X86_RM_SIB) {
        on_stack = i->raw.sib.base == X86_RM_SIB;
        indexed = i->raw.sib.index != X86_RM_SIB && !on_stack;
        if (on_stack && i->raw.sib.index != X86_RM_SIB && i->raw.sib.scale == 3)
            on_stack = false; /* a compressed pointer: r12 holds the start of the heap */
    } else if (i->raw.modrm.rm == X86_RM_THREAD && base_b) {
        return 0;
    }
    if (indexed) {
        *ret = leaf_feature(LEAF_ELEMENT, UINT64_C(1) << i->raw.sib.scale);
        return 1;
    }
    if (on_stack || disp < FIELD_OFFSET_MIN)
        return 0;
    *ret = leaf_feature(LEAF_FIELD, (uint64_t)disp);
    return 1;
}

size_t leaf_instruction_features(struct span code, uint32_t at, struct span constants,
                                 uint32_t ret[LEAF_INSTRUCTION_FEATURES_MAX])
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction i;
    size_t n;

    if (at >= code.n ||
        ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        ZYAN_FAILED(ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE)) ||
        ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, code.p + at, code.n - at, &i)) ||
        i.raw.imm[0].is_relative || i.mnemonic == ZYDIS_MNEMONIC_RET)
        return 0;
    n = add_operation(&i, ret);
    n += add_immediate(&i, ret + n);
    return n + add_memory(&i, (int64_t)at + i.length, constants, ret + n);
}
