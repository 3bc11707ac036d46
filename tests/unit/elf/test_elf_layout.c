/* SPDX-License-Identifier: Apache-2.0 */
/* elf/: headers of ELF files, of 64 and 32 bits, with few sections and with very many. */
#include "suite.h"

#include "elf/elf_file.h"
#include "elf/elf_layout.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static const char NAMES[] = "\0.names\0.text";

/* A file of 32 bits. */
static struct {
    Elf32_Ehdr head;
    Elf32_Phdr programs[2];
    Elf32_Shdr sections[3];
    char names[sizeof(NAMES)];
} narrow;

/* A file of 64 bits. */
static struct {
    Elf64_Ehdr head;
    Elf64_Phdr programs[2];
    Elf64_Shdr sections[3];
    char names[sizeof(NAMES)];
} wide;

/* Fills @file, of @class; both kinds have the same members. */
#define FILL(file, class)                                                                          \
    do {                                                                                           \
        memset(&(file), 0, sizeof(file));                                                          \
        memcpy((file).head.e_ident, ELFMAG, SELFMAG);                                              \
        (file).head.e_ident[EI_CLASS] = (class);                                                   \
        (file).head.e_ident[EI_DATA] = ELFDATA2LSB;                                                \
        (file).head.e_ident[EI_VERSION] = EV_CURRENT;                                              \
        (file).head.e_entry = 0x1234;                                                              \
        (file).head.e_phoff = offsetof(__typeof__(file), programs);                                \
        (file).head.e_phnum = 2;                                                                   \
        (file).head.e_shoff = offsetof(__typeof__(file), sections);                                \
        (file).head.e_shnum = 3;                                                                   \
        (file).head.e_shstrndx = 1;                                                                \
        (file).programs[1].p_type = PT_LOAD;                                                       \
        (file).programs[1].p_flags = PF_X;                                                         \
        (file).programs[1].p_offset = 0x100;                                                       \
        (file).programs[1].p_vaddr = 0x200;                                                        \
        (file).programs[1].p_filesz = 0x300;                                                       \
        (file).sections[1].sh_type = SHT_STRTAB;                                                   \
        (file).sections[1].sh_name = 1;                                                            \
        (file).sections[1].sh_offset = offsetof(__typeof__(file), names);                          \
        (file).sections[1].sh_size = sizeof(NAMES);                                                \
        (file).sections[2].sh_type = SHT_PROGBITS;                                                 \
        (file).sections[2].sh_name = 8;                                                            \
        (file).sections[2].sh_addr = 0x400;                                                        \
        (file).sections[2].sh_size = 0x500;                                                        \
        memcpy((file).names, NAMES, sizeof(NAMES));                                                \
    } while (0)

static int read_bytes(const void *p, size_t n, struct elf_layout *ret)
{
    return elf_layout_read(&(struct elf_source){ .fd = -1, .memory = { p, n } }, ret);
}

static void assert_all(const struct elf_layout *l)
{
    ck_assert_uint_eq(l->head.e_entry, 0x1234);
    ck_assert_uint_eq(l->program_count, 2);
    ck_assert_uint_eq(l->programs[0].p_type, PT_NULL);
    ck_assert_uint_eq(l->programs[1].p_type, PT_LOAD);
    ck_assert_uint_eq(l->programs[1].p_flags, PF_X);
    ck_assert_uint_eq(l->programs[1].p_offset, 0x100);
    ck_assert_uint_eq(l->programs[1].p_vaddr, 0x200);
    ck_assert_uint_eq(l->programs[1].p_filesz, 0x300);
    ck_assert_uint_eq(l->section_count, 3);
    ck_assert_uint_eq(l->sections[2].sh_type, SHT_PROGBITS);
    ck_assert_uint_eq(l->sections[2].sh_addr, 0x400);
    ck_assert_uint_eq(l->sections[2].sh_size, 0x500);
    ck_assert_str_eq(elf_layout_name(l, 0), "");
    ck_assert_str_eq(elf_layout_name(l, 1), ".names");
    ck_assert_str_eq(elf_layout_name(l, 2), ".text");
    ck_assert_str_eq(elf_layout_name(l, 3), "");
}

