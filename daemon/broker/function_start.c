/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/function_start.h"

#include "base/fds.h"
#include "base/list.h"
#include "broker/result_aarch64.h"
#include "broker/start_aarch64.h"

#include <elf.h>

#define PROGRAMS_MAX 64
#define TEST_BYTES 3 /* test %rdi, %rdi */
#define CALL_BYTES 5
#define MOVE_BYTES 3         /* between registers */
#define PRODUCT_BYTES 6      /* mov %rdi, %rax; mul %rsi */
#define BEHIND_CALL_MAX 8    /* limit of instructions from a call to the test of its result */
#define BODY_BYTES_MAX 8192u /* searched bytes of a function */
/* limit of searched functions: the first, and functions that it jumps to */
#define JUMPS_MAX 4
/* limit of searches for targets of calls and jumps; malloc needs ten */
#define LOOKUPS_MAX 256
#define COMPARE_BYTES 7 /* cmpb $n, d(%rip); cmp $n, %rdi */
#define LOAD_BYTES 7    /* mov d(%rip), %rax */
/* bytes for endbr64, a comparison, and the longest instruction after it */
#define CODE_BYTES 24
#define SYMBOLS_MAX (1u << 14) /* symbols that are searched; musl has some 1,600 */
#define SYMBOLS_AT_ONCE 128u
#define DYNAMIC_MAX 64           /* entries */
#define STARTS_MAX (1u << 24)    /* entries of the table; libjvm's has some 60,000 */
#define EH_PTR_SDATA4_PCREL 0x1b /* DW_EH_PE_*: the encodings that linkers use */
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
    int32_t address, entry; /* relative to the header's address */
};

struct programs {
    Elf64_Phdr all[PROGRAMS_MAX];
    size_t count;
};

#ifdef __aarch64__
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

