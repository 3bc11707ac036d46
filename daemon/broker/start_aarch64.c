/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/start_aarch64.h"

#include "base/list.h"
#include "base/macros.h"

#include <string.h>

/* An instruction has a form if its bits in `mask` are equal to `bits`. */
struct form {
    uint32_t mask, bits;
};

static const struct form PADS[] = {
    { 0xffffff3f, 0xd503241f }, /* bti, bti c, bti j, bti jc */
    { 0xffffffbf, 0xd503233f }, /* paciasp, pacibsp */
};

static const struct form STARTS[] = {
    { 0xffc003e0, 0xa98003e0 }, /* stp of two registers, as x29 and x30, [sp, #n]! */
    { 0xffe00fe0, 0xf8000fe0 }, /* str of a register, [sp, #n]! */
    { 0xff8003ff, 0xd10003ff }, /* sub sp, sp, #n */
    { 0x9f000000, 0x90000000 }, /* adrp */
    { 0xfc000000, 0x14000000 }, /* b */
    { 0xff000010, 0x54000000 }, /* b with a condition */
    { 0x7e000000, 0x34000000 }, /* cbz, cbnz */
    { 0x7e000000, 0x36000000 }, /* tbz, tbnz */
    { 0xffffffff, 0xd503201f }, /* nop */
};

static bool is_one_of(const struct form *forms, size_t count, const uint8_t *code)
{
    uint32_t i;

    memcpy(&i, code, sizeof(i));
    return ANY_OF(k, count, (i & forms[k].mask) == forms[k].bits);
}

size_t start_aarch64_pad(const uint8_t *code)
{
    return is_one_of(PADS, ARRAY_SIZE(PADS), code) ? sizeof(uint32_t) : 0;
}

bool start_aarch64_known(const uint8_t *code)
{
    return is_one_of(STARTS, ARRAY_SIZE(STARTS), code);
}
