/* SPDX-License-Identifier: Apache-2.0 */
/* broker/function_start.c: at which places of a file a probe may stand, and that a hostile file
 * gets no other. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/function_start.h"

#include <elf.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE_VADDR 0x401000 /* its offset in the file is another */
#define TABLE_VADDR 0x500000

struct table {
    uint8_t version, pointer, count_form, table_form;
    int32_t frames;
    uint32_t count;
    struct {
        int32_t address, entry;
    } starts[6];
};

/* A file with six functions, 32 bytes each. */
struct image {
    Elf64_Ehdr head;
    Elf64_Phdr programs[2];
    struct table table;
    uint8_t code[6][32];
};

enum { PUSH_RBP, PUSH_R12, NOP5, ENDBR, TEST_RDI, SHORT_NOP };

static struct image good(void)
{
    static const uint8_t CODE[6][9] = {
        [PUSH_RBP] = { 0x55, 0x48, 0x89, 0xe5 },   [PUSH_R12] = { 0x41, 0x54 },
        [NOP5] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 }, [ENDBR] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57 },
        [TEST_RDI] = { 0x48, 0x85, 0xff, 0x55 },   [SHORT_NOP] = { 0x90, 0x55 },
    };
    struct image m = {
        .head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
                  .e_machine = EM_X86_64,
                  .e_phoff = offsetof(struct image, programs),
                  .e_phentsize = sizeof(Elf64_Phdr),
                  .e_phnum = 2 },
        .programs = { { .p_type = PT_LOAD,
                        .p_flags = PF_R | PF_X,
                        .p_offset = offsetof(struct image, code),
                        .p_vaddr = CODE_VADDR,
                        .p_filesz = sizeof(m.code) },
                      { .p_type = PT_GNU_EH_FRAME,
                        .p_offset = offsetof(struct image, table),
                        .p_vaddr = TABLE_VADDR,
                        .p_filesz = sizeof(m.table) } },
        .table = { .version = 1, .pointer = 0x1b, .count_form = 3, .table_form = 0x3b, .count = 6 },
    };

    for (int i = 0; i < 6; i++) {
        m.table.starts[i].address = CODE_VADDR + i * 32 - TABLE_VADDR;
        memcpy(m.code[i], CODE[i], sizeof(CODE[i]));
    }
    return m;
}

static uint64_t offset_of(int function)
{
    return offsetof(struct image, code) + (uint64_t)function * 32;
}

/* The offset that is given, or the error. */
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

static int64_t check_image(const struct image *m, uint64_t offset)
{
    return check(m, sizeof(*m), offset);
}

START_TEST(only_starts_with_known_instructions)
{
    struct image m = good();

    ck_assert_int_eq(check_image(&m, offset_of(PUSH_RBP)), (int64_t)offset_of(PUSH_RBP));
    ck_assert_int_eq(check_image(&m, offset_of(PUSH_R12)), (int64_t)offset_of(PUSH_R12));
    ck_assert_int_eq(check_image(&m, offset_of(NOP5)), (int64_t)offset_of(NOP5));
    ck_assert_int_eq(check_image(&m, offset_of(ENDBR)), (int64_t)offset_of(ENDBR) + 4);
    ck_assert_int_eq(check_image(&m, offset_of(TEST_RDI)), -ENOEXEC);
    ck_assert_int_eq(check_image(&m, offset_of(SHORT_NOP)), -ENOEXEC);
    for (uint64_t at = 0; at < sizeof(m) + 64; at++) {
        bool start = at >= offset_of(0) && (at - offset_of(0)) % 32 == 0;

        if (!start)
            ck_assert_int_eq(check_image(&m, at), -EPERM);
    }
    ck_assert_int_eq(check_image(&m, UINT64_MAX), -EPERM);
}
END_TEST

