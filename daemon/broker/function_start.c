/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/function_start.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAMS_MAX 64
#define COMPARE_BYTES 7          /* cmpb $n, d(%rip); cmp $n, %rdi */
#define CODE_BYTES 16            /* endbr64, such a comparison, the longest of those behind it */
#define STARTS_MAX (1u << 24)    /* entries of the table; libjvm's has some 60,000 */
#define EH_PTR_SDATA4_PCREL 0x1b /* DW_EH_PE_*: how linkers write the table */
#define EH_COUNT_UDATA4 0x03
#define EH_TABLE_SDATA4_DATAREL 0x3b

/* .eh_frame_hdr, as linkers write it. */
struct starts_header {
    uint8_t version, pointer, count_form, table_form;
    int32_t frames;
    uint32_t count;
};
_Static_assert(sizeof(struct starts_header) == 12, "starts_header must have no padding");

struct start {
    int32_t address, entry; /* behind the header's own */
};

struct program {
    Elf64_Phdr code, starts;
};

static bool read_all(int fd, uint64_t offset, void *p, size_t n)
{
    return offset <= INT64_MAX && pread(fd, p, n, (off_t)offset) == (ssize_t)n;
}

/* The segment of code that holds @offset, and the one of the table. */
static bool find_program(int fd, uint64_t offset, struct program *ret)
{
    bool code = false, starts = false;
    Elf64_Ehdr head;

    *ret = (struct program){ 0 };
    if (!read_all(fd, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_machine != EM_X86_64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
        head.e_phnum > PROGRAMS_MAX || head.e_phoff > INT64_MAX / 2)
        return false;
    for (size_t i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr p;

        if (!read_all(fd, head.e_phoff + i * sizeof(p), &p, sizeof(p)))
            return false;
        if (p.p_type == PT_LOAD && p.p_flags & PF_X && offset >= p.p_offset &&
            offset - p.p_offset < p.p_filesz) {
            ret->code = p;
            code = true;
        } else if (p.p_type == PT_GNU_EH_FRAME) {
            ret->starts = p;
            starts = true;
        }
    }
    return code && starts;
}

/* Whether a function begins at @address, by the sorted table. */
static bool begins_at(int fd, const Elf64_Phdr *at, uint64_t address)
{
    struct starts_header h;
    uint64_t low = 0, high;

    if (at->p_filesz < sizeof(h) || !read_all(fd, at->p_offset, &h, sizeof(h)) || h.version != 1 ||
        h.pointer != EH_PTR_SDATA4_PCREL || h.count_form != EH_COUNT_UDATA4 ||
        h.table_form != EH_TABLE_SDATA4_DATAREL)
        return false;
    high = MIN((uint64_t)h.count, (at->p_filesz - sizeof(h)) / sizeof(struct start));
    if (high > STARTS_MAX)
        return false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2, found;
        struct start s;

        if (!read_all(fd, at->p_offset + sizeof(h) + middle * sizeof(s), &s, sizeof(s)))
            return false;
        found = at->p_vaddr + (uint64_t)(int64_t)s.address;
        if (found == address)
            return true;
        if (found < address)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Whether the kernel runs the instruction itself, and steps over nothing: push of a register, the
 * no-op of five bytes, a jump, whether on a condition or not. */
static bool is_known(const uint8_t *code)
{
    static const uint8_t NOP5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

    return (code[0] >= 0x50 && code[0] <= 0x57) ||
           (code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57) || code[0] == 0xe9 ||
           (code[0] >= 0x70 && code[0] <= 0x7f) ||
           (code[0] == 0x0f && code[1] >= 0x80 && code[1] <= 0x8f) ||
           memcmp(code, NOP5, sizeof(NOP5)) == 0;
}

/* Bytes of the comparison that @code begins with, of a byte of the file's own or the first argument
 * with a number, or 0. What follows it runs whenever the function is called, with the arguments as
 * they were. glibc's posix_memalign begins so, and jemalloc's malloc. */
static size_t comparison(const uint8_t *code)
{
    return (code[0] == 0x80 && code[1] == 0x3d) ||
                   (code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xff)
               ? COMPARE_BYTES
               : 0;
}

int function_start_check(int fd, uint64_t offset, uint64_t *ret_offset, struct error *err)
{
    static const uint8_t ENDBR64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
    uint8_t code[CODE_BYTES];
    struct program p;
    size_t skip;

    if (!find_program(fd, offset, &p) || !read_all(fd, offset, code, sizeof(code)) ||
        !begins_at(fd, &p.starts, p.code.p_vaddr + (offset - p.code.p_offset)))
        return error_set(err, -EPERM,
                         "no function begins at offset 0x%llx of the file, by its .eh_frame_hdr",
                         (unsigned long long)offset);
    skip = memcmp(code, ENDBR64, sizeof(ENDBR64)) == 0 ? sizeof(ENDBR64) : 0;
    skip += comparison(code + skip);
    if (!is_known(code + skip))
        return error_set(err, -ENOEXEC,
                         "the function at offset 0x%llx of the file begins with an instruction "
                         "that no probe is put at",
                         (unsigned long long)offset);
    *ret_offset = offset + skip;
    return 0;
}
