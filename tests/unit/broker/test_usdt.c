/* SPDX-License-Identifier: Apache-2.0 */
/* broker/usdt.c: the marked places for probes in a file. A hostile file gets no place but
 * no-ops. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/usdt.h"

#include <elf.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE_VADDR 0x401000 /* differs from its offset in the file */
#define BASE_VADDR 0x500000
#define CODE_BYTES 64
#define NOTES_BYTES 1024
#define NAMES "\0.note.stapsdt\0.stapsdt.base"

static const struct usdt_wanted WANTED[] = { { "p", "begin", { 0 } }, { "p", "named", { 1, 3 } } };

/* A file with code, and with the notes of its marks. */
struct image {
    Elf64_Ehdr head;
    Elf64_Phdr program;
    Elf64_Shdr sections[4];
    char names[sizeof(NAMES)];
    uint8_t code[CODE_BYTES];
    uint8_t notes[NOTES_BYTES];
};

static void add_note(struct image *m, const char *owner, uint32_t type, const uint64_t words[3],
                     const char *text, size_t text_n)
{
    Elf64_Nhdr h = { .n_namesz = (uint32_t)strlen(owner) + 1,
                     .n_descsz = (uint32_t)(24 + text_n),
                     .n_type = type };
    uint8_t *at = m->notes + m->sections[1].sh_size, *begin = at;

    memcpy(at, &h, sizeof(h));
    at += sizeof(h);
    memcpy(at, owner, h.n_namesz);
    at += (h.n_namesz + 3) & ~3u;
    memcpy(at, words, 24);
    memcpy(at + 24, text, text_n);
    at += (h.n_descsz + 3) & ~3u;
    m->sections[1].sh_size += (uint64_t)(at - begin);
    ck_assert_uint_le(m->sections[1].sh_size, NOTES_BYTES);
}

/* Adds a mark at @at of the code, with "begin" or another @text. */
#define MARK(m, at, text)                                                                          \
    add_note(m, "stapsdt", 3, (const uint64_t[]){ CODE_VADDR + (at), BASE_VADDR, 0 }, text,        \
             sizeof(text))

static struct image empty(void)
{
    struct image m = {
        .head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
                  .e_machine = EM_X86_64,
                  .e_phoff = offsetof(struct image, program),
                  .e_phentsize = sizeof(Elf64_Phdr),
                  .e_phnum = 1,
                  .e_shoff = offsetof(struct image, sections),
                  .e_shentsize = sizeof(Elf64_Shdr),
                  .e_shnum = 4,
                  .e_shstrndx = 3 },
        .program = { .p_type = PT_LOAD,
                     .p_flags = PF_R | PF_X,
                     .p_offset = offsetof(struct image, code),
                     .p_vaddr = CODE_VADDR,
                     .p_filesz = CODE_BYTES },
        .sections = { [1] = { .sh_name = 1,
                              .sh_type = SHT_NOTE,
                              .sh_offset = offsetof(struct image, notes) },
                      [2] = { .sh_name = 15, .sh_type = SHT_PROGBITS, .sh_addr = BASE_VADDR },
                      [3] = { .sh_type = SHT_STRTAB,
                              .sh_offset = offsetof(struct image, names),
                              .sh_size = sizeof(NAMES) } },
        .names = NAMES,
    };

    for (int i = 0; i < CODE_BYTES; i++)
        m.code[i] = i % 8 == 0 ? 0x90 : 0x55;
    return m;
}

static struct image good(void)
{
    struct image m = empty();

    add_note(&m, "GNU", 3, (const uint64_t[]){ 0, 0, 0 }, "x", 2);
    MARK(&m, 8, "p\0begin\0");
    MARK(&m, 16,
         "p\0other\0"
         "8@%rax");
    MARK(&m, 24,
         "p\0named\0"
         "8@%r12 8@%rdx -4@%r9d 8@%rbx");
    MARK(&m, 32, "q\0begin\0");
    MARK(&m, 40,
         "p\0named\0"
         "8@-16(%rbp) 8@%rax");
    return m;
}

