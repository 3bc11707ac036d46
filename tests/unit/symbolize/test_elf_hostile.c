/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: ELF files written by an attacker. */
#include "built_elf.h"
#include "suite.h"

#include "dwarf/dwarf.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

static size_t read_whole(const char *path, unsigned char *bytes, size_t max)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");

    ck_assert(f);
    return fread(bytes, 1, max, f);
}

START_TEST(what_is_no_file_of_ours_is_refused)
{
    static const char ARCHIVE[] = "!<arch>\n", TEXT[] = "hello\n", SHORT[] = "\177ELF\2\1\1";
    static const struct {
        const char *p;
        size_t n;
    } FILES[] = { { ARCHIVE, 8 }, { TEXT, 6 }, { SHORT, 7 }, { "", 0 } };
    _cleanup_close_ int fd = -1, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct elf_file *f = NULL;
    struct error err = ERROR_NULL;

    built_write(built_path("bad"), FILES[_i].p, FILES[_i].n);
    fd = open(built_path("bad"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_lt(elf_file_open(fd, &f, &err), 0);
    ck_assert(err.msg[0]);
    ck_assert_int_eq(elf_file_open(null, &f, NULL), -ENOEXEC);
}
END_TEST

START_TEST(a_giant_is_refused)
{
    _cleanup_close_ int fd = open(built_path("giant"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct elf_file *f = NULL;

    ck_assert_int_eq(ftruncate(fd, (off_t)ELF_FILE_MAX_BYTES + 1), 0);
    ck_assert_int_eq(elf_file_open(fd, &f, NULL), -EFBIG);
    unlink(built_path("giant"));
}
END_TEST

/* Returns the peak of the resident memory since it was last reset, in KiB. Resets it. */
static long take_peak_kb(void)
{
    _cleanup_close_ int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    _cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    long kb = -1;

    while (kb < 0 && fgets(line, sizeof(line), f))
        sscanf(line, "VmHWM: %ld", &kb); /* NOLINT(cert-err34-c) */
    ck_assert_int_eq(write(fd, "5", 1), 1);
    return kb;
}

/* What a file of few blocks claims to have. */
static const struct {
    const char *what;
    uint64_t sections, programs, names_bytes, names_flags;
} CLAIMS[] = {
    { "sections", 1000000, 0, 0, 0 },
    { "program headers", 0, 1000000, 0, 0 },
    { "names", 3, 0, 64 << 20, 0 },
    { "packed names", 3, 0, 64 << 20, SHF_COMPRESSED },
};

/* Headers that claim much take little memory, also while the file is open. */
START_TEST(claims_take_no_memory)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Shdr sections[3];
        Elf64_Chdr packed;
    } file = { .head = { .e_ident = ELFMAG,
                         .e_version = EV_CURRENT,
                         .e_shoff = sizeof(file.head),
                         .e_shstrndx = 1 } };
    _cleanup_close_ int fd = open(built_path("claims"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    _cleanup_(elf_file_closep) struct elf_file *f = NULL;
    struct dwarf *d = NULL;
    size_t bytes = (size_t)72 << 20;
    long before, peak;

    memcpy(file.head.e_ident + EI_CLASS, "\2\1\1", 3);
    file.head.e_phoff = CLAIMS[_i].programs ? sizeof(file) : 0;
    file.head.e_phnum = CLAIMS[_i].programs ? PN_XNUM : 0;
    file.sections[0].sh_size = CLAIMS[_i].sections;
    file.sections[0].sh_info = (uint32_t)CLAIMS[_i].programs;
    file.sections[1].sh_type = SHT_STRTAB;
    file.sections[1].sh_offset = offsetof(__typeof__(file), packed);
    file.sections[1].sh_size = CLAIMS[_i].names_bytes;
    file.sections[1].sh_flags = CLAIMS[_i].names_flags;
    file.sections[2].sh_type = SHT_PROGBITS;
    file.packed = (Elf64_Chdr){ .ch_type = ELFCOMPRESS_ZLIB, .ch_size = 64 << 20 };
    ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
    ck_assert_int_eq(pwrite(fd, &file, sizeof(file), 0), sizeof(file));
    take_peak_kb();
    before = take_peak_kb();
    elf_file_open(fd, &f, NULL);
    ck_assert_int_lt(dwarf_open(fd, &d), 0);
    peak = take_peak_kb();
    ck_assert_msg(peak - before < 4096, "%s: %ld KiB", CLAIMS[_i].what, peak - before);
}
END_TEST

/* Sets each 8 bytes of the headers to extreme values. Opening may fail, but must not crash (this
 * test runs under sanitizers). */
START_TEST(spoilt_headers_do_no_harm)
{
    static const uint64_t VALUES[] = { 0, 1, UINT32_MAX, UINT64_MAX, INT64_MAX, UINT64_C(1) << 40 };
    static unsigned char bytes[1 << 20];
    size_t n = read_whole(built_path("minidebug"), bytes, sizeof(bytes));
    Elf64_Ehdr h;
    struct fingerprint_key key = { 1, 2 };
    unsigned opened = 0;

    ck_assert(n > sizeof(h) && n < sizeof(bytes));
    memcpy(&h, bytes, sizeof(h));
    for (size_t v = 0; v < ARRAY_SIZE(VALUES); v++) {
        for (size_t table = 0; table < 3; table++) {
            size_t from = table == 0 ? 16 : table == 1 ? h.e_phoff : h.e_shoff;
            size_t to = table == 0   ? sizeof(h)
                        : table == 1 ? from + (size_t)h.e_phnum * sizeof(Elf64_Phdr)
                                     : from + (size_t)h.e_shnum * sizeof(Elf64_Shdr);

            for (size_t i = from; i + 8 <= to; i += 8) {
                _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
                _cleanup_buf_ struct buf copy = BUF_NULL;
                _cleanup_(elf_file_closep) struct elf_file *f = NULL, *mini = NULL;
                char name[ELF_DEBUGLINK_NAME_MAX + 1];
                uint64_t saved;
                uint32_t crc;

                memcpy(&saved, bytes + i, 8);
                memcpy(bytes + i, &VALUES[v], 8);
                buf_init(&copy, sizeof(bytes));
                buf_add(&copy, bytes, n);
                memcpy(bytes + i, &saved, 8);
                if (elf_file_open_memory(&copy, &f, NULL) < 0)
                    continue;
                opened++;
                symbol_builder_init(&b, 100000, 1 << 20);
                elf_file_begin_print(f, &key);
                elf_file_symbols(f, &b);
                elf_file_starts(f, &b);
                elf_file_debuglink(f, name, &crc);
                elf_file_mini(f, &mini);
                elf_file_print(f);
            }
        }
    }
    ck_assert_uint_gt(opened, 100);
}
END_TEST

/* A file that is truncated while it is open must not crash the process. */
START_TEST(a_file_cut_short_does_no_harm)
{
    static unsigned char bytes[1 << 20];
    size_t n = read_whole(built_path("pie"), bytes, sizeof(bytes));
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(elf_file_closep) struct elf_file *f = NULL;
    _cleanup_close_ int fd = -1;

    built_write(built_path("cut"), bytes, n);
    fd = open(built_path("cut"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(elf_file_open(fd, &f, NULL), 0);
    ck_assert_int_eq(truncate(built_path("cut"), 100), 0);
    symbol_builder_init(&b, 1000, 1 << 20);
    ck_assert_int_eq(elf_file_symbols(f, &b), 0);
    for (size_t i = 0; i < b.count; i++)
        ck_assert_uint_eq((unsigned)b.items[i].name_n,
                          strlen("[plt]")); /* the headers were read before the truncation */
}
END_TEST

START_TEST(a_packed_bomb_is_cut_off)
{
    char section[300];
    _cleanup_(elf_file_closep) struct elf_file *inner = NULL;
    _cleanup_close_ int fd = open(built_path("zeros"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_eq(ftruncate(fd, (off_t)ELF_MINI_MAX_BYTES * 4), 0);
    ck_assert(built_run((const char *[]){ "xz", "-kf0", built_path("zeros"), NULL }));
    snprintf(section, sizeof(section), ".gnu_debugdata=%s", built_path("zeros.xz"));
    ck_assert(built_run((const char *[]){ "objcopy", "--add-section", section,
                                          built_path("stripped"), built_path("bomb"), NULL }));
    {
        _cleanup_(built_close) struct built l = built_load(built_path("bomb"));

        ck_assert_int_eq(elf_file_mini(l.file, &inner), 1);
    }
    unlink(built_path("zeros"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("elf_hostile");
    int failed = built_set_up();

    if (failed)
        return failed;
    tcase_add_loop_test(tc, what_is_no_file_of_ours_is_refused, 0, 4);
    tcase_add_test(tc, a_giant_is_refused);
    tcase_add_loop_test(tc, claims_take_no_memory, 0, (int)ARRAY_SIZE(CLAIMS));
    tcase_add_test(tc, spoilt_headers_do_no_harm);
    tcase_add_test(tc, a_file_cut_short_does_no_harm);
    tcase_add_test(tc, a_packed_bomb_is_cut_off);
    tcase_set_timeout(tc, 60);
    failed = suite_run_case("elf_hostile", tc);
    built_tear_down();
    return failed;
}
