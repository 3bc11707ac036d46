/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of libjvm's functions in code that the VM made. On x86-64 they have one of two forms:
 *   e8 rel32                    call
 *   49 ba imm64, 41 ff d2       mov r10, call r10 (farther than 2 GB)
 * On aarch64:
 *   bl
 *   movz x8 (or movn), up to three movk x8, blr x8; in JDK 8 and 11, C2 pushes a pair before blr
 */
#include "hotspot/code/code.h"

#define FUNCTION_BYTES 9 /* endbr64, and a no-op of five bytes */
#define BREAKPOINT 0xcc
#define WORD sizeof(uint32_t)     /* bytes of an instruction of aarch64 */
#define MOVES_MAX 4               /* each sets a quarter of an address */
#define AARCH64_PROBE 0xd42000a0u /* brk #5: the kernel's uprobe */

/* Returns the instruction of aarch64 at @p. */
static uint32_t word_at(const uint8_t *p)
{
    uint32_t i;

    memcpy(&i, p, sizeof(i));
    return i;
}

/* Returns whether @i stores a pair of registers below sp and moves sp there. */
static bool pushes_pair(uint32_t i)
{
    return (i & 0xffc003e0) == 0xa98003e0;
}

/* Gets the constant that movz or movn and movk at @p build in one register. Also gets that
 * register, and the number of bytes. Returns false if no movz or movn is at @p. */
static bool take_constant(const uint8_t *p, size_t n, uint64_t *ret, uint32_t *ret_reg,
                          size_t *ret_bytes)
{
    uint32_t i = n >= WORD ? word_at(p) : 0, reg = i & 31, shift = (i >> 21 & 3) * 16;
    uint64_t value = (uint64_t)(i >> 5 & 0xffff) << shift;
    size_t at = WORD;

    if ((i & 0xff800000) == 0x92800000) /* movn */
        value = ~value;
    else if ((i & 0xff800000) != 0xd2800000) /* movz */
        return false;
    for (; at < MOVES_MAX * WORD && at + WORD <= n; at += WORD) {
        i = word_at(p + at);
        if ((i & 0xff80001f) != (0xf2800000 | reg)) /* movk */
            break;
        shift = (i >> 21 & 3) * 16;
        value = (value & ~(UINT64_C(0xffff) << shift)) | (uint64_t)(i >> 5 & 0xffff) << shift;
    }
    *ret = value;
    *ret_reg = reg;
    *ret_bytes = at;
    return true;
}

static bool aarch64_target(const uint8_t *p, size_t n, uint64_t at, uint64_t *ret)
{
    uint64_t value;
    uint32_t reg;
    size_t bytes;

    if (at % WORD != 0 || n < WORD)
        return false;
    if ((word_at(p) & 0xfc000000) == 0x94000000) { /* bl */
        *ret = at + (uint64_t)((int64_t)(int32_t)(word_at(p) << 6) >> 4);
        return true;
    }
    if (!take_constant(p, n, &value, &reg, &bytes))
        return false;
    if (bytes + WORD <= n && pushes_pair(word_at(p + bytes)))
        bytes += WORD;
    if (bytes + WORD > n || word_at(p + bytes) != (0xd63f0000 | reg << 5)) /* blr */
        return false;
    *ret = value;
    return true;
}

bool code_call_target(const struct hotspot_vm *vm, const uint8_t *p, size_t n, uint64_t at,
                      uint64_t *ret)
{
    int32_t relative;

    if (vm->layout.aarch64)
        return aarch64_target(p, n, at, ret);
    if (n >= 5 && p[0] == 0xe8) {
        memcpy(&relative, p + 1, sizeof(relative));
        *ret = at + 5 + (uint64_t)(int64_t)relative;
        return true;
    }
    if (n >= 13 && p[0] == 0x49 && p[1] == 0xba && p[10] == 0x41 && p[11] == 0xff &&
        p[12] == 0xd2) {
        memcpy(ret, p + 2, sizeof(*ret));
        return true;
    }
    return false;
}

/* Returns whether @i is an instruction that compiled functions begin with, behind a landing pad. */
static bool begins_aarch64(uint32_t i)
{
    return pushes_pair(i) || i == AARCH64_PROBE ||
           (i & 0xffe00fe0) == 0xf8000fe0 || /* str of a register, [sp, #n]! */
           (i & 0xff8003ff) == 0xd10003ff || /* sub sp, sp, #n */
           (i & 0x9f000000) == 0x90000000 || /* adrp */
           i == 0xd503201f;                  /* nop */
}

static bool is_function_of_aarch64(const uint8_t *p, uint64_t at)
{
    uint32_t i = word_at(p);

    if (at % WORD != 0)
        return false;
    if ((i & 0xffffff3f) == 0xd503241f || (i & 0xffffffbf) == 0xd503233f) /* bti; paciasp */
        i = word_at(p + WORD);
    return begins_aarch64(i);
}

bool code_is_function(struct hotspot_vm *vm, uint64_t at)
{
    static const uint8_t ENDBR64[] = { 0xf3, 0x0f, 0x1e, 0xfa },
                         NOP5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
    uint8_t p[FUNCTION_BYTES];
    const uint8_t *code = p;

    if (at < vm->layout.image_start || at >= vm->layout.image_end - sizeof(p) ||
        memory_read(&vm->memory, at, p, sizeof(p)) < 0)
        return false;
    if (vm->layout.aarch64)
        return is_function_of_aarch64(p, at);
    if (memcmp(p, ENDBR64, sizeof(ENDBR64)) == 0)
        code += sizeof(ENDBR64);
    return code[0] == BREAKPOINT || code[0] == 0x55 ||
           (code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57) ||
           memcmp(code, NOP5, sizeof(NOP5)) == 0;
}