static bool read_programs(int fd, uint16_t machine, struct programs *ret)
{
    Elf64_Ehdr head;

    if (!fd_read_at(fd, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_machine != machine || head.e_phentsize != sizeof(Elf64_Phdr) ||
        head.e_phnum > PROGRAMS_MAX)
        return false;
    ret->count = head.e_phnum;
    return fd_read_at(fd, head.e_phoff, ret->all, ret->count * sizeof(ret->all[0]));
}

/* Finds the segment of code that holds @offset; NULL: none. */
static const Elf64_Phdr *find_code(const struct programs *all, uint64_t offset)
{
    for (size_t i = 0; i < all->count; i++) {
        const Elf64_Phdr *p = &all->all[i];

        if (p->p_type == PT_LOAD && p->p_flags & PF_X && offset >= p->p_offset &&
            offset - p->p_offset < p->p_filesz)
            return p;
    }
    return NULL;
}

/* Finds the first program header of @type; NULL: none. */
static const Elf64_Phdr *find_type(const struct programs *all, uint32_t type)
{
    return FIRST_OF(i, all->all, all->count, all->all[i].p_type == type);
}

/* Returns the file offset of @address; UINT64_MAX: the file does not contain it. */
static uint64_t offset_of(const struct programs *all, uint64_t address)
{
    for (size_t i = 0; i < all->count; i++) {
        const Elf64_Phdr *p = &all->all[i];

        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
            return p->p_offset + (address - p->p_vaddr);
    }
    return UINT64_MAX;
}

static bool read_start(int fd, const Elf64_Phdr *at, uint64_t i, uint64_t *ret)
{
    struct start s;

    if (!fd_read_at(fd, at->p_offset + sizeof(struct starts_header) + i * sizeof(s), &s, sizeof(s)))
        return false;
    *ret = at->p_vaddr + (uint64_t)(int64_t)s.address;
    return true;
}

/* Returns true if the sorted table has a function at @address. *ret_next, which may be NULL,
 * becomes the start of the next function, or @address if there is none. */
static bool begins_by_table(int fd, const struct programs *all, uint64_t address,
                            uint64_t *ret_next)
{
    const Elf64_Phdr *at = find_type(all, PT_GNU_EH_FRAME);
    struct starts_header h;
    uint64_t low = 0, high, count;

    if (!at || at->p_filesz < sizeof(h) || !fd_read_at(fd, at->p_offset, &h, sizeof(h)) ||
        h.version != 1 || h.pointer != EH_PTR_SDATA4_PCREL || h.count_form != EH_COUNT_UDATA4 ||
        h.table_form != EH_TABLE_SDATA4_DATAREL)
        return false;
    high = count = MIN((uint64_t)h.count, (at->p_filesz - sizeof(h)) / sizeof(struct start));
    if (high > STARTS_MAX)
        return false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2, found;

        if (!read_start(fd, at, middle, &found))
            return false;
        if (found == address && ret_next &&
            (middle + 1 == count || !read_start(fd, at, middle + 1, ret_next)))
            *ret_next = address;
        if (found == address)
            return true;
        if (found < address)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Finds the file's symbols, and their number by the hash table. */
static bool find_symbols(int fd, const struct programs *all, uint64_t *ret_offset,
                         uint32_t *ret_count)
{
    const Elf64_Phdr *dynamic = find_type(all, PT_DYNAMIC);
    uint64_t symbols = UINT64_MAX, hash = UINT64_MAX;
    uint32_t counts[2]; /* numbers of buckets and of symbols */

    for (size_t i = 0; dynamic && i < dynamic->p_filesz / sizeof(Elf64_Dyn) && i < DYNAMIC_MAX;
         i++) {
        Elf64_Dyn d;

        if (!fd_read_at(fd, dynamic->p_offset + i * sizeof(d), &d, sizeof(d)))
            return false;
        if (d.d_tag == DT_NULL)
            break;
        if (d.d_tag == DT_SYMTAB)
            symbols = offset_of(all, d.d_un.d_ptr);
        else if (d.d_tag == DT_HASH)
            hash = offset_of(all, d.d_un.d_ptr);
    }
    if (symbols == UINT64_MAX || !fd_read_at(fd, hash, counts, sizeof(counts)))
        return false;
    *ret_offset = symbols;
    *ret_count = MIN(counts[1], SYMBOLS_MAX);
    return true;
}

/* Returns true if the file exports a function at @address. musl has no other table. */
static bool begins_by_symbol(int fd, const struct programs *all, uint64_t address)
{
    Elf64_Sym symbols[SYMBOLS_AT_ONCE];
    uint32_t count, n;
    uint64_t offset;

    if (!find_symbols(fd, all, &offset, &count))
        return false;
    for (uint32_t i = 0; i < count; i += n) {
        n = MIN(count - i, SYMBOLS_AT_ONCE);
        if (!fd_read_at(fd, offset + i * sizeof(symbols[0]), symbols, n * sizeof(symbols[0])))
            return false;
        for (uint32_t k = 0; k < n; k++) {
            if (symbols[k].st_value == address && symbols[k].st_shndx != SHN_UNDEF &&
                ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC)
                return true;
        }
    }
    return false;
}

/* Returns true for a conditional jump. */
static bool is_condition(const uint8_t *code)
{
    return (code[0] >= 0x70 && code[0] <= 0x7f) ||
           (code[0] == 0x0f && code[1] >= 0x80 && code[1] <= 0x8f);
}

/* Returns true if the kernel emulates the instruction instead of stepping over a copy: push of a
 * register, the no-op of five bytes, a jump with or without a condition. */
static bool is_known(const uint8_t *code)
{
    static const uint8_t NOP5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

    return (code[0] >= 0x50 && code[0] <= 0x57) ||
           (code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57) || code[0] == 0xe9 ||
           is_condition(code) || memcmp(code, NOP5, sizeof(NOP5)) == 0;
}

static const uint8_t TEST_RAX[] = { 0x48, 0x85, 0xc0 };

/* Returns the bytes of the comparison that @code begins with, or 0. Known comparisons are:
 * - a byte of the file's data, or the first argument, with a number
 * - a word of the file's data with 0
 * - the first argument with 0; before it an argument may be copied to one of r8 to r11
 * - the product of the first two arguments, with a jump on overflow; the third argument's register
 *   is lost
 * Code after the comparison runs at every call of the function. Apart from these effects, the first
 * four arguments are unchanged there. Functions that begin in this way: glibc's posix_memalign and
 * free, its malloc, realloc and calloc from 2.42 on, and malloc of jemalloc and tcmalloc. */
static size_t comparison(const uint8_t *code)
{
    static const uint8_t LOAD[] = { 0x48, 0x8b, 0x05 }, TEST_RDI[] = { 0x48, 0x85, 0xff };
    static const uint8_t PRODUCT[PRODUCT_BYTES] = { 0x48, 0x89, 0xf8, 0x48, 0xf7, 0xe6 };

    size_t move = code[0] == 0x49 && code[1] == 0x89 && (code[2] & 0xc4) == 0xc0 ? MOVE_BYTES : 0;

    if (memcmp(code, PRODUCT, PRODUCT_BYTES) == 0 && is_condition(code + PRODUCT_BYTES))
        return PRODUCT_BYTES;
    if (memcmp(code + move, TEST_RDI, sizeof(TEST_RDI)) == 0 &&
        is_condition(code + move + TEST_BYTES))
        return move + TEST_BYTES;
    if ((code[0] == 0x80 && code[1] == 0x3d) ||
        (code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xff))
        return COMPARE_BYTES;
    return memcmp(code, LOAD, sizeof(LOAD)) == 0 &&
                   memcmp(code + LOAD_BYTES, TEST_RAX, sizeof(TEST_RAX)) == 0
               ? LOAD_BYTES + sizeof(TEST_RAX)
               : 0;
}

/* Returns true if a probe may be *@ret_skip bytes after @code, the start of a function. */
static bool can_probe(uint16_t machine, const uint8_t *code, size_t *ret_skip)
{
    static const uint8_t ENDBR64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

    if (machine == EM_AARCH64) {
        *ret_skip = start_aarch64_pad(code);
        return start_aarch64_known(code + *ret_skip);
    }
    *ret_skip = memcmp(code, ENDBR64, sizeof(ENDBR64)) == 0 ? sizeof(ENDBR64) : 0;
    *ret_skip += comparison(code + *ret_skip);
    return is_known(code + *ret_skip);
}

int function_start_check_of(uint16_t machine, int fd, uint64_t offset, uint64_t *ret_offset,
                            struct error *err)
{
    const Elf64_Phdr *code_at = NULL;
    uint8_t code[CODE_BYTES];
    struct programs all;
    uint64_t address;
    size_t skip;

    if (read_programs(fd, machine, &all))
        code_at = find_code(&all, offset);
    address = code_at ? code_at->p_vaddr + (offset - code_at->p_offset) : 0;
    if (!code_at || !fd_read_at(fd, offset, code, sizeof(code)) ||
        (!begins_by_table(fd, &all, address, NULL) && !begins_by_symbol(fd, &all, address)))
        return error_set(err, -EPERM,
                         "no function begins at offset 0x%llx of the file, by its .eh_frame_hdr "
                         "and its symbols",
                         (unsigned long long)offset);
    if (!can_probe(machine, code, &skip))
        return error_set(err, -ENOEXEC,
                         "the function at offset 0x%llx of the file begins with an instruction at "
                         "which flamed puts no probe",
                         (unsigned long long)offset);
    *ret_offset = offset + skip;
    return 0;
}

int function_start_check(int fd, uint64_t offset, uint64_t *ret_offset, struct error *err)
{
    return function_start_check_of(MACHINE, fd, offset, ret_offset, err);
}

size_t function_start_breakpoint_of(uint16_t machine, const uint8_t *code, size_t n)
{
    static const uint8_t INT3[] = { 0xcc }, BRK_5[] = { 0xa0, 0x00, 0x20, 0xd4 };
    bool aarch64 = machine == EM_AARCH64;
    size_t bytes = aarch64 ? sizeof(BRK_5) : sizeof(INT3);

    return n >= bytes && memcmp(code, aarch64 ? BRK_5 : INT3, bytes) == 0 ? bytes : 0;
}

size_t function_start_breakpoint(const uint8_t *code, size_t n)
{
    return function_start_breakpoint_of(MACHINE, code, n);
}

/* ---- results of calls ---- */

/* The code of a function, with its bounds by the sorted table. */
struct body {
    uint64_t address;
    size_t bytes;
    uint8_t code[BODY_BYTES_MAX + CODE_BYTES]; /* zeros after the function's end */
};

static bool read_body(int fd, const struct programs *all, uint64_t address, struct body *ret)
{
    uint64_t next, offset = offset_of(all, address);

    *ret = (struct body){ .address = address };
    if (offset == UINT64_MAX || !find_code(all, offset) ||
        !begins_by_table(fd, all, address, &next) || next <= address)
        return false;
    ret->bytes = MIN(next - address, (uint64_t)BODY_BYTES_MAX);
    return fd_read_at(fd, offset, ret->code, ret->bytes);
}

/* Gets the target of the call of @b at @at, or of the jump there without a condition if @jump.
 * False: there is none. */
static bool target_of(const struct body *b, uint16_t machine, size_t at, bool jump, uint64_t *ret)
{
    int32_t distance;
    int64_t far;

    if (machine == EM_AARCH64) {
        if (!result_aarch64_leads(b->code + at, jump, &far))
            return false;
        *ret = b->address + at + (uint64_t)far;
        return true;
    }
    memcpy(&distance, b->code + at + 1, sizeof(distance));
    *ret = b->address + at + CALL_BYTES + (uint64_t)(int64_t)distance;
    return b->code[at] == (jump ? 0xe9 : 0xe8);
}

/* Returns true if the conditional jump at @at leads to another place of @b. */
static bool stays(const struct body *b, size_t at)
{
    bool is_short = b->code[at] != 0x0f;
    int64_t to = (int64_t)at + (is_short ? 2 : 6);
    int32_t distance;

    memcpy(&distance, b->code + at + 2, sizeof(distance));
    to += is_short ? (int8_t)b->code[at + 1] : distance;
    return to >= 0 && to < (int64_t)b->bytes;
}

/* Returns true if the table has a function at @target. Uses up one of *@lookups. */
static bool is_function(int fd, const struct programs *all, uint64_t target, size_t *lookups)
{
    if (*lookups == 0)
        return false;
    (*lookups)--;
    return begins_by_table(fd, all, target, NULL);
}

/* Where the result of a call is, some instructions after the call. */
struct returned {
    uint32_t reg; /* number in an instruction's encoding; 0: rax */
    bool rax;     /* rax still holds the result, too */
};

/* Returns the bytes of the instruction @code, and updates @r, if it is still known where the result
 * is; else 0. These are the instructions that compilers put between a call and the test of its
 * result. They move the result to another register, reload a register from the stack, set or
 * compare eax, or release a lock. */
static size_t step_over(const uint8_t *code, struct returned *r)
{
    static const uint8_t COMPARE_1[] = { 0x83, 0xf8, 0x01 };
    size_t rex = code[0] == 0x41;

    if ((code[0] | 1) == 0x49 && code[1] == 0x89 && (code[2] & 0xf8) == 0xc0 && !r->reg) {
        r->reg = (code[0] & 1U) << 3 | (code[2] & 7U); /* mov %rax, a register */
        return MOVE_BYTES;
    }
    if ((code[0] | 4) == 0x4c && code[1] == 0x8b && (code[2] & 0x87) == 0x04 && code[3] == 0x24) {
        uint32_t to = (code[0] & 4U) << 1 | (code[2] >> 3 & 7U); /* mov n(%rsp), a register */

        return to == 0 || to == r->reg ? 0 : code[2] & 0x40 ? 5 : 4;
    }
    if (r->reg && memcmp(code, COMPARE_1, sizeof(COMPARE_1)) == 0) /* and jg */
        return code[3] == 0x7f ? 5 : code[3] == 0x0f && code[4] == 0x8f ? 9 : 0;
    if (!r->reg)
        return 0;
    r->rax = false;
    if (code[0] == 0x31 && code[1] == 0xc0)
        return 2; /* xor %eax, %eax */
    if (code[0] == 0xb8)
        return 5; /* mov n, %eax */
    if (code[rex] == 0x87 && code[rex + 1] < 8 && (code[rex + 1] & 6) != 4)
        return rex + 2; /* xchg %eax, (a register) */
    return 0;
}

/* Returns the bytes of the instruction @code if it tests register @reg; else 0. */
static size_t test_of(const uint8_t *code, uint32_t reg)
{
    uint32_t low = reg & 7;

    return code[0] == (reg & 8 ? 0x4d : 0x48) && code[1] == 0x85 &&
                   code[2] == (0xc0 | low << 3 | low)
               ? TEST_BYTES
               : 0;
}

/* Finds the conditional jump of @b on the result of the call at @at, and the register of that
 * result. 0: there is none. */
static size_t find_jump(const struct body *b, size_t at, uint32_t *ret_reg)
{
    struct returned r = { .reg = 0, .rax = true };
    size_t to = at + CALL_BYTES, bytes = 1, test = 0;

    for (size_t i = 0; i < BEHIND_CALL_MAX && bytes && to < b->bytes && !test; i++) {
        test = test_of(b->code + to, r.reg);
        if (!test && r.rax)
            test = test_of(b->code + to, /* reg= */ 0);
        bytes = test ? test : step_over(b->code + to, &r);
        to += bytes;
    }
    *ret_reg = r.reg;
    return test && to < b->bytes && is_condition(b->code + to) && stays(b, to) ? to : 0;
}

static void add_result(uint64_t offset, uint32_t reg,
                       struct function_result ret[FUNCTION_RESULTS_MAX], size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        if (ret[i].offset == offset)
            return;
    }
    if (*count < FUNCTION_RESULTS_MAX)
        ret[(*count)++] = (struct function_result){ offset, reg };
}

static void add_jump(uint64_t address, uint64_t jumps[JUMPS_MAX], size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        if (jumps[i] == address)
            return;
    }
    if (*count < JUMPS_MAX)
        jumps[(*count)++] = address;
}

