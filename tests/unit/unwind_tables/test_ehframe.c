/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_tables/ehframe.c compared with libdw, row for row, on the libraries of every JVM. */
#include "suite.h"

#include "unwind_tables/ehframe.h"
#include "unwind_tables/image_rows.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

static const char *const FILES[] = {
    "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
    "/usr/lib/jvm/temurin-25-jdk-amd64/lib/server/libjvm.so",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/lib/x86_64-linux-gnu/libstdc++.so.6",
    "[vdso]",
};

/* Opens a copy of the vdso from this process's memory: it has no file. */
static int open_vdso(void)
{
    const char *p = (const char *)getauxval(AT_SYSINFO_EHDR);
    int fd = memfd_create("vdso", MFD_CLOEXEC);

    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(write(fd, p, 4096), 4096);
    for (size_t n = 4096; n < 16384 && write(fd, p + n, 4096) == 4096; n += 4096)
        ;
    return fd;
}

static bool op_is(const Dwarf_Op *op, size_t n, size_t i, unsigned atom, int64_t number)
{
    return i < n && op[i].atom == atom && (int64_t)op[i].number == number;
}

/* Returns the row that matches libdw's @frame, and where that frame ends. */
static struct unwind_row oracle_row(Dwarf_Frame *frame, uint64_t *ret_end)
{
    static const struct unwind_row NONE = { .base = UNWIND_BASE_NONE };
    struct unwind_row row = { .base = UNWIND_BASE_NONE };
    Dwarf_Op mem[3], *ops, *cfa;
    size_t n, cfa_n;
    Dwarf_Addr start;
    bool signal = false;

    if (dwarf_frame_info(frame, &start, ret_end, &signal) != 16)
        return NONE;
    if (signal)
        return (struct unwind_row){ .base = UNWIND_BASE_SIGNAL };
    ck_assert_int_eq(dwarf_frame_register(frame, 16, mem, &ops, &n), 0);
    if (n == 0 && ops == mem) /* undefined */
        return (struct unwind_row){ .base = UNWIND_BASE_ROOT };
    if (n == 0)
        return NONE; /* same value: no row has such an entry */
    if (!op_is(ops, n, 0, DW_OP_call_frame_cfa, 0) || !op_is(ops, n, 1, DW_OP_plus_uconst, -8))
        return NONE;
    if (dwarf_frame_cfa(frame, &cfa, &cfa_n) != 0 || cfa_n == 0)
        return NONE;
    if (cfa_n == 1 && (cfa[0].atom == DW_OP_bregx || cfa[0].atom >= DW_OP_breg0)) {
        uint64_t reg =
            cfa[0].atom == DW_OP_bregx ? cfa[0].number : cfa[0].atom - (uint64_t)DW_OP_breg0;
        int64_t off = (int64_t)(cfa[0].atom == DW_OP_bregx ? cfa[0].number2 : cfa[0].number);

        if ((reg != 6 && reg != 7) || (off & 7))
            return NONE;
        row.base = reg == 7 ? UNWIND_BASE_SP : UNWIND_BASE_FP;
        row.cfa = (int16_t)(off / 8);
    } else if (cfa_n == 2 && cfa[0].atom == DW_OP_breg6 && cfa[1].atom == DW_OP_deref) {
        row.base = UNWIND_BASE_FP_LOAD;
        row.cfa = (int16_t)((int64_t)cfa[0].number / 8);
    } else if (cfa_n == 3 && cfa[0].atom == DW_OP_breg7 && cfa[1].atom == DW_OP_deref &&
               op_is(cfa, cfa_n, 2, DW_OP_plus_uconst, 8) && (cfa[0].number & 7) == 0) {
        row.base = UNWIND_BASE_SP_LOAD;
        row.cfa = (int16_t)((int64_t)cfa[0].number / 8);
    } else if (cfa_n > 5 && cfa[0].atom == DW_OP_breg7 && cfa[0].number == 8 &&
               cfa[1].atom == DW_OP_breg16) {
        row.base = UNWIND_BASE_PLT;
        row.cfa = 1;
    } else {
        return NONE;
    }
    ck_assert_int_eq(dwarf_frame_register(frame, 6, mem, &ops, &n), 0);
    if (n == 0) /* same or undefined */
        return row.base == UNWIND_BASE_FP_LOAD ? NONE : row;
    if (op_is(ops, n, 0, DW_OP_call_frame_cfa, 0) && n == 2 && ops[1].atom == DW_OP_plus_uconst)
        row.fp = (int8_t)((int64_t)ops[1].number / 8);
    else if (!(row.base == UNWIND_BASE_FP_LOAD && n == 1 && op_is(ops, n, 0, DW_OP_breg6, 0)))
        return NONE;
    if (row.base == UNWIND_BASE_FP_LOAD && row.fp)
        return NONE;
    return row;
}

