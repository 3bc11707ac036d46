/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the flow of aarch64 code. The compilers write no table jump there, so a jump through a
 * register leaves the method.
 */
#include "hotspot/leaf/instruction.h"

#include "base/list.h"

#define WORD sizeof(uint32_t)
#define AARCH64_LOAD_X8 0x58000048u /* ldr x8, #8 */
#define AARCH64_BR_X8 0xd61f0100u
#define TRAMPOLINE_BYTES (2 * WORD + sizeof(uint64_t))

/* A form of instructions: those with the value @bits in the bits of @mask. A target is a number of
 * words in the @n bits from bit @low up. */
struct form {
    uint32_t mask, bits;
    uint8_t flow, low, n; /* flow: enum leaf_flow; n 0: no target */
};

/* The first form that fits an instruction counts; an instruction that fits none is a LEAF_STEP. */
static const struct form FORMS[] = {
    { 0xffffffff, 0xd503201f, LEAF_PAD, 0, 0 },     /* nop */
    { 0xfc000000, 0x14000000, LEAF_JUMP, 0, 26 },   /* b */
    { 0xfc000000, 0x94000000, LEAF_CALL, 0, 26 },   /* bl */
    { 0xff000010, 0x54000000, LEAF_BRANCH, 5, 19 }, /* b with a condition */
    { 0x7e000000, 0x34000000, LEAF_BRANCH, 5, 19 }, /* cbz, cbnz */
    { 0x7e000000, 0x36000000, LEAF_BRANCH, 5, 14 }, /* tbz, tbnz */
    { 0xfffffc1f, 0xd63f0000, LEAF_CALL, 0, 0 },    /* blr */
    { 0xfe000000, 0xd6000000, LEAF_STOP, 0, 0 },    /* br, ret */
    { 0xff000000, 0xd4000000, LEAF_STOP, 0, 0 },    /* brk, hlt, dcps1 */
    { 0x1e000000, 0x00000000, LEAF_STOP, 0, 0 },    /* udf; the next two are not allocated */
    { 0x1e000000, 0x02000000, LEAF_STOP, 0, 0 },    { 0x1e000000, 0x06000000, LEAF_STOP, 0, 0 },
};

static uint32_t word_at(struct span code, size_t at)
{
    uint32_t i;

    memcpy(&i, code.p + at, sizeof(i));
    return i;
}

bool leaf_trampoline(struct span code, size_t at, uint64_t *ret)
{
    if (at % WORD != 0 || at > code.n || code.n - at < TRAMPOLINE_BYTES ||
        word_at(code, at) != AARCH64_LOAD_X8 || word_at(code, at + WORD) != AARCH64_BR_X8)
        return false;
    memcpy(ret, code.p + at + 2 * WORD, sizeof(*ret));
    return true;
}

static struct leaf_instruction decode_one(uint32_t i, uint32_t at)
{
    struct leaf_instruction r = {
        .target = LEAF_NO_TARGET, .at = at, .size = WORD, .flow = LEAF_STEP
    };
    const struct form *f =
        FIRST_OF(k, FORMS, ARRAY_SIZE(FORMS), (i & FORMS[k].mask) == FORMS[k].bits);

    if (f) {
        r.flow = f->flow;
        if (f->n)
            r.target =
                (int64_t)at +
                ((int64_t)((uint64_t)i << (64 - f->low - f->n)) >> (64 - f->n)) * (int64_t)WORD;
    }
    r.poll = (i & 0xfffffc1f) == 0xb940001f; /* ldr wzr, [a register] */
    return r;
}

size_t leaf_decode_aarch64(struct span code, struct leaf_instruction *ret, size_t max)
{
    size_t n = 0, data = 0; /* data: end of the address in the last trampoline */
    uint64_t address;

    for (size_t at = 0; at < code.n; at += ret[n++].size) {
        if (n == max)
            return max + 1;
        if (code.n - at < WORD || at < data) {
            ret[n] = (struct leaf_instruction){ .target = LEAF_NO_TARGET,
                                                .at = (uint32_t)at,
                                                .size = (uint8_t)MIN(code.n - at, WORD),
                                                .flow = LEAF_STOP };
            continue;
        }
        ret[n] = decode_one(word_at(code, at), (uint32_t)at);
        if (at >= WORD && leaf_trampoline(code, at - WORD, &address))
            data = at - WORD + TRAMPOLINE_BYTES;
    }
    return n;
}