int function_results_find_of(uint16_t machine, int fd, uint64_t offset,
                             struct function_result ret[FUNCTION_RESULTS_MAX], size_t *ret_count,
                             struct error *err)
{
    size_t step = machine == EM_AARCH64 ? sizeof(uint32_t) : 1,
           least = machine == EM_AARCH64 ? sizeof(uint32_t) : CALL_BYTES;
    uint64_t todo[JUMPS_MAX], at, to;
    uint32_t reg = 0;
    const Elf64_Phdr *code = NULL;
    size_t todo_count = 0, count = 0, lookups = LOOKUPS_MAX, jump;
    struct programs all;
    struct body b;

    if (read_programs(fd, machine, &all))
        code = find_code(&all, offset);
    if (!code)
        return error_set(err, -EPERM, "no code is at offset 0x%llx of the file",
                         (unsigned long long)offset);
    todo[todo_count++] = code->p_vaddr + (offset - code->p_offset);
    for (size_t i = 0; i < todo_count; i++) {
        if (!read_body(fd, &all, todo[i], &b))
            continue;
        at = offset_of(&all, b.address);
        for (size_t k = 0; k + least <= b.bytes; k += step) {
            jump = !target_of(&b, machine, k, /* jump= */ false, &to) ? 0
                   : machine == EM_AARCH64 ? result_aarch64_find(b.code, b.bytes, k, &reg)
                                           : find_jump(&b, k, &reg);
            if (jump && is_function(fd, &all, to, &lookups))
                add_result(at + jump, reg, ret, &count);
            if (i == 0 && target_of(&b, machine, k, /* jump= */ true, &to) &&
                is_function(fd, &all, to, &lookups))
                add_jump(to, todo, &todo_count);
        }
    }
    if (!count)
        return error_set(
            err, -ENOEXEC,
            "the function at offset 0x%llx of the file does not test the result of a call",
            (unsigned long long)offset);
    *ret_count = count;
    return 0;
}

int function_results_find(int fd, uint64_t offset, struct function_result ret[FUNCTION_RESULTS_MAX],
                          size_t *ret_count, struct error *err)
{
    return function_results_find_of(MACHINE, fd, offset, ret, ret_count, err);
}