/* As glibc's posix_memalign and free begin, and malloc of jemalloc and tcmalloc. */
START_TEST(behind_a_comparison)
{
    static const uint8_t COMPARE[] = { 0x80, 0x3d, 0x01, 0x02, 0x14, 0x00, 0x00, 0x41, 0x54 };
    static const uint8_t COMPARE_RDI[] = { 0x48, 0x81, 0xff, 0x00, 0x10, 0x00, 0x00, 0x0f, 0x87 };
    static const uint8_t MOVE_RSI[] = { 0x49, 0x89, 0xf1 };
    static const uint8_t PRODUCT[] = { 0x48, 0x89, 0xf8, 0x48, 0xf7, 0xe6, 0x0f, 0x80 };
    static const uint8_t TEST_AND_JUMP[] = { 0x48, 0x85, 0xff, 0x0f, 0x84 };
    static const uint8_t LOAD_AND_TEST[] = { 0x48, 0x8b, 0x05, 0x59, 0xab, 0x00,
                                             0x00, 0x48, 0x85, 0xc0, 0x74 };
    struct image m = good();

    memcpy(m.code[0], COMPARE, sizeof(COMPARE));
    ck_assert_int_eq(check_image(&m, offset_of(0)), (int64_t)offset_of(0) + 7);
    ck_assert_int_eq(check_image(&m, offset_of(0) + 7), -EPERM); /* no function begins there */
    m.code[0][7] = 0x74;                                         /* je */
    ck_assert_int_eq(check_image(&m, offset_of(0)), (int64_t)offset_of(0) + 7);
    m.code[0][7] = 0x48;
    ck_assert_int_eq(check_image(&m, offset_of(0)), -ENOEXEC);
    memcpy(m.code[0], COMPARE_RDI, sizeof(COMPARE_RDI));
    ck_assert_int_eq(check_image(&m, offset_of(0)), (int64_t)offset_of(0) + 7);
    m.code[0][2] = 0xfe; /* %rsi */
    ck_assert_int_eq(check_image(&m, offset_of(0)), -ENOEXEC);
    m = good();
    m.code[0][0] = 0xe9; /* jmp */
    ck_assert_int_eq(check_image(&m, offset_of(0)), (int64_t)offset_of(0));
    m.code[0][0] = 0xe8; /* call */
    ck_assert_int_eq(check_image(&m, offset_of(0)), -ENOEXEC);
    m = good();
    memcpy(m.code[ENDBR] + 4, COMPARE, sizeof(COMPARE));
    ck_assert_int_eq(check_image(&m, offset_of(ENDBR)), (int64_t)offset_of(ENDBR) + 11);
    m.code[ENDBR][5] = 0x3c; /* cmpb $n, (reg) is of another length */
    ck_assert_int_eq(check_image(&m, offset_of(ENDBR)), -ENOEXEC);
    memcpy(m.code[ENDBR] + 4, LOAD_AND_TEST, sizeof(LOAD_AND_TEST));
    ck_assert_int_eq(check_image(&m, offset_of(ENDBR)), (int64_t)offset_of(ENDBR) + 14);
    m.code[ENDBR][13] = 0xc9; /* test %rcx, %rcx: as good, but not known */
    ck_assert_int_eq(check_image(&m, offset_of(ENDBR)), -ENOEXEC);
    memcpy(m.code[ENDBR] + 4, LOAD_AND_TEST, sizeof(LOAD_AND_TEST));
    m.code[ENDBR][6] = 0x3d; /* mov d(%rip), %rdi: changes an argument */
    ck_assert_int_eq(check_image(&m, offset_of(ENDBR)), -ENOEXEC);
    memcpy(m.code[0], TEST_AND_JUMP, sizeof(TEST_AND_JUMP));
    ck_assert_int_eq(check_image(&m, offset_of(0)), (int64_t)offset_of(0) + 3);
    m.code[0][3] = 0x78; /* js, as malloc of glibc 2.42 */
    ck_assert_int_eq(check_image(&m, offset_of(0)), (int64_t)offset_of(0) + 3);
    m.code[0][3] = 0x55; /* push: not there, as nothing needs it */
    ck_assert_int_eq(check_image(&m, offset_of(0)), -ENOEXEC);
    memcpy(m.code[0], MOVE_RSI, sizeof(MOVE_RSI)); /* as realloc of glibc 2.42 */
    memcpy(m.code[0] + 3, TEST_AND_JUMP, sizeof(TEST_AND_JUMP));
    ck_assert_int_eq(check_image(&m, offset_of(0)), (int64_t)offset_of(0) + 6);
    m.code[0][2] = 0xf7; /* to r15, which the caller wants back */
    ck_assert_int_eq(check_image(&m, offset_of(0)), -ENOEXEC);
    m.code[0][0] = 0x48;
    m.code[0][2] = 0xf1; /* to rcx: an argument */
    ck_assert_int_eq(check_image(&m, offset_of(0)), -ENOEXEC);
    memcpy(m.code[0], PRODUCT, sizeof(PRODUCT)); /* as calloc of glibc 2.43 */
    ck_assert_int_eq(check_image(&m, offset_of(0)), (int64_t)offset_of(0) + 6);
    m.code[0][5] = 0xe7; /* of another register */
    ck_assert_int_eq(check_image(&m, offset_of(0)), -ENOEXEC);
    memcpy(m.code[0], PRODUCT, sizeof(PRODUCT));
    m.code[0][6] = 0x90; /* no jump */
    ck_assert_int_eq(check_image(&m, offset_of(0)), -ENOEXEC);
    memcpy(m.code[0], COMPARE, 7); /* twice */
    memcpy(m.code[0] + 7, COMPARE, sizeof(COMPARE));
    ck_assert_int_eq(check_image(&m, offset_of(0)), -ENOEXEC);
}
END_TEST

