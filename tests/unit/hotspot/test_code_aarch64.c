/* SPDX-License-Identifier: Apache-2.0 */
/* Code that HotSpot made on aarch64, as recorded: calls of libjvm's functions, and adapters. */
#include "suite.h"

#include "hotspot/code/code.h"
#include "hotspot/code/stubs.h"

#define CODE UINT64_C(0x551b000000)
#define LIBJVM UINT64_C(0x5502ab0000)
#define TARGET UINT64_C(0x5502f7a5c4) /* of the recorded call in 17 */

static uint32_t code[64], function[4];
static struct hotspot_vm vm;

static ssize_t read_some(void *cookie, uint64_t address, void *buf, size_t n)
{
    uint8_t page[MEMORY_PAGE] = { 0 };

    (void)cookie;
    if (n != MEMORY_PAGE)
        return -EIO;
    if (address == CODE)
        memcpy(page, code, sizeof(code));
    else if (address == (TARGET & ~(MEMORY_PAGE - 1)))
        memcpy(page + (TARGET & (MEMORY_PAGE - 1)), function, sizeof(function));
    else
        return -EIO;
    memcpy(buf, page, n);
    return (ssize_t)n;
}

static void setup(void)
{
    vm = (struct hotspot_vm){
        .layout = { .aarch64 = true, .image_start = LIBJVM, .image_end = LIBJVM + 0x1200000 }
    };
    memset(code, 0, sizeof(code));
    memory_init(&vm.memory, read_some, NULL);
    memory_begin(&vm.memory);
}

/* ---- calls ---- */

START_TEST(finds_the_target_of_a_call)
{
    static const struct {
        uint32_t words[6];
        size_t count;
        uint64_t target; /* 0: no call */
    } CASES[] = {
        /* 17: new_instance Runtime1 stub */
        { { 0xd294b888, 0xf2a05ee8, 0xf2c00aa8, 0xd63f0100 }, 4, TARGET },
        /* 25: C2 Runtime new_array_nozero */
        { { 0xd284c008, 0xf2a07108, 0xf2c00aa8, 0xd63f0100 }, 4, 0x5503882600 },
        /* 11: _new_instance_Java */
        { { 0xd298f208, 0xf2a06a28, 0xf2c00aa8, 0xa9bf27ff, 0xd63f0100 }, 5, 0x550351c790 },
        { { 0xd294b888, 0xf2a05ee8, 0xd63f0100 }, 3, 0x2f7a5c4 },
        { { 0x92a05ee8, 0xf294b888, 0xd63f0100 }, 3, 0xfffffffffd08a5c4 }, /* movn */
        { { 0x94000002 }, 1, CODE + 8 },                                   /* bl */
        { { 0x97ffffff }, 1, CODE - 4 },
        { { 0x14000002 }, 1, 0 },                                     /* b */
        { { 0xd294b888, 0xf2a05ee8, 0xf2c00aa8, 0xd61f0100 }, 4, 0 }, /* br x8 */
        { { 0xd294b888, 0xf2a05ee8, 0xf2c00aa8, 0xd63f0120 }, 4, 0 }, /* blr x9 */
        { { 0xd294b888, 0xf2a05ee9, 0xf2c00aa8, 0xd63f0100 }, 4, 0 }, /* movk x9 */
        { { 0xf2a05ee8, 0xf2c00aa8, 0xd63f0100 }, 3, 0 },             /* the rest of a constant */
        { { 0xd294b888, 0xf2a05ee8, 0xf2c00aa8 }, 3, 0 },             /* cut */
        { { 0xd294b888 }, 1, 0 },
        { { 0 }, 0, 0 },
    };
    const uint8_t *p = (const uint8_t *)CASES[_i].words;
    uint64_t target = 0;

    ck_assert_int_eq(
        code_call_target(&vm, p, CASES[_i].count * sizeof(CASES[_i].words[0]), CODE, &target),
        CASES[_i].target != 0);
    ck_assert_uint_eq(target, CASES[_i].target);
    ck_assert(
        !code_call_target(&vm, p, CASES[_i].count * sizeof(CASES[_i].words[0]), CODE + 2, &target));
}
END_TEST

START_TEST(knows_the_start_of_a_function)
{
    static const struct {
        uint32_t words[2];
        bool starts;
    } CASES[] = {
        { { 0xa9bc7bfd, 0x910003fd }, true },  /* 17: stp x29, x30, [sp, #-64]! */
        { { 0xd503233f, 0xa9bd7bfd }, true },  /* 25: paciasp, stp */
        { { 0xd503245f, 0xd10083ff }, true },  /* bti c, sub sp */
        { { 0xd42000a0, 0x910003fd }, true },  /* the kernel's probe */
        { { 0xd503233f, 0xd42000a0 }, true },  /* the same behind paciasp */
        { { 0x910003fd, 0xa9bc7bfd }, false }, /* mov x29, sp */
        { { 0xd4200000, 0x910003fd }, false }, /* another brk */
        { { 0xd503233f, 0x910003fd }, false },
    };

    memcpy(function, CASES[_i].words, sizeof(CASES[_i].words));
    ck_assert_int_eq(code_is_function(&vm, TARGET), CASES[_i].starts);
    ck_assert(!code_is_function(&vm, TARGET + 1));
    ck_assert(!code_is_function(&vm, LIBJVM - 4));
}
END_TEST

/* ---- adapters ---- */

START_TEST(splits_adapters)
{
    static const uint32_t I2C_17[] = { 0xf9400289, 0xf90017e9, 0xf901738c, 0xd61f0100 },
                          I2C_25[] = { 0xeb2863ff, 0x54000069, 0x910003e8, 0xf9031788,
                                       0xaa0903e8, 0xf9026f8c, 0xd61f0100 },
                          /* The end of the second half alone: ldr x8, [x12, #56]; br x8. */
        C2I[] = { 0x910003f4, 0xf9401d88, 0xd61f0100 };
    struct hotspot_code blob = { .kind = HOTSPOT_CODE_STUB, .start = CODE }, half;
    size_t first = _i == 0 ? ARRAY_SIZE(I2C_17) : _i == 1 ? ARRAY_SIZE(I2C_25) : 0;

    if (first)
        memcpy(code, _i ? I2C_25 : I2C_17, first * sizeof(code[0]));
    memcpy(code + first, C2I, sizeof(C2I));
    blob.end = CODE + sizeof(C2I) + first * sizeof(code[0]);
    half = blob;
    adapters_refine(&vm, CODE, &half);
    ck_assert_int_eq(half.part, first != 0);
    ck_assert_str_eq(half.name, first ? I2C_NAME : "");
    ck_assert_uint_eq(half.end, first ? CODE + first * sizeof(code[0]) : blob.end);
    half = blob;
    adapters_refine(&vm, blob.end - 4, &half);
    ck_assert_str_eq(half.name, first ? C2I_NAME : "");
    ck_assert_uint_eq(half.start, CODE + first * sizeof(code[0]));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("code_aarch64");
    TCase *tc = tcase_create("code");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_loop_test(tc, finds_the_target_of_a_call, 0, 15);
    tcase_add_loop_test(tc, knows_the_start_of_a_function, 0, 8);
    tcase_add_loop_test(tc, splits_adapters, 0, 3);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
