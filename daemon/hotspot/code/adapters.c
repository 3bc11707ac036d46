/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two halves of a blob "I2C/C2I adapters" (JDK 8, 11, 17, 21, 25 to 28: sources and seen).
 * First comes the code from the interpreter into compiled code. On x86-64 it ends with
 * "mov [r15+callee_target], rbx; mov rax, rbx; jmp r11", on aarch64 with
 * "str x12, [x28+callee_target]; br x8". The second half is the code from compiled code into the
 * interpreter. It has an entry for calls that must be verified, and one for other calls. VMStructs
 * leads to neither half.
 */
#include "hotspot/code/stubs.h"

#include "hotspot/code/code.h"

#define I2C_BYTES_MAX 16384 /* adapters for 255 arguments take some 4,000 */
#define I2C_STORE 7         /* bytes of the mov to callee_target; its last four are the offset */

static const uint8_t I2C_STORES[] = { 0x49, 0x89, 0x9f };
static const uint8_t I2C_LEAVES[] = { 0x48, 0x8b, 0xc3, 0x41, 0xff, 0xe3 };

#define I2C_END (I2C_STORE + sizeof(I2C_LEAVES))
#define I2C_STEP 16 /* bytes that successive reads share; at least I2C_END */

/* Does the work of i2c_end() for aarch64. */
static size_t i2c_end_aarch64(const uint8_t *p, size_t n)
{
    uint32_t code[2];

    for (size_t at = 0; at + sizeof(code) <= n; at += sizeof(code[0])) {
        memcpy(code, p + at, sizeof(code));
        if ((code[0] & 0xffc003ff) == 0xf900038c && code[1] == 0xd61f0100)
            return at + sizeof(code);
    }
    return 0;
}

/* Returns the end of the first half; 0: that end is not within the @n bytes at @p. */
static size_t i2c_end(const struct hotspot_vm *vm, const uint8_t *p, size_t n)
{
    if (vm->layout.aarch64)
        return i2c_end_aarch64(p, n);
    for (size_t at = 0; at + I2C_END <= n; at++) {
        if (memcmp(p + at, I2C_STORES, sizeof(I2C_STORES)) == 0 &&
            memcmp(p + at + I2C_STORE, I2C_LEAVES, sizeof(I2C_LEAVES)) == 0)
            return at + I2C_END;
    }
    return 0;
}

/* Returns the first address of the second half of @blob; 0: not found. */
static uint64_t adapters_middle(struct hotspot_vm *vm, const struct hotspot_code *blob)
{
    uint64_t end = MIN(blob->end, blob->start + I2C_BYTES_MAX);
    uint8_t p[2048];

    for (uint64_t at = blob->start; at < end; at += sizeof(p) - I2C_STEP) {
        size_t n = (size_t)MIN(end - at, (uint64_t)sizeof(p)), found;

        if (memory_read(&vm->memory, at, p, n) < 0)
            return 0;
        found = i2c_end(vm, p, n);
        if (found)
            return at + found;
    }
    return 0;
}

static void set_half(struct hotspot_code *code, uint64_t start, uint64_t end, const char *name)
{
    code->start = start;
    code->end = end;
    code->part = true;
    span_copy(span_of(name), code->name, sizeof(code->name));
}

void adapters_refine(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *code)
{
    uint64_t middle = adapters_middle(vm, code);

    if (!middle)
        return;
    if (pc < middle)
        set_half(code, code->start, middle, I2C_NAME);
    else
        set_half(code, middle, code->end, C2I_NAME);
}

int adapters_each(struct hotspot_vm *vm, const struct hotspot_code *blob, hotspot_code_fn fn,
                  void *cookie, int *count)
{
    uint64_t middle = adapters_middle(vm, blob);
    struct hotspot_code half = *blob;
    int r;

    if (middle)
        set_half(&half, blob->start, middle, I2C_NAME);
    r = fn(cookie, &half);
    ++*count;
    if (r != 0 || !middle || middle == blob->end)
        return r;
    set_half(&half, middle, blob->end, C2I_NAME);
    ++*count;
    return fn(cookie, &half);
}