START_TEST(what_the_table_does_not_name)
{
    struct image m = good();

    m.code[0][16] = 0x55; /* the byte is right, the place is none */
    ck_assert_int_eq(check_image(&m, offset_of(0) + 16), -EPERM);
    m.table.count = 2;
    ck_assert_int_eq(check_image(&m, offset_of(1)), (int64_t)offset_of(1));
    ck_assert_int_eq(check_image(&m, offset_of(2)), -EPERM);
    m.table.count = UINT32_MAX; /* more than the segment has: those that are there count */
    ck_assert_int_eq(check_image(&m, offset_of(1)), (int64_t)offset_of(1));
    m.programs[1].p_filesz = 12;
    ck_assert_int_eq(check_image(&m, offset_of(1)), -EPERM);
    m.programs[1].p_filesz = UINT64_MAX;
    ck_assert_int_eq(check_image(&m, offset_of(1)), -EPERM);
}
END_TEST

static uint32_t last_register; /* of the first place that results() found */

/* The places in the function at @offset, counted from there; or the error. */
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

/* Function 0 calls function 2, and jumps on what it gets. */
static struct image calling(void)
{
    static const uint8_t CODE[] = { 0x53, 0xe8, 0x3a, 0x00, 0x00, 0x00, /* push, call */
                                    0x48, 0x85, 0xc0,                   /* test %rax, %rax */
                                    0x74, 0x02, 0x5b, 0xc3 };           /* je, pop, ret */
    struct image m = good();

    memcpy(m.code[0], CODE, sizeof(CODE));
    return m;
}

