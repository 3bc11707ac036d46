/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/result_aarch64.h"

#include "base/list.h"
#include "base/macros.h"
#include "sample/alloc_abi.h"

#include <string.h>

#define WORD sizeof(uint32_t)
#define BEHIND_CALL_MAX 8 /* instructions from a call to the test of its result */
#define PRESERVED 19      /* x19 to x28 survive calls */
#define PRESERVED_END 29

/* What an instruction writes. */
enum effect {
    KEEPS,  /* no register except the flags */
    WRITES, /* the register in its lowest five bits */
    PAIR,   /* two registers */
    MOVES,  /* the same, with the value of another register */
    CALLS,
};

static const struct {
    uint32_t mask, bits;
    enum effect effect;
} FORMS[] = {
    { 0xffe0ffe0, 0xaa0003e0, MOVES },  /* mov x, x */
    { 0xffe0ffe0, 0x2a0003e0, WRITES }, /* mov w, w */
    { 0x7f800000, 0x52800000, WRITES }, /* mov of a number */
    { 0x9f000000, 0x90000000, WRITES }, /* adrp */
    { 0xffc003e0, 0xf94003e0, WRITES }, /* ldr x, [sp, #n] */
    { 0xffc003e0, 0xa94003e0, PAIR },   /* ldp x, x, [sp, #n] */
    { 0x7f80001f, 0x7100001f, KEEPS },  /* cmp with a number */
    { 0x7e000000, 0x34000000, KEEPS },  /* cbz, cbnz */
    { 0x7e000000, 0x36000000, KEEPS },  /* tbz, tbnz */
    { 0xff000010, 0x54000000, KEEPS },  /* b with a condition */
    { 0xfc000000, 0x94000000, CALLS },  /* bl */
};

/* Where the result of a call is. */
struct result {
    uint32_t reg; /* number of the register with the result: that of x0, or another one */
    bool first;   /* x0 still holds the result, too */
};

static uint32_t word_at(const uint8_t *code)
{
    uint32_t i;

    memcpy(&i, code, sizeof(i));
    return i;
}

bool result_aarch64_leads(const uint8_t *code, bool jump, int64_t *ret_distance)
{
    uint32_t i = word_at(code);

    *ret_distance = (int64_t)((int32_t)(i << 6) >> 6) * (int64_t)WORD;
    return (i & 0xfc000000) == (jump ? 0x14000000 : 0x94000000);
}

/* Forgets the value of register @reg. Returns false if the result is lost. */
static bool forget(struct result *r, uint32_t reg)
{
    r->first = r->first && reg != 0;
    return r->reg != reg;
}

/* Follows the result over the instruction @i. Returns false if it is lost, or may be. */
static bool step_over(uint32_t i, struct result *r)
{
    size_t k = 0;

    while (k < ARRAY_SIZE(FORMS) && (i & FORMS[k].mask) != FORMS[k].bits)
        k++;
    if (k == ARRAY_SIZE(FORMS))
        return false;
    switch (FORMS[k].effect) {
    case KEEPS:
        return true;
    case MOVES:
        if ((i >> 16 & 31) == 0 && r->reg == 0) {
            r->reg = i & 31;
            return true;
        }
        return forget(r, i & 31);
    case WRITES:
        return forget(r, i & 31);
    case PAIR:
        return forget(r, i & 31) && forget(r, i >> 10 & 31);
    case CALLS:
        r->first = false;
        return r->reg >= PRESERVED && r->reg < PRESERVED_END;
    }
    return false;
}

/* Gets the place of register @reg among those that a program copies (registers.bpf.h). False: it
 * does not copy @reg. */
static bool place_of(uint32_t reg, uint32_t *ret)
{
    *ret = reg < PRESERVED ? reg : reg - PRESERVED + ALLOC_REGISTERS_FIRST;
    return reg < ALLOC_REGISTERS_FIRST || (reg >= PRESERVED && reg < PRESERVED_END);
}

/* Returns true if @i, at offset @at, tests the result and jumps within a function of @bytes. */
static bool tests(uint32_t i, size_t at, size_t bytes, const struct result *r)
{
    int64_t to = (int64_t)at + (int64_t)((int32_t)(i << 8) >> 13) * (int64_t)WORD;

    return (i & 0xfe000000) == 0xb4000000 && ((i & 31) == r->reg || (r->first && !(i & 31))) &&
           to >= 0 && to < (int64_t)bytes;
}

size_t result_aarch64_find(const uint8_t *code, size_t bytes, size_t at, uint32_t *ret_reg)
{
    struct result r = { .reg = 0, .first = true };

    for (size_t k = 1; k <= BEHIND_CALL_MAX && at + (k + 1) * WORD <= bytes; k++) {
        size_t to = at + k * WORD;
        uint32_t i = word_at(code + to);

        if (tests(i, to, bytes, &r))
            return place_of(r.reg, ret_reg) ? to : 0;
        if (!step_over(i, &r))
            return 0;
    }
    return 0;
}
