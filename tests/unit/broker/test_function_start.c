/* SPDX-License-Identifier: Apache-2.0 */
/* broker/function_start.c: the places of a file at which a probe may stand. A hostile file gets no
 * other place. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/function_start.h"
#include "code_image.h"

#include <sys/mman.h>
#include <unistd.h>

/* Returns the accepted offset, or the error. */
static int64_t check(const void *p, size_t n, uint64_t offset)
{
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
    struct error err = ERROR_NULL;
    uint64_t ret = 0;
    int r;

    ck_assert_int_eq(write(fd, p, n), (ssize_t)n);
    r = function_start_check(fd, offset, &ret, &err);
    ck_assert(r == 0 || ((r == -EPERM || r == -ENOEXEC) && err.msg[0]));
    return r < 0 ? r : (int64_t)ret;
}

static int64_t check_image(const struct code_image *m, uint64_t offset)
{
    return check(m, sizeof(*m), offset);
}

START_TEST(only_starts_with_known_instructions)
{
    struct code_image m = code_good();

    ck_assert_int_eq(check_image(&m, code_offset(PUSH_RBP)), (int64_t)code_offset(PUSH_RBP));
    ck_assert_int_eq(check_image(&m, code_offset(PUSH_R12)), (int64_t)code_offset(PUSH_R12));
    ck_assert_int_eq(check_image(&m, code_offset(NOP5)), (int64_t)code_offset(NOP5));
    ck_assert_int_eq(check_image(&m, code_offset(ENDBR)), (int64_t)code_offset(ENDBR) + 4);
    ck_assert_int_eq(check_image(&m, code_offset(TEST_RDI)), -ENOEXEC);
    ck_assert_int_eq(check_image(&m, code_offset(SHORT_NOP)), -ENOEXEC);
    for (uint64_t at = 0; at < sizeof(m) + 64; at++) {
        bool start = at >= code_offset(0) && (at - code_offset(0)) % 32 == 0;

        if (!start)
            ck_assert_int_eq(check_image(&m, at), -EPERM);
    }
    ck_assert_int_eq(check_image(&m, UINT64_MAX), -EPERM);
}
END_TEST

/* The first instructions of glibc's posix_memalign and free, and of malloc in jemalloc and
 * tcmalloc. */