/* As glibc has it in malloc, calloc and realloc. */
START_TEST(where_results_are)
{
    static const uint8_t MOVED[] = { 0x49, 0x89, 0xc4, 0x48, 0x85, 0xc0, 0x0f, 0x84, 2, 0, 0, 0 };
    int64_t at[FUNCTION_RESULTS_MAX];
    struct image m = calling();

#define RESULTS(from) results(&m, sizeof(m), offset_of(from), at)
    ck_assert_int_eq(RESULTS(0), 1);
    ck_assert_int_eq(at[0], 9);
    memcpy(m.code[0] + 6, MOVED, sizeof(MOVED));
    ck_assert_int_eq(RESULTS(0), 1);
    ck_assert_int_eq(at[0], 12);
    ck_assert_uint_eq(last_register, 12);
    m.code[0][8] = 0x44; /* mov %rax, n(%rsp) is longer */
    ck_assert_int_eq(RESULTS(0), -ENOEXEC);
#define WITH(byte, value)                                                                          \
    m = calling();                                                                                 \
    m.code[0][byte] = value;                                                                       \
    ck_assert_int_eq(RESULTS(0), -ENOEXEC)
    WITH(1, 0xe9);  /* no call */
    WITH(2, 0x3b);  /* of no function */
    WITH(5, 0x80);  /* nor this */
    WITH(6, 0x49);  /* test of another register */
    WITH(9, 0xeb);  /* a jump on nothing */
    WITH(10, 0x30); /* it leaves the function */
    WITH(10, 0x80); /* so does this */
#undef WITH
    m = calling();
    m.table.count = 2; /* function 2 is none */
    ck_assert_int_eq(RESULTS(0), -ENOEXEC);
    m = calling();
    ck_assert_int_eq(results(&m, sizeof(m), offset_of(0) + 1, at), -ENOEXEC);
    ck_assert_int_eq(results(&m, sizeof(m), offset_of(6), at), -EPERM);
    m.code[3][0] = 0xe9; /* function 3 goes on in function 0 */
    m.code[3][1] = 0x9b;
    m.code[3][2] = m.code[3][3] = m.code[3][4] = 0xff;
    ck_assert_int_eq(RESULTS(3), 1);
    ck_assert_int_eq(at[0], 9 - 3 * 32);
    ck_assert_int_eq(RESULTS(5), -ENOEXEC); /* the last one: nothing says where it ends */
    /* Who wants to crash its own process can: these bytes are within a mov, an add and a shl. */
    m = calling();
    m.code[0][0] = 0xba;
    ck_assert_int_eq(RESULTS(0), 1);
}
END_TEST

/* What stands between the call and the test: each of these, or another one instead. */
START_TEST(what_may_be_behind_a_call)
{
    static const struct {
        uint8_t code[32];
        int64_t at; /* the jump; 0: it is no such place */
        uint32_t reg;
    } ALL[] = {
#define CALL 0xe8, 0x3b, 0x00, 0x00, 0x00
#define LOAD_R8 0x4c, 0x8b, 0x04, 0x24
#define LOAD_R10 0x4c, 0x8b, 0x54, 0x24, 0x08
#define MOVE_R12 0x49, 0x89, 0xc4
#define UNLOCK 0x31, 0xc0, 0x41, 0x87, 0x00, 0x83, 0xf8, 0x01, 0x7f, 0x10
#define TEST_R12 0x4d, 0x85, 0xe4
#define JUMP 0x74, 0x02
        /* realloc of glibc 2.36, and of 2.43 but for the length of a jump */
        { { CALL, LOAD_R8, MOVE_R12, UNLOCK, TEST_R12, JUMP }, 25, 12 },
        { { CALL, LOAD_R10, 0x49, 0x89, 0xc3, UNLOCK, 0x4d, 0x85, 0xdb, JUMP }, 26, 11 },
        /* posix_memalign, and memalign of 2.43 */
        { { CALL, 0x48, 0x89, 0xc2, 0xb8, 0x0c, 0, 0, 0, 0x48, 0x85, 0xd2, JUMP }, 16, 2 },
        { { CALL, LOAD_R8, LOAD_R10, 0x48, 0x85, 0xc0, JUMP }, 17, 0 },
        /* what is tested is not the result */
        { { CALL, LOAD_R8, MOVE_R12, UNLOCK, 0x48, 0x85, 0xc0, JUMP }, 0, 0 },
        { { CALL, MOVE_R12, 0x4d, 0x85, 0xed, JUMP }, 0, 0 },
        { { CALL, MOVE_R12, 0x49, 0x85, 0xe4, JUMP }, 0, 0 },
        /* the result is written over: by what is loaded, by a number */
        { { CALL, MOVE_R12, 0x4c, 0x8b, 0x24, 0x24, TEST_R12, JUMP }, 0, 0 },
        { { CALL, 0x48, 0x8b, 0x04, 0x24, 0x48, 0x85, 0xc0, JUMP }, 0, 0 },
        { { CALL, 0x31, 0xc0, 0x48, 0x85, 0xc0, JUMP }, 0, 0 },
        { { CALL, 0x41, 0x87, 0x00, 0x48, 0x85, 0xc0, JUMP }, 0, 0 },
        /* an unknown instruction; too many; another jump than jg */
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
        struct image m = good();
        int64_t at[FUNCTION_RESULTS_MAX];
        int r;

        memcpy(m.code[0], ALL[i].code, sizeof(ALL[i].code));
        r = results(&m, sizeof(m), offset_of(0), at);
        ck_assert_msg(r == (ALL[i].at ? 1 : -ENOEXEC), "%zu: %d", i, r);
        if (ALL[i].at) {
            ck_assert_int_eq(at[0], ALL[i].at);
            ck_assert_uint_eq(last_register, ALL[i].reg);
        }
    }
}
END_TEST