static void same(const struct unwind_row *got, const struct unwind_row *want, uint64_t pc)
{
    ck_assert_msg(got->base == want->base && got->cfa == want->cfa && got->fp == want->fp,
                  "pc %llx: base %u cfa %d fp %d, libdw says base %u cfa %d fp %d",
                  (unsigned long long)pc, got->base, got->cfa, got->fp, want->base, want->cfa,
                  want->fp);
}

START_TEST(agrees_with_libdw)
{
    const char *path = FILES[_i];
    _cleanup_close_ int fd = path[0] == '[' ? open_vdso() : open(path, O_RDONLY | O_CLOEXEC);
    struct ehframe_table t = { 0 };
    struct error err = ERROR_NULL;
    uint64_t before_ns;
    Dwarf_CFI *cfi;
    size_t checked = 0, none = 0;
    Elf *elf;

    if (fd < 0) {
        printf("%s: not here\n", path);
        return;
    }
    before_ns = clock_monotonic_ns();
    ck_assert_msg(ehframe_read(fd, &t, &err) == 0, "%s", err.msg);
    printf("%s: %zu rows, %zu left out, %llu us\n", path, t.count, t.unreadable,
           (unsigned long long)((clock_monotonic_ns() - before_ns) / 1000));
    ck_assert_uint_gt(t.count, 10);
    ck_assert_uint_eq(t.unreadable, 0);
    ck_assert_uint_eq(t.rows[t.count - 1].base, UNWIND_BASE_NONE);
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ, NULL);
    ck_assert_ptr_nonnull(elf);
    cfi = dwarf_getcfi_elf(elf);
    ck_assert_ptr_nonnull(cfi);
    for (size_t i = 0; i + 1 < t.count; i++) {
        uint64_t pc = t.rows[i].pc, last = t.rows[i + 1].pc - 1; /* both ends of the row */

        ck_assert_uint_lt(t.rows[i].pc, t.rows[i + 1].pc);
        for (;;) {
            struct unwind_row want = { .base = UNWIND_BASE_NONE };
            Dwarf_Frame *frame = NULL;
            Dwarf_Addr end = 0;

            if (dwarf_cfi_addrframe(cfi, pc, &frame) == 0) {
                want = oracle_row(frame, &end);
                free(frame);
            }
            same(&t.rows[i], &want, pc);
            checked++;
            none += want.base == UNWIND_BASE_NONE;
            if (pc == last || end > last) /* libdw's frame covers both ends */
                break;
            pc = last;
        }
    }
    printf("%zu addresses agree, %zu of them without a rule\n", checked, none);
    dwarf_cfi_end(cfi);
    elf_end(elf);
    ehframe_deinit(&t);
}
END_TEST

START_TEST(finds_the_section_without_headers)
{
    _cleanup_close_ int in = open(FILES[2], O_RDONLY | O_CLOEXEC);
    _cleanup_close_ int out = memfd_create("stripped", MFD_CLOEXEC);
    struct ehframe_table a = { 0 }, b = { 0 };
    Elf64_Ehdr head;
    char page[65536];
    ssize_t n;

    if (in < 0)
        return;
    while ((n = read(in, page, sizeof(page))) > 0)
        ck_assert_int_eq(write(out, page, (size_t)n), n);
    ck_assert_int_eq(pread(out, &head, sizeof(head), 0), sizeof(head));
    head.e_shnum = 0;
    ck_assert_int_eq(pwrite(out, &head, sizeof(head), 0), sizeof(head));
    ck_assert_int_eq(ehframe_read(in, &a, NULL), 0);
    ck_assert_int_eq(ehframe_read(out, &b, NULL), 0);
    ck_assert_uint_eq(a.count, b.count);
    ck_assert_int_eq(memcmp(a.rows, b.rows, a.count * sizeof(*a.rows)), 0);
    ehframe_deinit(&a);
    ehframe_deinit(&b);
}
END_TEST

