/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of libjvm's functions in code that the VM made. They have one of two forms:
 *   e8 rel32                    call
 *   49 ba imm64, 41 ff d2       mov r10, call r10 (farther than 2 GB)
 */
#include "hotspot/code/code.h"

#define FUNCTION_BYTES 9 /* endbr64, and a no-op of five bytes */
#define BREAKPOINT 0xcc

bool code_call_target(const uint8_t *p, size_t n, uint64_t at, uint64_t *ret)
{
    int32_t relative;

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

bool code_is_function(struct hotspot_vm *vm, uint64_t at)
{
    static const uint8_t ENDBR64[] = { 0xf3, 0x0f, 0x1e, 0xfa },
                         NOP5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
    uint8_t p[FUNCTION_BYTES];
    const uint8_t *code = p;

    if (at < vm->layout.image_start || at >= vm->layout.image_end - sizeof(p) ||
        memory_read(&vm->memory, at, p, sizeof(p)) < 0)
        return false;
    if (memcmp(p, ENDBR64, sizeof(ENDBR64)) == 0)
        code += sizeof(ENDBR64);
    return code[0] == BREAKPOINT || code[0] == 0x55 ||
           (code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57) ||
           memcmp(code, NOP5, sizeof(NOP5)) == 0;
}
