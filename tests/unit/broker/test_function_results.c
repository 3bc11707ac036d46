/* SPDX-License-Identifier: Apache-2.0 */
/* broker/function_start.c: the places in a function at which a register holds the result of a call.
 * A hostile file gets no other place. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/function_start.h"
#include "code_image.h"

#include <sys/mman.h>
#include <unistd.h>

static uint32_t last_register; /* of the first place found by results() */

/* Returns the places in the function at @offset, relative to it, or the error. */
static int results(const void *p, size_t n, uint64_t offset, int64_t ret[FUNCTION_RESULTS_MAX])
{
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
    struct function_result found[FUNCTION_RESULTS_MAX];
    struct error err = ERROR_NULL;
    size_t count = 0;
    int r;

    ck_assert_int_eq(write(fd, p, n), (ssize_t)n);
    r = function_results_find(fd, offset, found, &count, &err);
    ck_assert(r == 0 ? count > 0 : (r == -EPERM || r == -ENOEXEC) && err.msg[0]);
    for (size_t i = 0; i < count; i++)
        ret[i] = (int64_t)(found[i].offset - offset);
    last_register = count ? found[0].reg : UINT32_MAX;
    return r < 0 ? r : (int)count;
}

/* The pattern of malloc, calloc and realloc in glibc. */
START_TEST(where_results_are)
{
    static const uint8_t MOVED[] = { 0x49, 0x89, 0xc4, 0x48, 0x85, 0xc0, 0x0f, 0x84, 2, 0, 0, 0 };
    int64_t at[FUNCTION_RESULTS_MAX];
    struct code_image m = code_calling();

#define RESULTS(from) results(&m, sizeof(m), code_offset(from), at)
    ck_assert_int_eq(RESULTS(0), 1);
    ck_assert_int_eq(at[0], 9);
    memcpy(m.code[0] + 6, MOVED, sizeof(MOVED));
    ck_assert_int_eq(RESULTS(0), 1);
    ck_assert_int_eq(at[0], 12);
    ck_assert_uint_eq(last_register, 12);
    m.code[0][8] = 0x44; /* mov %rax, n(%rsp) is longer */
    ck_assert_int_eq(RESULTS(0), -ENOEXEC);
#define WITH(byte, value)                                                                          \
    m = code_calling();                                                                            \
    m.code[0][byte] = value;                                                                       \
    ck_assert_int_eq(RESULTS(0), -ENOEXEC)
    WITH(1, 0xe9);  /* not a call */
    WITH(2, 0x3b);  /* calls no function */
    WITH(5, 0x80);  /* calls no function either */
    WITH(6, 0x49);  /* tests another register */
    WITH(9, 0xeb);  /* an unconditional jump */
    WITH(10, 0x30); /* jumps out of the function */
    WITH(10, 0x80); /* does so, too */
#undef WITH
    m = code_calling();
    m.table.count = 2; /* function 2 is not in the table */
    ck_assert_int_eq(RESULTS(0), -ENOEXEC);
    m = code_calling();
    ck_assert_int_eq(results(&m, sizeof(m), code_offset(0) + 1, at), -ENOEXEC);
    ck_assert_int_eq(results(&m, sizeof(m), code_offset(6), at), -EPERM);
    m.code[3][0] = 0xe9; /* function 3 continues in function 0 */
    m.code[3][1] = 0x9b;
    m.code[3][2] = m.code[3][3] = m.code[3][4] = 0xff;
    ck_assert_int_eq(RESULTS(3), 1);
    ck_assert_int_eq(at[0], 9 - 3 * 32);
    ck_assert_int_eq(RESULTS(5), -ENOEXEC); /* the last function has no known end */
    /* A process may crash itself: these bytes lie within a mov, an add and a shl. */
    m = code_calling();
    m.code[0][0] = 0xba;
    ck_assert_int_eq(RESULTS(0), 1);
}
END_TEST