START_TEST(knows_where_a_mapping_lies)
{
    struct ehframe_segment t[] = { { 0x28000, 0x29000, 0x1000 } };
    uint64_t bias;

    ck_assert(ehframe_bias(t, 1, 0x7f0000028000, 0x28000, &bias));
    ck_assert_uint_eq(bias, 0x7f0000028000 - 0x29000);
    ck_assert(!ehframe_bias(t, 1, 0x7f0000028000, 0x20000, &bias));
    ck_assert(!ehframe_bias(t, 1, 0x7f0000028000, 0x29000, &bias));
}
END_TEST

START_TEST(refuses_what_is_no_elf)
{
    _cleanup_close_ int fd = memfd_create("x", MFD_CLOEXEC);
    struct ehframe_table t = { 0 };
    struct error err = ERROR_NULL;

    ck_assert_int_eq(ehframe_read(fd, &t, &err), -ENOEXEC);
    ck_assert_str_ne(err.msg, "");
}
END_TEST

/* ---- time ---- */

static void put(struct buf *b, const void *p, size_t n)
{
    buf_add(b, p, n);
}

static void put_u32(struct buf *b, uint32_t v)
{
    put(b, &v, sizeof(v));
}

/* Puts a CIE with @nops initial instructions. Returns its offset in the section. */
static uint32_t put_cie(struct buf *b, size_t nops)
{
    static const char BODY[] = "\1zR\0\1\x78\x10\1\x1b\x0c\7\x08\x90\1"; /* compilers' form */
    uint32_t at = (uint32_t)b->n;

    put_u32(b, (uint32_t)(4 + sizeof(BODY) - 1 + nops));
    put_u32(b, 0);
    put(b, BODY, sizeof(BODY) - 1);
    for (size_t i = 0; i < nops; i++)
        buf_add_char(b, '\0');
    return at;
}

/* Puts an FDE of the CIE at @cie, for 16 bytes of code at @pc. The section is at address 0. */
static void put_fde(struct buf *b, uint32_t cie, uint32_t pc)
{
    put_u32(b, 16);
    put_u32(b, (uint32_t)b->n - cie);
    put_u32(b, pc - (uint32_t)b->n);
    put_u32(b, 16);
    put_u32(b, 0); /* no augmentation, and no-ops */
}

/* The initial instructions run again whenever an FDE has another CIE than the one before: @nops of
 * them for each of 20,000. */
static const struct {
    size_t nops;
    bool read;
} CIES[] = { { 3, true }, { 100, true }, { 200, false }, { (size_t)64 << 10, false } };

START_TEST(long_cies_in_turns)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct ehframe_table t = { 0 };
    uint64_t began_ns;
    uint32_t cies[2];

    buf_init(&b, (size_t)1 << 20);
    for (int i = 0; i < 2; i++)
        cies[i] = put_cie(&b, CIES[_i].nops);
    for (uint32_t i = 0; i < 20000; i++)
        put_fde(&b, cies[i % 2], 0x100000 + 32 * i);
    put_u32(&b, 0);
    ck_assert_int_eq(b.error, 0);
    began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    ck_assert_int_eq(ehframe_parse(buf_span(&b), 0, CFA_X86_64, &t), 0);
    ehframe_tidy(&t);
    ck_assert_uint_lt(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns, NSEC_PER_SEC);
    ck_assert_uint_eq(t.count, CIES[_i].read ? 40000 : 0);
    ck_assert_uint_eq(t.unreadable, CIES[_i].read ? 0 : 20000);
    ehframe_deinit(&t);
}
END_TEST

/* aarch64: a pair pushed, fp set, both restored; only a return address, signed; a pair at two
 * offsets; pairs in large frames. */