START_TEST(behind_a_comparison)
{
    static const uint8_t COMPARE[] = { 0x80, 0x3d, 0x01, 0x02, 0x14, 0x00, 0x00, 0x41, 0x54 };
    static const uint8_t COMPARE_RDI[] = { 0x48, 0x81, 0xff, 0x00, 0x10, 0x00, 0x00, 0x0f, 0x87 };
    static const uint8_t MOVE_RSI[] = { 0x49, 0x89, 0xf1 };
    static const uint8_t PRODUCT[] = { 0x48, 0x89, 0xf8, 0x48, 0xf7, 0xe6, 0x0f, 0x80 };
    static const uint8_t TEST_AND_JUMP[] = { 0x48, 0x85, 0xff, 0x0f, 0x84 };
    static const uint8_t LOAD_AND_TEST[] = { 0x48, 0x8b, 0x05, 0x59, 0xab, 0x00,
                                             0x00, 0x48, 0x85, 0xc0, 0x74 };
    struct code_image m = code_good();

    memcpy(m.code[0], COMPARE, sizeof(COMPARE));
    ck_assert_int_eq(check_image(&m, code_offset(0)), (int64_t)code_offset(0) + 7);
    ck_assert_int_eq(check_image(&m, code_offset(0) + 7), -EPERM); /* no function begins there */
    m.code[0][7] = 0x74;                                           /* je */
    ck_assert_int_eq(check_image(&m, code_offset(0)), (int64_t)code_offset(0) + 7);
    m.code[0][7] = 0x48;
    ck_assert_int_eq(check_image(&m, code_offset(0)), -ENOEXEC);
    memcpy(m.code[0], COMPARE_RDI, sizeof(COMPARE_RDI));
    ck_assert_int_eq(check_image(&m, code_offset(0)), (int64_t)code_offset(0) + 7);
    m.code[0][2] = 0xfe; /* %rsi */
    ck_assert_int_eq(check_image(&m, code_offset(0)), -ENOEXEC);
    m = code_good();
    m.code[0][0] = 0xe9; /* jmp */
    ck_assert_int_eq(check_image(&m, code_offset(0)), (int64_t)code_offset(0));
    m.code[0][0] = 0xe8; /* call */
    ck_assert_int_eq(check_image(&m, code_offset(0)), -ENOEXEC);
    m = code_good();
    memcpy(m.code[ENDBR] + 4, COMPARE, sizeof(COMPARE));
    ck_assert_int_eq(check_image(&m, code_offset(ENDBR)), (int64_t)code_offset(ENDBR) + 11);
    m.code[ENDBR][5] = 0x3c; /* cmpb $n, (reg) has another length */
    ck_assert_int_eq(check_image(&m, code_offset(ENDBR)), -ENOEXEC);
    memcpy(m.code[ENDBR] + 4, LOAD_AND_TEST, sizeof(LOAD_AND_TEST));
    ck_assert_int_eq(check_image(&m, code_offset(ENDBR)), (int64_t)code_offset(ENDBR) + 14);
    m.code[ENDBR][13] = 0xc9; /* test %rcx, %rcx: harmless, but not on the list */
    ck_assert_int_eq(check_image(&m, code_offset(ENDBR)), -ENOEXEC);
    memcpy(m.code[ENDBR] + 4, LOAD_AND_TEST, sizeof(LOAD_AND_TEST));
    m.code[ENDBR][6] = 0x3d; /* mov d(%rip), %rdi: changes an argument */
    ck_assert_int_eq(check_image(&m, code_offset(ENDBR)), -ENOEXEC);
    memcpy(m.code[0], TEST_AND_JUMP, sizeof(TEST_AND_JUMP));
    ck_assert_int_eq(check_image(&m, code_offset(0)), (int64_t)code_offset(0) + 3);
    m.code[0][3] = 0x78; /* js, as in malloc of glibc 2.42 */
    ck_assert_int_eq(check_image(&m, code_offset(0)), (int64_t)code_offset(0) + 3);
    m.code[0][3] = 0x55; /* push: not on the list, as no known function needs it */
    ck_assert_int_eq(check_image(&m, code_offset(0)), -ENOEXEC);
    memcpy(m.code[0], MOVE_RSI, sizeof(MOVE_RSI)); /* as in realloc of glibc 2.42 */
    memcpy(m.code[0] + 3, TEST_AND_JUMP, sizeof(TEST_AND_JUMP));
    ck_assert_int_eq(check_image(&m, code_offset(0)), (int64_t)code_offset(0) + 6);
    m.code[0][2] = 0xf7; /* to r15, which the caller expects back */
    ck_assert_int_eq(check_image(&m, code_offset(0)), -ENOEXEC);
    m.code[0][0] = 0x48;
    m.code[0][2] = 0xf1; /* to rcx, an argument */
    ck_assert_int_eq(check_image(&m, code_offset(0)), -ENOEXEC);
    memcpy(m.code[0], PRODUCT, sizeof(PRODUCT)); /* as in calloc of glibc 2.43 */
    ck_assert_int_eq(check_image(&m, code_offset(0)), (int64_t)code_offset(0) + 6);
    m.code[0][5] = 0xe7; /* uses another register */
    ck_assert_int_eq(check_image(&m, code_offset(0)), -ENOEXEC);
    memcpy(m.code[0], PRODUCT, sizeof(PRODUCT));
    m.code[0][6] = 0x90; /* not a jump */
    ck_assert_int_eq(check_image(&m, code_offset(0)), -ENOEXEC);
    memcpy(m.code[0], COMPARE, 7); /* twice */
    memcpy(m.code[0] + 7, COMPARE, sizeof(COMPARE));
    ck_assert_int_eq(check_image(&m, code_offset(0)), -ENOEXEC);
}
END_TEST

START_TEST(what_the_table_does_not_name)
{
    struct code_image m = code_good();

    m.code[0][16] = 0x55; /* the byte fits, but no instruction begins there */
    ck_assert_int_eq(check_image(&m, code_offset(0) + 16), -EPERM);
    m.table.count = 2;
    ck_assert_int_eq(check_image(&m, code_offset(1)), (int64_t)code_offset(1));
    ck_assert_int_eq(check_image(&m, code_offset(2)), -EPERM);
    m.table.count = UINT32_MAX; /* more than the segment has: the present ones count */
    ck_assert_int_eq(check_image(&m, code_offset(1)), (int64_t)code_offset(1));
    m.programs[1].p_filesz = 12;
    ck_assert_int_eq(check_image(&m, code_offset(1)), -EPERM);
    m.programs[1].p_filesz = UINT64_MAX;
    ck_assert_int_eq(check_image(&m, code_offset(1)), -EPERM);
}
END_TEST

/* A file without that table, but with the symbols of two functions. */
struct exporting {
    Elf64_Ehdr head;
    Elf64_Phdr programs[2];
    Elf64_Dyn dynamic[3];
    uint32_t hash[2];
    Elf64_Sym symbols[3];
    uint8_t code[2][32];
};

static struct exporting exporter(void)
{
    struct exporting m = {
        .head = code_good().head,
        .programs = { { .p_type = PT_LOAD,
                        .p_flags = PF_R | PF_X,
                        .p_vaddr = CODE_VADDR,
                        .p_filesz = sizeof(m) },
                      { .p_type = PT_DYNAMIC,
                        .p_offset = offsetof(struct exporting, dynamic),
                        .p_filesz = sizeof(m.dynamic) } },
        .dynamic = { { .d_tag = DT_SYMTAB,
                       .d_un.d_ptr = CODE_VADDR + offsetof(struct exporting, symbols) },
                     { .d_tag = DT_HASH,
                       .d_un.d_ptr = CODE_VADDR + offsetof(struct exporting, hash) } },
        .hash = { 1, ARRAY_SIZE(m.symbols) },
        .code = { { 0x55 }, { 0x55 } },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(m.code); i++)
        m.symbols[i + 1] =
            (Elf64_Sym){ .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                         .st_shndx = 1,
                         .st_value = CODE_VADDR + offsetof(struct exporting, code) + i * 32 };
    m.head.e_phoff = offsetof(struct exporting, programs);
    return m;
}