/* Instructions allowed between the call and the test, and others in their place. */
START_TEST(what_may_be_behind_a_call)
{
    static const struct {
        uint8_t code[32];
        int64_t at; /* the offset of the jump; 0: no place is accepted */
        uint32_t reg;
    } ALL[] = {
#define CALL 0xe8, 0x3b, 0x00, 0x00, 0x00
#define LOAD_R8 0x4c, 0x8b, 0x04, 0x24
#define LOAD_R10 0x4c, 0x8b, 0x54, 0x24, 0x08
#define MOVE_R12 0x49, 0x89, 0xc4
#define UNLOCK 0x31, 0xc0, 0x41, 0x87, 0x00, 0x83, 0xf8, 0x01, 0x7f, 0x10
#define TEST_R12 0x4d, 0x85, 0xe4
#define JUMP 0x74, 0x02
        /* realloc of glibc 2.36; that of 2.43 differs in the length of a jump */
        { { CALL, LOAD_R8, MOVE_R12, UNLOCK, TEST_R12, JUMP }, 25, 12 },
        { { CALL, LOAD_R10, 0x49, 0x89, 0xc3, UNLOCK, 0x4d, 0x85, 0xdb, JUMP }, 26, 11 },
        /* posix_memalign, and memalign of 2.43 */
        { { CALL, 0x48, 0x89, 0xc2, 0xb8, 0x0c, 0, 0, 0, 0x48, 0x85, 0xd2, JUMP }, 16, 2 },
        { { CALL, LOAD_R8, LOAD_R10, 0x48, 0x85, 0xc0, JUMP }, 17, 0 },
        /* the tested value is not the result */
        { { CALL, LOAD_R8, MOVE_R12, UNLOCK, 0x48, 0x85, 0xc0, JUMP }, 0, 0 },
        { { CALL, MOVE_R12, 0x4d, 0x85, 0xed, JUMP }, 0, 0 },
        { { CALL, MOVE_R12, 0x49, 0x85, 0xe4, JUMP }, 0, 0 },
        /* the result is overwritten: by a load, by a constant */
        { { CALL, MOVE_R12, 0x4c, 0x8b, 0x24, 0x24, TEST_R12, JUMP }, 0, 0 },
        { { CALL, 0x48, 0x8b, 0x04, 0x24, 0x48, 0x85, 0xc0, JUMP }, 0, 0 },
        { { CALL, 0x31, 0xc0, 0x48, 0x85, 0xc0, JUMP }, 0, 0 },
        { { CALL, 0x41, 0x87, 0x00, 0x48, 0x85, 0xc0, JUMP }, 0, 0 },
        /* an unknown instruction; too many instructions; a jump other than jg */
        { { CALL, MOVE_R12, 0x90, TEST_R12, JUMP }, 0, 0 },
        { { CALL, MOVE_R12, 0x41, 0x87, 0x04, TEST_R12, JUMP }, 0, 0 },
        { { CALL, MOVE_R12, 0x83, 0xf8, 0x01, 0x74, 0x10, TEST_R12, JUMP }, 0, 0 },
        { { CALL, MOVE_R12, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0,
            0x31, 0xc0, TEST_R12, JUMP },
          0,
          0 },
    };

#undef CALL
#undef LOAD_R8
#undef LOAD_R10
#undef MOVE_R12
#undef UNLOCK
#undef TEST_R12
#undef JUMP

    for (size_t i = 0; i < ARRAY_SIZE(ALL); i++) {
        struct code_image m = code_good();
        int64_t at[FUNCTION_RESULTS_MAX];
        int r;

        memcpy(m.code[0], ALL[i].code, sizeof(ALL[i].code));
        r = results(&m, sizeof(m), code_offset(0), at);
        ck_assert_msg(r == (ALL[i].at ? 1 : -ENOEXEC), "%zu: %d", i, r);
        if (ALL[i].at) {
            ck_assert_int_eq(at[0], ALL[i].at);
            ck_assert_uint_eq(last_register, ALL[i].reg);
        }
    }
}
END_TEST

#define LARGE 2048 /* bytes of a function */

/* A file with three functions: one with only first bytes of jumps and a jump at its end, the target
 * of that jump, and another one. */
struct jumping {
    Elf64_Ehdr head;
    Elf64_Phdr programs[2];
    struct code_table table;
    uint8_t code[LARGE], behind[2][32];
};

/* A hostile file could make the broker search the table for each of these. The number is
 * limited. */
START_TEST(so_many_jumps_are_looked_at)
{
    struct code_image small = code_calling();
    struct jumping m = { .head = small.head, .table = small.table };
    int64_t at[FUNCTION_RESULTS_MAX];
    static const uint8_t CODE[] = { 0xe8, 0x1b, 0x00, 0x00, 0x00, 0x48, 0x85, 0xc0, 0x74, 0x02 };
    static const uint8_t JUMP[] = { 0xe9, 0x00, 0x00, 0x00, 0x00 };

    memcpy(m.programs, small.programs, sizeof(m.programs));
    m.head.e_phoff = offsetof(struct jumping, programs);
    m.programs[0].p_offset = offsetof(struct jumping, code);
    m.programs[0].p_filesz = sizeof(m.code) + sizeof(m.behind);
    m.programs[1].p_offset = offsetof(struct jumping, table);
    m.table.count = 3;
    m.table.starts[0].address = CODE_VADDR - TABLE_VADDR;
    m.table.starts[1].address = CODE_VADDR + LARGE - TABLE_VADDR;
    m.table.starts[2].address = CODE_VADDR + LARGE + 32 - TABLE_VADDR;
    memcpy(m.behind[0], CODE, sizeof(CODE));
    memset(m.code, 0xe9, 200);
    memcpy(m.code + LARGE - sizeof(JUMP), JUMP, sizeof(JUMP));
    ck_assert_int_eq(results(&m, sizeof(m), offsetof(struct jumping, code), at), 1);
    ck_assert_int_eq(at[0], LARGE + 8);
    memset(m.code, 0xe9, 1000);
    ck_assert_int_eq(results(&m, sizeof(m), offsetof(struct jumping, code), at), -ENOEXEC);
}
END_TEST

START_TEST(random_files)
{
    uint64_t random = 88172645463325252u;
    int found = 0;

    for (int round = 0; round < 4000; round++) {
        struct code_image m = code_calling();
        int64_t places[FUNCTION_RESULTS_MAX];
        uint64_t offset = code_offset(0);

        code_spoil(&m, 1 + round % 3, &random);
        for (int i = results(&m, sizeof(m), offset, places); i-- > 0; found++)
            ck_assert(code_is_known((uint8_t *)&m + (int64_t)offset + places[i]));
    }
    ck_assert_int_gt(found, 500);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("function_results");

    tcase_add_test(tc, where_results_are);
    tcase_add_test(tc, what_may_be_behind_a_call);
    tcase_add_test(tc, so_many_jumps_are_looked_at);
    tcase_add_test(tc, random_files);
    tcase_set_timeout(tc, 60);
    return suite_run_case("function_results", tc);
}