START_TEST(rows_of_aarch64)
{
    static const struct {
        const char *program;
        size_t n;
        struct unwind_row rows[4];
    } CASES[] = {
#define PROGRAM(text) text, sizeof(text) - 1
        { PROGRAM("\x41\x0e\x20\x9d\x04\x9e\x03" /* offset 32, x29 at 0 of it, x30 above */
                  "\x41\x0d\x1d"                 /* by x29 */
                  "\x41\xde\xdd\x0c\x1f\x00"),   /* restored */
          { { 0x100, 0, UNWIND_BASE_SP, 0 },
            { 0x104, 4, UNWIND_BASE_SP, 1 },
            { 0x108, 4, UNWIND_BASE_FP, 1 },
            { 0x10c, 0, UNWIND_BASE_SP, 0 } } },
        { PROGRAM("\x41\x2d\x41\x0e\x10\x9e\x02"),
          { { 0x100, 0, UNWIND_BASE_SP, 0 }, { 0x108, 2, UNWIND_BASE_SP, -1 } } },
        { PROGRAM("\x41\x0e\x20\x9d\x04\x9e\x02"),
          { { 0x100, 0, UNWIND_BASE_SP, 0 }, { 0x104, 0, UNWIND_BASE_NONE, 0 } } },
        { PROGRAM("\x41\x0e\xc0\x08\x9d\x06\x9e\x05"), /* 1,088 bytes, the pair at their top */
          { { 0x100, 0, UNWIND_BASE_SP, 0 }, { 0x104, 136, UNWIND_BASE_SP, -69 } } },
        { PROGRAM("\x41\x0e\xc0\x08\x9d\x41\x9e\x40"), /* as far as a row counts from sp */
          { { 0x100, 0, UNWIND_BASE_SP, 0 }, { 0x104, 136, UNWIND_BASE_SP, 72 } } },
        { PROGRAM("\x41\x0e\x80\x10\x9d\x41\x9e\x40"), /* too far from both ends */
          { { 0x100, 0, UNWIND_BASE_SP, 0 }, { 0x104, 0, UNWIND_BASE_NONE, 0 } } },
        { PROGRAM("\x41\x0e\xc0\x08\x9e\x05"), /* the return address alone, far */
          { { 0x100, 0, UNWIND_BASE_SP, 0 }, { 0x104, 0, UNWIND_BASE_NONE, 0 } } },
        { PROGRAM("\x41\x0e\x80\x80\x04\x9d\x80\x40\x9e\xff\x3f"), /* 64 KB */
          { { 0x100, 0, UNWIND_BASE_SP, 0 }, { 0x104, 8192, UNWIND_BASE_SP, 1 } } },
        { PROGRAM("\x41\x0e\x88\x80\x40\x9d\x81\x80\x04\x9e\x80\x80\x04"), /* over 1 MB */
          { { 0x100, 0, UNWIND_BASE_SP, 0 }, { 0x104, 0, UNWIND_BASE_NONE, 0 } } },
#undef PROGRAM
    };

    static const char CIE[] = "\1zRB\0\4\x78\x1e\1\x1b\x0c\x1f"; /* key B, sp + 0 */

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        _cleanup_buf_ struct buf b = BUF_NULL;
        struct ehframe_table t = { 0 };

        buf_init(&b, 4096);
        put_u32(&b, 4 + sizeof(CIE));
        put_u32(&b, 0);
        put(&b, CIE, sizeof(CIE));
        put_u32(&b, (uint32_t)(13 + CASES[i].n));
        put_u32(&b, (uint32_t)b.n); /* the CIE is at 0 */
        put_u32(&b, 0x100 - (uint32_t)b.n);
        put_u32(&b, 0x40);
        buf_add_char(&b, '\0');
        put(&b, CASES[i].program, CASES[i].n);
        put_u32(&b, 0);
        ck_assert_int_eq(ehframe_parse(buf_span(&b), 0, CFA_AARCH64, &t), 0);
        ehframe_tidy(&t);
        ck_assert_uint_eq(t.unreadable, 0);
        for (size_t k = 0; k < ARRAY_SIZE(CASES[i].rows) && CASES[i].rows[k].pc; k++) {
            ck_assert_uint_lt(k, t.count);
            ck_assert_uint_eq(t.rows[k].pc, CASES[i].rows[k].pc);
            same(&t.rows[k], &CASES[i].rows[k], t.rows[k].pc);
        }
        ehframe_deinit(&t);
    }
}
END_TEST

