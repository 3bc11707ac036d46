/* SPDX-License-Identifier: Apache-2.0 */
/* broker/start_aarch64.c on any host: where a probe may stand in a file of aarch64. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/function_start.h"
#include "code_image.h"

#include <sys/mman.h>
#include <unistd.h>

#define PACIASP 0xd503233fu
#define BTI_C 0xd503245fu

/* Returns the place of a probe in a function of two instructions, relative to it, or the error. */
static int64_t check(uint32_t first, uint32_t second, uint16_t machine)
{
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
    struct code_image m = code_good();
    struct error err = ERROR_NULL;
    uint64_t ret = 0;
    int r;

    m.head.e_machine = EM_AARCH64;
    memcpy(m.code[1], &first, sizeof(first));
    memcpy(m.code[1] + 4, &second, sizeof(second));
    ck_assert_int_eq(write(fd, &m, sizeof(m)), (ssize_t)sizeof(m));
    r = function_start_check_of(machine, fd, code_offset(1), &ret, &err);
    ck_assert(r == 0 || ((r == -EPERM || r == -ENOEXEC) && err.msg[0]));
    return r < 0 ? r : (int64_t)(ret - code_offset(1));
}

/* The first instructions of functions, and the place of the probe; -ENOEXEC: none. */
static const struct {
    const char *what;
    uint32_t first, second;
    int64_t place;
} STARTS[] = {
    { "malloc of glibc 2.36: stp x29, x30, [sp, #-64]!", 0xa9bc7bfd, 0x910003fd, 0 },
    { "malloc of glibc 2.41: paciasp; stp", PACIASP, 0xa9bc7bfd, 4 },
    { "free of glibc 2.36: cbz x0", 0xb4000880, 0xa9bc7bfd, 0 },
    { "free of glibc 2.41: bti c; cbz x0", BTI_C, 0xb4000ea0, 4 },
    { "bti c; adrp", BTI_C, 0xd00008e3, 4 },
    { "pacibsp; sub sp, sp, #48", 0xd503237f, 0xd100c3ff, 4 },
    { "str x19, [sp, #-16]!", 0xf81f0ff3, 0, 0 },
    { "b", 0x14000010, 0, 0 },
    { "b.eq", 0x54000140, 0, 0 },
    { "tbnz x21, #63", 0xb7f80895, 0, 0 },
    { "nop", 0xd503201f, 0, 0 },
    { "bl", 0x94000010, 0, -ENOEXEC },
    { "blr x8", 0xd63f0100, 0, -ENOEXEC },
    { "ret", 0xd65f03c0, 0, -ENOEXEC },
    { "svc #0", 0xd4000001, 0, -ENOEXEC },
    { "brk #0", 0xd4200000, 0, -ENOEXEC },
    { "ldxr x0, [x1]: an exclusive load", 0xc85f7c20, 0, -ENOEXEC },
    { "ldr x0, a literal", 0x58000080, 0, -ENOEXEC },
    { "stp x29, x30, [x0, #-64]!: not the stack", 0xa9bc7c1d, 0, -ENOEXEC },
    { "ldp x29, x30, [sp], #64", 0xa8c47bfd, 0, -ENOEXEC },
    { "autiasp", 0xd50323bf, 0xa9bc7bfd, -ENOEXEC },
    { "paciasp twice", PACIASP, PACIASP, -ENOEXEC },
    { "bti c; ret", BTI_C, 0xd65f03c0, -ENOEXEC },
    { "mov w0, #1", 0x52800020, 0, -ENOEXEC },
    { "no instruction", 0, 0, -ENOEXEC },
};

START_TEST(by_the_first_instructions)
{
    ck_assert_msg(check(STARTS[_i].first, STARTS[_i].second, EM_AARCH64) == STARTS[_i].place, "%s",
                  STARTS[_i].what);
}
END_TEST

/* A file of one processor is none of the other. */
START_TEST(on_the_other_processor)
{
    ck_assert_int_eq(check(0xa9bc7bfd, 0, EM_X86_64), -EPERM);
}
END_TEST

/* Where several probes are near each other, the code is the file's but for breakpoints. */
START_TEST(breakpoints_of_other_probes)
{
    static const uint8_t CODE[] = { 0xa0, 0x00, 0x20, 0xd4, 0xcc };

    ck_assert_uint_eq(function_start_breakpoint_of(EM_AARCH64, CODE, sizeof(CODE)), 4);
    ck_assert_uint_eq(function_start_breakpoint_of(EM_AARCH64, CODE, 3), 0);
    ck_assert_uint_eq(function_start_breakpoint_of(EM_AARCH64, CODE + 4, 1), 0);
    ck_assert_uint_eq(function_start_breakpoint_of(EM_X86_64, CODE, sizeof(CODE)), 0);
    ck_assert_uint_eq(function_start_breakpoint_of(EM_X86_64, CODE + 4, 1), 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("start_aarch64");

    tcase_add_loop_test(tc, by_the_first_instructions, 0, (int)ARRAY_SIZE(STARTS));
    tcase_add_test(tc, on_the_other_processor);
    tcase_add_test(tc, breakpoints_of_other_probes);
    return suite_run_case("start_aarch64", tc);
}