#define LARGE 2048 /* bytes of a function */

/* A file with three functions: one of nothing but first bytes of jumps, a jump at its end, what
 * that leads to, and another. */
struct jumping {
    Elf64_Ehdr head;
    Elf64_Phdr programs[2];
    struct table table;
    uint8_t code[LARGE], behind[2][32];
};

/* A hostile file has the table searched for each of these, which takes the broker's time. */
START_TEST(so_many_jumps_are_looked_at)
{
    struct image small = calling();
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

/* A file without that table, but with symbols of two functions. */
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
        .head = good().head,
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

/* Of musl's libc.so. */
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
    WITH(hash[1], 2); /* the last one is none */
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
    x.programs[1].p_filesz = UINT64_MAX; /* they end before */
    ck_assert_int_eq(check(&x, sizeof(x), second), (int64_t)second);
}
END_TEST

START_TEST(files_that_do_not_say)
{
    const struct image m = good();
    struct image x;

#define WITH(field, value)                                                                         \
    x = m;                                                                                         \
    x.field = value;                                                                               \
    ck_assert_int_eq(check_image(&x, offset_of(0)), -EPERM)
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
    WITH(programs[0].p_flags, PF_R); /* no code */
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
        ck_assert_int_eq(check(&m, n, offset_of(0)), -EPERM);
}
END_TEST

/* Whatever a file says, a probe stands at one of these alone. */
static bool is_known(const uint8_t *p)
{
    return (p[0] & 0xf8) == 0x50 || (p[0] == 0x41 && (p[1] & 0xf8) == 0x50) || p[0] == 0xe9 ||
           (p[0] & 0xf0) == 0x70 || (p[0] == 0x0f && (p[1] & 0xf0) == 0x80) ||
           memcmp(p, "\x0f\x1f\x44\x00\x00", 5) == 0;
}

START_TEST(random_files)
{
    uint64_t random = 88172645463325252u;
    int accepted = 0;

    for (int round = 0; round < 4000; round++) {
        struct image m = round % 2 ? calling() : good();
        uint8_t *bytes = (uint8_t *)&m;
        int64_t at, places[FUNCTION_RESULTS_MAX];

        for (int i = 0; i < 1 + round % 3; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes[random % sizeof(m)] = (uint8_t)(random >> 32);
        }
        for (int i = results(&m, sizeof(m), offset_of(round % 6), places); i-- > 0;)
            ck_assert(is_known((uint8_t *)&m + (int64_t)offset_of(round % 6) + places[i]));
        at = check_image(&m, offset_of(round % 6));
        if (at < 0)
            continue;
        accepted++;
        ck_assert_int_le(at, (int64_t)sizeof(m) - 9);
        ck_assert(is_known(bytes + at));
    }
    ck_assert_int_gt(accepted, 500);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("function_start");

    tcase_add_test(tc, only_starts_with_known_instructions);
    tcase_add_test(tc, behind_a_comparison);
    tcase_add_test(tc, where_results_are);
    tcase_add_test(tc, what_may_be_behind_a_call);
    tcase_add_test(tc, so_many_jumps_are_looked_at);
    tcase_add_test(tc, what_the_table_does_not_name);
    tcase_add_test(tc, by_symbols_of_functions);
    tcase_add_test(tc, files_that_do_not_say);
    tcase_add_test(tc, random_files);
    tcase_set_timeout(tc, 60);
    return suite_run_case("function_start", tc);
}