/* The entries behind a header of 32 bytes, unless rows of the file are there. */
START_TEST(entries_of_a_plt_on_aarch64)
{
    static const struct unwind_row KNOWN[] = {
        { 0x100, 2, UNWIND_BASE_SP, 1 },
        { 0x200, 0, UNWIND_BASE_NONE, 0 },
        { 0x300, 4, UNWIND_BASE_SP, 1 },
        { 0x400, 0, UNWIND_BASE_NONE, 0 },
    };
    static const struct {
        struct ehframe_segment plt;
        uint32_t start; /* of the rule; 0: none */
    } CASES[] = {
        { { 0, 0x200, 0x100 }, 0x220 },
        { { 0, 0x210, 0x40 }, 0x230 },
        { { 0, 0x400, 0x30 }, 0x420 },
        { { 0, 0x1f0, 0x40 }, 0x210 },
        { { 0, 0x200, 0x101 }, 0 },
        { { 0, 0x1c0, 0x80 }, 0 },
        { { 0, 0x280, 0x400 }, 0 },
        { { 0, 0x200, 0x20 }, 0 },
        { { 0, 0, 0 }, 0 },
        { { 0, UINT64_MAX - 8, 0x40 }, 0 },
        { { 0, 0x210, UINT64_MAX }, 0 },
        { { 0, UINT32_MAX, 0x40 }, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct ehframe_table t = { .rows = calloc(ARRAY_SIZE(KNOWN), sizeof(*t.rows)),
                                   .count = ARRAY_SIZE(KNOWN) };
        uint32_t start = 0;

        ck_assert_ptr_nonnull(t.rows);
        memcpy(t.rows, KNOWN, sizeof(KNOWN));
        ck_assert_int_eq(ehframe_add_plt(&CASES[i].plt, &t), 0);
        for (size_t k = 0; k < t.count; k++) {
            ck_assert(k == 0 || t.rows[k - 1].pc < t.rows[k].pc);
            if (t.rows[k].base == UNWIND_BASE_SP && t.rows[k].cfa == 0 && t.rows[k].fp == 0)
                start = t.rows[k].pc;
        }
        ck_assert_msg(start == CASES[i].start, "case %zu: %x", i, start);
        ck_assert_int_eq(t.rows[t.count - 1].base, UNWIND_BASE_NONE);
        ehframe_deinit(&t);
    }
}
END_TEST

/* Reads a function of a native image, which has five rows. */
static int read_function(const void *file, uint64_t offset, void *p, size_t n)
{
    static const char CODE[] = "\x48\x83\xec\x08\x48\x83\xc4\x08\xc3\xcc\xcc\xcc\xcc\xcc\xcc";

    ck_assert(!file && !offset && n == sizeof(CODE));
    memcpy(p, CODE, sizeof(CODE) - 1);
    ((char *)p)[n - 1] = '\xcc';
    return 0;
}

START_TEST(an_image_adds_the_functions_that_there_is_room_for)
{
    const struct ehframe_segment code = { 0, 0x80000000, 16 };

    for (size_t left = 0; left < 8; left++) {
        const size_t known = EHFRAME_ROWS_MAX - left;
        struct ehframe_table t = { .rows = calloc(known, sizeof(*t.rows)), .count = known };

        ck_assert_ptr_nonnull(t.rows);
        for (size_t i = 0; i < known; i++)
            t.rows[i] =
                (struct unwind_row){ .pc = (uint32_t)i,
                                     .cfa = (int16_t)(1 + i % 2),
                                     .base = i + 1 < known ? UNWIND_BASE_SP : UNWIND_BASE_NONE };
        ck_assert_int_eq(image_rows_add(read_function, NULL, &code, &t), 0);
        if (left < 4)
            ck_assert_uint_eq(t.count, known);
        else if (left > 4)
            ck_assert_uint_gt(t.count, known);
        ehframe_deinit(&t);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("ehframe");

    setvbuf(stdout, NULL, _IOLBF, 0);
    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, agrees_with_libdw, 0, (int)ARRAY_SIZE(FILES));
    tcase_add_test(tc, finds_the_section_without_headers);
    tcase_add_test(tc, knows_where_a_mapping_lies);
    tcase_add_test(tc, refuses_what_is_no_elf);
    tcase_add_loop_test(tc, long_cies_in_turns, 0, (int)ARRAY_SIZE(CIES));
    tcase_add_test(tc, rows_of_aarch64);
    tcase_add_test(tc, entries_of_a_plt_on_aarch64);
    tcase_add_test(tc, an_image_adds_the_functions_that_there_is_room_for);
    return suite_run_case("ehframe", tc);
}