START_TEST(both_classes)
{
    _cleanup_(elf_layout_deinit) struct elf_layout a = { 0 }, b = { 0 };

    FILL(narrow, ELFCLASS32);
    FILL(wide, ELFCLASS64);
    ck_assert_int_eq(read_bytes(&narrow, sizeof(narrow), &a), 0);
    assert_all(&a);
    ck_assert_int_eq(read_bytes(&wide, sizeof(wide), &b), 0);
    assert_all(&b);
}
END_TEST

/* With very many sections, their number and the index of the names are in the first one. */
START_TEST(numbers_in_the_first_section)
{
    _cleanup_(elf_layout_deinit) struct elf_layout l = { 0 }, many = { 0 };

    FILL(wide, ELFCLASS64);
    wide.head.e_shnum = 0;
    wide.head.e_shstrndx = SHN_XINDEX;
    wide.sections[0].sh_size = 3;
    wide.sections[0].sh_link = 1;
    ck_assert_int_eq(read_bytes(&wide, sizeof(wide), &l), 0);
    assert_all(&l);
    wide.sections[0].sh_size = UINT64_MAX;
    ck_assert_int_eq(read_bytes(&wide, sizeof(wide), &many), 0);
    ck_assert_uint_eq(many.section_count, 3); /* as many as the file has */
}
END_TEST

/* A limit on each table: what is beyond is left out. */
START_TEST(tables_have_limits)
{
    size_t n = sizeof(wide) + ((size_t)1 << 20);
    _cleanup_free_ char *bytes = calloc(1, n);
    _cleanup_(elf_layout_deinit) struct elf_layout l = { 0 };

    FILL(wide, ELFCLASS64);
    wide.head.e_phnum = UINT16_MAX;
    wide.head.e_shnum = UINT16_MAX - 1;
    memcpy(bytes, &wide, sizeof(wide));
    ck_assert_int_eq(read_bytes(bytes, n, &l), 0);
    ck_assert_uint_eq(l.program_count, ELF_PROGRAM_HEADERS_MAX);
    ck_assert_uint_eq(l.section_count, ELF_SECTIONS_MAX);
    ck_assert_str_eq(elf_layout_name(&l, 2), ".text");
    elf_layout_deinit(&l);
    wide.sections[1].sh_size = ELF_SECTION_NAMES_MAX_BYTES;
    memcpy(bytes, &wide, sizeof(wide));
    ck_assert_int_eq(read_bytes(bytes, n, &l), 0);
    ck_assert_str_eq(elf_layout_name(&l, 2), ".text");
    elf_layout_deinit(&l);
    wide.sections[1].sh_size++;
    memcpy(bytes, &wide, sizeof(wide));
    ck_assert_int_eq(read_bytes(bytes, n, &l), 0);
    ck_assert_str_eq(elf_layout_name(&l, 2), "");
}
END_TEST

/* Names that the file lacks, that are packed, or not those of sections. */
START_TEST(names_that_cannot_be_read)
{
    for (int i = 0; i < 5; i++) {
        _cleanup_(elf_layout_deinit) struct elf_layout l = { 0 };

        FILL(wide, ELFCLASS64);
        if (i == 0)
            wide.head.e_shstrndx = SHN_UNDEF;
        else if (i == 1)
            wide.head.e_shstrndx = 3;
        else if (i == 2)
            wide.sections[1].sh_flags = SHF_COMPRESSED;
        else if (i == 3)
            wide.sections[1].sh_type = SHT_PROGBITS;
        else
            wide.sections[1].sh_offset = UINT64_MAX;
        ck_assert_int_eq(read_bytes(&wide, sizeof(wide), &l), 0);
        ck_assert_uint_eq(l.section_count, 3);
        ck_assert_str_eq(elf_layout_name(&l, 2), "");
    }
}
END_TEST