static int find(const void *p, size_t n, struct usdt_place *ret, size_t max)
{
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
    struct error err = ERROR_NULL;
    int r;

    ck_assert_int_eq(write(fd, p, n), (ssize_t)n);
    r = usdt_find(fd, WANTED, ARRAY_SIZE(WANTED), ret, max, &err);
    ck_assert(r >= 0 || (r == -EPERM && err.msg[0]));
    return r;
}

static int count(const struct image *m)
{
    struct usdt_place places[8];

    return find(m, sizeof(*m), places, 8);
}

static uint64_t offset_of(uint64_t at)
{
    return offsetof(struct image, code) + at;
}

START_TEST(marks_by_name)
{
    struct image m = good();
    struct usdt_place p[8];

    ck_assert_int_eq(find(&m, sizeof(m), p, 8), 3);
    ck_assert_uint_eq(p[0].offset, offset_of(8));
    ck_assert_uint_eq(p[0].wanted, 0);
    ck_assert_int_eq(p[0].operands[0].where, USDT_NOWHERE);
    ck_assert_uint_eq(p[1].offset, offset_of(24));
    ck_assert_uint_eq(p[1].wanted, 1);
    ck_assert_int_eq(p[1].operands[0].where, USDT_REGISTER);
    ck_assert_uint_eq(p[1].operands[0].bytes, 8);
    ck_assert_uint_eq(p[1].operands[0].reg, 12);
    ck_assert_int_eq(p[1].operands[1].where, USDT_REGISTER); /* the length of the third operand */
    ck_assert_uint_eq(p[1].operands[1].bytes, 4);
    ck_assert_uint_eq(p[1].operands[1].reg, 9);
    ck_assert_int_eq(p[1].operands[2].where, USDT_NOWHERE);
    ck_assert_uint_eq(p[2].offset, offset_of(40));
    ck_assert_int_eq(p[2].operands[0].where, USDT_MEMORY);
    ck_assert_uint_eq(p[2].operands[0].reg, 6);
    ck_assert_int_eq(p[2].operands[0].disp, -16);
    ck_assert_int_eq(p[2].operands[1].where, USDT_NOWHERE); /* there is no third operand */
    ck_assert_int_eq(find(&m, sizeof(m), p, 3), 3);
    ck_assert_int_eq(find(&m, sizeof(m), p, 2), -EPERM);
    m.sections[2].sh_addr += 8; /* the section moved after linking: all marks move by 8 */
    ck_assert_int_eq(find(&m, sizeof(m), p, 8), 3);
    ck_assert_uint_eq(p[0].offset, offset_of(16));
    m.sections[2].sh_addr += 1; /* now no mark is at a no-op */
    ck_assert_int_eq(count(&m), -EPERM);
}
END_TEST

/* Written forms of operands, and how they are read. */
static const struct {
    const char *text;
    enum usdt_where where;
    uint32_t reg;
    int32_t disp;
} OPERANDS[] = {
    { "8@%rax", USDT_REGISTER, 0, 0 },
    { "-8@%r15", USDT_REGISTER, 15, 0 },
    { "8@(%rsp)", USDT_MEMORY, 7, 0 },
    { "8@24(%rsp)", USDT_MEMORY, 7, 24 },
    { "8@-2147483647(%rdi)", USDT_MEMORY, 5, -2147483647 },
    { "8@2147483648(%rdi)", USDT_NOWHERE, 0, 0 },
    { "4@%eax", USDT_REGISTER, 0, 0 },
    { "-4@%r15d", USDT_REGISTER, 15, 0 },
    { "-4@-392(%rbp)", USDT_MEMORY, 6, -392 },
    { "4@%rax", USDT_NOWHERE, 0, 0 },
    { "4@8(%ebp)", USDT_NOWHERE, 0, 0 },
    { "1@%al", USDT_NOWHERE, 0, 0 },
    { "8@%eax", USDT_NOWHERE, 0, 0 },
    { "8@$5", USDT_NOWHERE, 0, 0 },
    { "8@name(%rip)", USDT_NOWHERE, 0, 0 },
    { "8@(%rax,%rbx,4)", USDT_NOWHERE, 0, 0 },
    { "8@%r16", USDT_NOWHERE, 0, 0 },
    { "8@%rax)", USDT_NOWHERE, 0, 0 },
    { "8@16(%rax)x", USDT_NOWHERE, 0, 0 },
    { "8@", USDT_NOWHERE, 0, 0 },
    { "", USDT_NOWHERE, 0, 0 },
    { "8@(", USDT_NOWHERE, 0, 0 },
    { "8@-", USDT_NOWHERE, 0, 0 },
};

