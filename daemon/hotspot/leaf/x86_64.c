/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the flow of x86-64 code, by Zydis in its minimal mode, which gives lengths and mnemonics
 * but no operands.
 */
#include "hotspot/leaf/instruction.h"

#include <Zydis/Zydis.h>

#define X86_TEST_OPCODE 0x85 /* test r32, r/m32: HotSpot's poll */
#define X86_MOD_REGISTER 3   /* in ModRM: the operand is a register */

static enum leaf_flow x86_flow(const ZydisDecodedInstruction *i)
{
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_NOP:
        return LEAF_PAD;
    case ZYDIS_MNEMONIC_CALL:
        return LEAF_CALL;
    case ZYDIS_MNEMONIC_JMP:
        return LEAF_JUMP;
    case ZYDIS_MNEMONIC_RET:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_INT3:
        return LEAF_STOP;
    default:
        return i->raw.imm[0].is_relative ? LEAF_BRANCH : LEAF_STEP;
    }
}

static struct leaf_instruction x86_instruction(const ZydisDecodedInstruction *i, uint32_t at)
{
    struct leaf_instruction r = {
        .target = LEAF_NO_TARGET, .at = at, .size = i->length, .flow = (uint8_t)x86_flow(i)
    };

    if (i->raw.imm[0].is_relative)
        r.target = (int64_t)at + i->length + i->raw.imm[0].value.s;
    r.poll = i->mnemonic == ZYDIS_MNEMONIC_TEST && i->opcode == X86_TEST_OPCODE &&
             i->raw.modrm.mod != X86_MOD_REGISTER;
    return r;
}

size_t leaf_decode(struct span code, struct leaf_instruction *ret, size_t max)
{
    ZydisDecoder decoder;
    size_t n = 0, at = 0;

    if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        ZYAN_FAILED(ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE)))
        return 0;
    while (at < code.n && n < max) {
        ZydisDecodedInstruction i;
        struct leaf_instruction *to = &ret[n++];

        if (ZYAN_SUCCESS(
                ZydisDecoderDecodeInstruction(&decoder, NULL, code.p + at, code.n - at, &i)))
            *to = x86_instruction(&i, (uint32_t)at);
        else
            *to = (struct leaf_instruction){
                .target = LEAF_NO_TARGET, .at = (uint32_t)at, .size = 1, .flow = LEAF_STOP
            };
        at += to->size;
    }
    return at < code.n ? max + 1 : n;
}