/* A file that ends early has the headers before its end; other files are no ELF files. */
START_TEST(cut_and_foreign_files)
{
    for (size_t n = 0; n < sizeof(wide); n++) {
        _cleanup_(elf_layout_deinit) struct elf_layout l = { 0 };
        int r;

        FILL(wide, ELFCLASS64);
        r = read_bytes(&wide, n, &l);
        ck_assert_int_eq(r, n < sizeof(wide.head) ? -ENOEXEC : 0);
        if (r == 0)
            ck_assert_uint_eq(l.program_count,
                              MIN((n - sizeof(wide.head)) / sizeof(wide.programs[0]), (size_t)2));
    }
    for (size_t i = 0; i <= EI_VERSION; i++) {
        struct elf_layout l;

        FILL(wide, ELFCLASS64);
        wide.head.e_ident[i] ^= 0x40;
        ck_assert_int_eq(read_bytes(&wide, sizeof(wide), &l), -ENOEXEC);
    }
}
END_TEST

/* The same from a file. */
START_TEST(own_program)
{
    _cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    _cleanup_(elf_layout_deinit) struct elf_layout l = { 0 };
    size_t text = 0;

    ck_assert_int_eq(elf_layout_read(&(struct elf_source){ .fd = fd }, &l), 0);
    for (size_t i = 0; i < l.section_count; i++)
        text += strcmp(elf_layout_name(&l, i), ".text") == 0;
    ck_assert_uint_eq(text, 1);
    ck_assert_uint_eq(l.program_count, l.head.e_phnum);
    ck_assert_uint_eq(l.section_count, l.head.e_shnum);
}
END_TEST

/* ---- a disk with errors ---- */

static int reads_left = INT_MAX; /* reads that succeed */

ssize_t __real_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at)
{
    if (reads_left-- > 0)
        return __real_pread(fd, p, n, at);
    errno = EIO;
    return -1;
}

/* As pread(), where the compiler knows the size of the buffer. */
ssize_t __wrap___pread_chk(int fd, void *p, size_t n, off_t at, size_t room);
ssize_t __wrap___pread_chk(int fd, void *p, size_t n, off_t at, size_t room)
{
    ck_assert_uint_le(n, room);
    return __wrap_pread(fd, p, n, at);
}

/* What could not be read is not taken for what the file lacks. */
START_TEST(an_error_is_not_the_end)
{
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
    _cleanup_(elf_layout_deinit) struct elf_layout l = { 0 };
    const int reads = 5 + _i; /* the class, the head, both tables and the names */
    struct elf_file *f = NULL;
    struct error err = ERROR_NULL;

    FILL(wide, ELFCLASS64);
    if (_i) { /* the number of sections is in the first one */
        wide.head.e_shnum = 0;
        wide.sections[0].sh_size = 3;
    }
    ck_assert_int_eq(write(fd, &wide, sizeof(wide)), sizeof(wide));
    for (int i = 0; i < reads; i++) {
        reads_left = i;
        ck_assert_int_eq(elf_layout_read(&(struct elf_source){ .fd = fd }, &l), -EIO);
        reads_left = i;
        ck_assert_int_eq(elf_file_open(fd, &f, &err), -EIO);
        ck_assert_msg(strstr(err.msg, "cannot read"), "%s", err.msg);
    }
    reads_left = reads;
    ck_assert_int_eq(elf_layout_read(&(struct elf_source){ .fd = fd }, &l), 0);
    assert_all(&l);
    reads_left = INT_MAX;
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("elf_layout");

    tcase_add_test(tc, both_classes);
    tcase_add_test(tc, numbers_in_the_first_section);
    tcase_add_test(tc, tables_have_limits);
    tcase_add_test(tc, names_that_cannot_be_read);
    tcase_add_test(tc, cut_and_foreign_files);
    tcase_add_test(tc, own_program);
    tcase_add_loop_test(tc, an_error_is_not_the_end, 0, 2);
    return suite_run_case("elf_layout", tc);
}