START_TEST(operands)
{
    struct image m = empty();
    struct usdt_place p[1];
    char text[64] = "p\0named";
    size_t n = 8;

    n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", OPERANDS[_i].text) + 1;
    add_note(&m, "stapsdt", 3, (const uint64_t[]){ CODE_VADDR, BASE_VADDR, 0 }, text, n);
    ck_assert_int_eq(find(&m, sizeof(m), p, 1), 1);
    ck_assert_int_eq(p[0].operands[0].where, OPERANDS[_i].where);
    ck_assert_uint_eq(p[0].operands[0].reg, OPERANDS[_i].reg);
    ck_assert_int_eq(p[0].operands[0].disp, OPERANDS[_i].disp);
    if (OPERANDS[_i].where != USDT_NOWHERE)
        ck_assert_uint_eq(p[0].operands[0].bytes, strncmp(OPERANDS[_i].text, "4@", 2) == 0 ||
                                                          strncmp(OPERANDS[_i].text, "-4@", 3) == 0
                                                      ? 4
                                                      : 8);
}
END_TEST

/* The same for aarch64. */
static const struct {
    const char *text;
    enum usdt_where where;
    uint32_t reg;
    int32_t disp;
} AARCH64[] = {
    { "8@x0", USDT_REGISTER, 0, 0 },
    { "-8@x30", USDT_REGISTER, 30, 0 },
    { "-4@w21", USDT_REGISTER, 21, 0 },
    { "8@[x19]", USDT_MEMORY, 19, 0 },
    { "8@[sp]", USDT_MEMORY, 31, 0 },
    { "8@[sp, 60]", USDT_MEMORY, 31, 60 },
    { "-4@[x29, -16]", USDT_MEMORY, 29, -16 },
    { "8@[sp, 2147483648]", USDT_NOWHERE, 0, 0 },
    { "8@x31", USDT_NOWHERE, 0, 0 },
    { "8@[sp, x1]", USDT_NOWHERE, 0, 0 },
    { "8@[sp, 60", USDT_NOWHERE, 0, 0 },
    { "8@[sp,60]", USDT_NOWHERE, 0, 0 },
    { "8@[sp, 60]!", USDT_NOWHERE, 0, 0 },
    { "8@x0]", USDT_NOWHERE, 0, 0 },
    { "1@w0", USDT_NOWHERE, 0, 0 },
    { "8@5", USDT_NOWHERE, 0, 0 },
    { "8@%rax", USDT_NOWHERE, 0, 0 },
    { "8@", USDT_NOWHERE, 0, 0 },
};

static int find_aarch64(const struct image *m, struct usdt_place ret[1])
{
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
    struct error err = ERROR_NULL;

    ck_assert_int_eq(write(fd, m, sizeof(*m)), (ssize_t)sizeof(*m));
    return usdt_find_of(EM_AARCH64, fd, WANTED, ARRAY_SIZE(WANTED), ret, 1, &err);
}

/* An operand with a space in it is one. */
START_TEST(operands_of_aarch64)
{
    struct image m = empty();
    struct usdt_place p[1];
    char text[64] = "p\0named";
    size_t n = 8;

    m.head.e_machine = EM_AARCH64;
    n += (size_t)snprintf(text + n, sizeof(text) - n, "%s 8@[sp, 8] 8@x7", AARCH64[_i].text) + 1;
    add_note(&m, "stapsdt", 3, (const uint64_t[]){ CODE_VADDR, BASE_VADDR, 0 }, text, n);
    ck_assert_int_eq(find_aarch64(&m, p), -EPERM); /* no-op of x86-64 */
    memcpy(m.code, "\x1f\x20\x03\xd5", 4);
    ck_assert_int_eq(find_aarch64(&m, p), 1);
    ck_assert_int_eq(p[0].operands[0].where, AARCH64[_i].where);
    ck_assert_uint_eq(p[0].operands[0].reg, AARCH64[_i].reg);
    ck_assert_int_eq(p[0].operands[0].disp, AARCH64[_i].disp);
    if (strcmp(AARCH64[_i].text, "8@[sp, 60") != 0) /* this one has no end */
        ck_assert_uint_eq(p[0].operands[1].reg, 7);
}
END_TEST