/* The pattern of musl's libc.so. */
START_TEST(by_symbols_of_functions)
{
    const struct exporting m = exporter();
    const uint64_t second = offsetof(struct exporting, code) + 32;
    struct exporting x;

    ck_assert_int_eq(check(&m, sizeof(m), second), (int64_t)second);
    ck_assert_int_eq(check(&m, sizeof(m), second - 32), (int64_t)second - 32);
    for (uint64_t at = 0; at < sizeof(m); at++) {
        if (at != second && at != second - 32)
            ck_assert_int_eq(check(&m, sizeof(m), at), -EPERM);
    }
#define WITH(field, value)                                                                         \
    x = m;                                                                                         \
    x.field = value;                                                                               \
    ck_assert_int_eq(check(&x, sizeof(x), second), -EPERM)
    WITH(symbols[2].st_info, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT));
    WITH(symbols[2].st_shndx, SHN_UNDEF);
    WITH(hash[1], 2); /* the last symbol is not in the table */
    WITH(hash[1], UINT32_MAX);
    WITH(dynamic[0].d_tag, DT_NULL);
    WITH(dynamic[1].d_tag, DT_NULL);
    WITH(dynamic[0].d_un.d_ptr, UINT64_MAX);
    WITH(dynamic[1].d_un.d_ptr, CODE_VADDR - 1);
    WITH(programs[1].p_type, PT_NOTE);
    WITH(programs[1].p_offset, UINT64_MAX - 8);
    WITH(programs[1].p_filesz, sizeof(Elf64_Dyn));
#undef WITH
    x = m;
    x.programs[1].p_filesz = UINT64_MAX; /* the bytes end sooner */
    ck_assert_int_eq(check(&x, sizeof(x), second), (int64_t)second);
}
END_TEST

START_TEST(files_that_do_not_say)
{
    const struct code_image m = code_good();
    struct code_image x;

#define WITH(field, value)                                                                         \
    x = m;                                                                                         \
    x.field = value;                                                                               \
    ck_assert_int_eq(check_image(&x, code_offset(0)), -EPERM)
    WITH(head.e_ident[0], 'E');
    WITH(head.e_ident[EI_CLASS], ELFCLASS32);
    WITH(head.e_ident[EI_DATA], ELFDATA2MSB);
    WITH(head.e_machine, EM_AARCH64);
    WITH(head.e_phnum, 0);
    WITH(head.e_phnum, 1);
    WITH(head.e_phnum, UINT16_MAX);
    WITH(head.e_phentsize, 8);
    WITH(head.e_phoff, UINT64_MAX);
    WITH(head.e_phoff, INT64_MAX / 2 - 8);
    WITH(programs[0].p_flags, PF_R); /* not code */
    WITH(programs[0].p_filesz, 0);
    WITH(programs[0].p_vaddr, CODE_VADDR + 1);
    WITH(programs[1].p_type, PT_NOTE);
    WITH(programs[1].p_offset, UINT64_MAX);
    WITH(programs[1].p_offset, sizeof(m));
    WITH(table.version, 2);
    WITH(table.pointer, 0xff);
    WITH(table.count_form, 0xff);
    WITH(table.table_form, 0x1b);
    WITH(table.count, 0);
#undef WITH
    for (size_t n = 0; n < sizeof(m) - sizeof(m.code); n += 3)
        ck_assert_int_eq(check(&m, n, code_offset(0)), -EPERM);
}
END_TEST

START_TEST(random_files)
{
    uint64_t random = 88172645463325252u;
    int accepted = 0;

    for (int round = 0; round < 4000; round++) {
        struct code_image m = round % 2 ? code_calling() : code_good();
        uint8_t *bytes = (uint8_t *)&m;
        int64_t at;

        code_spoil(&m, 1 + round % 3, &random);
        at = check_image(&m, code_offset(round % 6));
        if (at < 0)
            continue;
        accepted++;
        ck_assert_int_le(at, (int64_t)sizeof(m) - 9);
        ck_assert(code_is_known(bytes + at));
    }
    ck_assert_int_gt(accepted, 500);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("function_start");

    tcase_add_test(tc, only_starts_with_known_instructions);
    tcase_add_test(tc, behind_a_comparison);
    tcase_add_test(tc, what_the_table_does_not_name);
    tcase_add_test(tc, by_symbols_of_functions);
    tcase_add_test(tc, files_that_do_not_say);
    tcase_add_test(tc, random_files);
    tcase_set_timeout(tc, 60);
    return suite_run_case("function_start", tc);
}
