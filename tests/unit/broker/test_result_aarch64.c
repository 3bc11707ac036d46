/* SPDX-License-Identifier: Apache-2.0 */
/* broker/result_aarch64.c on any host: where a function of aarch64 tests the result of a call. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/function_start.h"
#include "code_image.h"

#include <sys/mman.h>
#include <unistd.h>

#define CALL 0x94000010u       /* bl, of function 2 if it is the first instruction of function 0 */
#define MOVE_X20_X0 0xaa0003f4 /* and so on */
#define MOVE_X24_X0 0xaa0003f8
#define MOVE_X1_X23 0xaa1703e1
#define MOVE_W0_0 0x52800000
#define NOP 0xd503201f
#define TEST(reg, back)                                                                            \
    (0xb4000000u | (0x80000u - (back)) << 5 | (reg)) /* cbz, jumps @back words */

static const struct {
    const char *what;
    uint32_t code[8];
    int64_t at; /* the offset of the place; 0: there is none */
    uint32_t reg;
} CASES[] = {
    { "malloc of glibc 2.36", { CALL, MOVE_X20_X0, TEST(0, 2) }, 8, 7 },
    { "by the other register", { CALL, MOVE_X20_X0, TEST(20, 2) }, 8, 7 },
    { "cbnz", { CALL, 0xb5ffffe0 }, 4, 0 },
    { "forward", { CALL, 0xb4000060 }, 4, 0 },
    { "realloc: a call that releases a lock is between",
      { CALL, MOVE_X24_X0, MOVE_X1_X23, MOVE_W0_0, CALL, 0x7100041f, 0x54ffff0c, TEST(24, 7) },
      28,
      11 },
    { "posix_memalign", { CALL, 0xaa0003e1, 0x52800180, TEST(1, 3) }, 12, 1 },
    { "x28 is the last one", { CALL, 0xaa0003fc, TEST(28, 2) }, 8, 15 },
    { "loads from the stack", { CALL, 0xf94017e1, 0xa9425bf5, TEST(0, 3) }, 12, 0 },
    { "a register that no program copies", { CALL, 0xaa0003e9, TEST(9, 2) }, 0, 0 },
    { "32 bits", { CALL, 0x34ffffe0 }, 0, 0 },
    { "another register", { CALL, TEST(19, 1) }, 0, 0 },
    { "the result of the second call", { CALL, MOVE_X20_X0, CALL, TEST(0, 3) }, 0, 0 },
    { "a call loses x0", { CALL, CALL, TEST(0, 2) }, 0, 0 },
    { "a call loses x1", { CALL, 0xaa0003e1, CALL, TEST(1, 3) }, 0, 0 },
    { "a number", { CALL, MOVE_W0_0, TEST(0, 2) }, 0, 0 },
    { "another value in it", { CALL, MOVE_X24_X0, 0xaa1703f8, TEST(24, 3) }, 0, 0 },
    { "a load", { CALL, 0xf94003e0, TEST(0, 2) }, 0, 0 },
    { "a load of two", { CALL, 0xa94003f5, TEST(0, 2) }, 0, 0 },
    { "an unknown instruction", { CALL, NOP, TEST(0, 2) }, 0, 0 },
    { "out of the function", { CALL, 0xb4000100 }, 0, 0 },
    { "too far", { CALL, TEST(0, 2) }, 0, 0 },
    { "no function is called", { CALL + 1, TEST(0, 1) }, 0, 0 },
    { "a jump instead of the call", { 0x14000010, TEST(0, 1) }, 0, 0 },
};

/* Returns the number of places in function @i, and the first one relative to it; or the error. */
static int results(const struct code_image *m, int i, int64_t *ret_at, uint32_t *ret_reg)
{
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
    struct function_result found[FUNCTION_RESULTS_MAX];
    struct error err = ERROR_NULL;
    size_t count = 0;
    int r;

    ck_assert_int_eq(write(fd, m, sizeof(*m)), (ssize_t)sizeof(*m));
    r = function_results_find_of(EM_AARCH64, fd, code_offset(i), found, &count, &err);
    ck_assert(r == 0 ? count > 0 : (r == -EPERM || r == -ENOEXEC) && err.msg[0]);
    *ret_at = count ? (int64_t)(found[0].offset - code_offset(i)) : 0;
    *ret_reg = count ? found[0].reg : 0;
    return r < 0 ? r : (int)count;
}

static struct code_image image(void)
{
    struct code_image m = code_good();

    m.head.e_machine = EM_AARCH64;
    memset(m.code, 0, sizeof(m.code));
    return m;
}

START_TEST(behind_a_call)
{
    struct code_image m = image();
    int64_t at;
    uint32_t reg;

    memcpy(m.code[0], CASES[_i].code, sizeof(CASES[_i].code));
    ck_assert_msg(results(&m, 0, &at, &reg) == (CASES[_i].at ? 1 : -ENOEXEC), "%s", CASES[_i].what);
    ck_assert_msg(at == CASES[_i].at && reg == CASES[_i].reg, "%s: %ld %u", CASES[_i].what,
                  (long)at, reg);
}
END_TEST

/* memalign of glibc 2.36 is a jump to the function that allocates. */
START_TEST(in_a_function_that_it_jumps_to)
{
    static const uint32_t CODE[] = { CALL, TEST(0, 1) }, JUMP = 0x17ffffe8; /* 24 words back */
    struct code_image m = image();
    int64_t at;
    uint32_t reg;

    memcpy(m.code[0], CODE, sizeof(CODE));
    memcpy(m.code[3], &JUMP, sizeof(JUMP));
    ck_assert_int_eq(results(&m, 3, &at, &reg), 1);
    ck_assert_int_eq(at, 4 - 3 * (int64_t)sizeof(m.code[0]));
    m.head.e_machine = EM_X86_64;
    ck_assert_int_eq(results(&m, 3, &at, &reg), -EPERM);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("result_aarch64");

    tcase_add_loop_test(tc, behind_a_call, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, in_a_function_that_it_jumps_to);
    return suite_run_case("result_aarch64", tc);
}