START_TEST(no_places)
{
    struct image m = empty();

    ck_assert_int_eq(count(&m), 0);
    MARK(&m, 1, "p\0begin\0"); /* not at a no-op */
    ck_assert_int_eq(count(&m), -EPERM);
    m = empty();
    MARK(&m, CODE_BYTES, "p\0begin\0"); /* behind the code */
    ck_assert_int_eq(count(&m), -EPERM);
    m = good();
    m.program.p_flags = PF_R;
    ck_assert_int_eq(count(&m), -EPERM);
    m = empty();
    add_note(&m, "stapsdt", 3, (const uint64_t[]){ CODE_VADDR, BASE_VADDR, 0x1000 }, "p\0begin\0",
             9);
    ck_assert_int_eq(count(&m), 0); /* the mark has a semaphore */
    m = empty();
    add_note(&m, "stapsdt", 3, (const uint64_t[]){ CODE_VADDR, BASE_VADDR, 0 }, "p\0begin", 7);
    ck_assert_int_eq(count(&m), 0); /* the text has no end */
}
END_TEST

START_TEST(files_that_do_not_say)
{
    const struct image m = good();
    struct usdt_place p[8];
    struct image x;

#define WITH(field, value)                                                                         \
    x = m;                                                                                         \
    x.field = value;                                                                               \
    ck_assert_int_eq(count(&x), 0)
    WITH(head.e_ident[0], 'E');
    WITH(head.e_ident[EI_CLASS], ELFCLASS32);
    WITH(head.e_machine, EM_AARCH64);
    WITH(head.e_shnum, 0);
    WITH(head.e_shnum, UINT16_MAX);
    WITH(head.e_shentsize, 8);
    WITH(head.e_shoff, UINT64_MAX);
    WITH(head.e_shoff, sizeof(m));
    WITH(head.e_shstrndx, 4);
    WITH(head.e_phnum, UINT16_MAX);
    WITH(head.e_phoff, UINT64_MAX);
    WITH(sections[1].sh_type, SHT_PROGBITS);
    WITH(sections[1].sh_size, 0);
    WITH(sections[1].sh_size, UINT64_MAX);
    WITH(sections[1].sh_size, USDT_BYTES_MAX + 1);
    WITH(sections[1].sh_offset, UINT64_MAX);
    WITH(sections[1].sh_offset, sizeof(m));
    WITH(sections[3].sh_offset, UINT64_MAX);
    WITH(sections[3].sh_size, 1);
#undef WITH
    for (size_t n = 0; n < offsetof(struct image, notes) + m.sections[1].sh_size; n += 7)
        ck_assert_int_eq(find(&m, n, p, 8), 0);
}
END_TEST

START_TEST(random_files)
{
    uint64_t random = 88172645463325252u;
    int accepted = 0;

    for (int round = 0; round < 4000; round++) {
        struct image m = good();
        uint8_t *bytes = (uint8_t *)&m;
        size_t used = offsetof(struct image, notes) + m.sections[1].sh_size;
        struct usdt_place p[8];
        int n;

        for (int i = 0; i < 1 + round % 3; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes[random % used] = (uint8_t)(random >> 32);
        }
        n = find(&m, sizeof(m), p, 8);
        for (int i = 0; i < n; i++) {
            ck_assert_uint_lt(p[i].offset, sizeof(m));
            ck_assert_uint_eq(bytes[p[i].offset], 0x90);
        }
        accepted += n > 0;
    }
    ck_assert_int_gt(accepted, 500);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("usdt");

    tcase_add_test(tc, marks_by_name);
    tcase_add_loop_test(tc, operands, 0, ARRAY_SIZE(OPERANDS));
    tcase_add_loop_test(tc, operands_of_aarch64, 0, ARRAY_SIZE(AARCH64));
    tcase_add_test(tc, no_places);
    tcase_add_test(tc, files_that_do_not_say);
    tcase_add_test(tc, random_files);
    tcase_set_timeout(tc, 60);
    return suite_run_case("usdt", tc);
}
