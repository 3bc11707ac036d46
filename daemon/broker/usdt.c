/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/usdt.h"

#include "base/cleanup.h"
#include "base/fds.h"
#include "base/span.h"

#include <elf.h>

#define PROGRAMS_MAX 64
#define SECTIONS_MAX 256
#define SECTION_NAME_BYTES 16
#define NOTE_OWNER "stapsdt"
#define NOTE_TYPE 3
#define NOTE_ALIGN 4
#ifdef __aarch64__
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif
#define NOP_BYTES_MAX 4
#define AARCH64_SP 31
#define LONG_BYTES 8
#define INT_BYTES 4

/* What is known of the file. */
struct image {
    int fd;
    Elf64_Ehdr head;
    Elf64_Shdr notes; /* sh_size 0: none */
    uint64_t base;    /* address of .stapsdt.base; 0: none */
};

/* Finds both sections by their names. Returns false if the file has no known format. */
static bool find_sections(struct image *m, uint16_t machine)
{
    const Elf64_Ehdr *h = &m->head;
    Elf64_Shdr names, s;

    if (!fd_read_at(m->fd, 0, &m->head, sizeof(m->head)) ||
        memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != machine ||
        h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum > PROGRAMS_MAX ||
        h->e_phoff > INT64_MAX / 2 || h->e_shentsize != sizeof(s) || h->e_shnum > SECTIONS_MAX ||
        h->e_shoff > INT64_MAX / 2 || h->e_shstrndx >= h->e_shnum ||
        !fd_read_at(m->fd, h->e_shoff + h->e_shstrndx * sizeof(s), &names, sizeof(names)) ||
        names.sh_offset > INT64_MAX / 2)
        return false;
    for (size_t i = 0; i < h->e_shnum; i++) {
        char name[SECTION_NAME_BYTES] = "";

        if (!fd_read_at(m->fd, h->e_shoff + i * sizeof(s), &s, sizeof(s)))
            return false;
        if (s.sh_name >= names.sh_size ||
            !fd_read_at(m->fd, names.sh_offset + s.sh_name, name,
                        (size_t)MIN((uint64_t)sizeof(name), names.sh_size - s.sh_name)))
            continue;
        if (s.sh_type == SHT_NOTE && memcmp(name, ".note.stapsdt", sizeof(".note.stapsdt")) == 0)
            m->notes = s;
        else if (memcmp(name, ".stapsdt.base", sizeof(".stapsdt.base")) == 0)
            m->base = s.sh_addr;
    }
    return true;
}

/* Finds the file offset of @address. Returns false if it is not in code that is mapped from the
 * file. */
static bool find_code(const struct image *m, uint64_t address, uint64_t *ret_offset)
{
    for (size_t i = 0; i < m->head.e_phnum; i++) {
        Elf64_Phdr p;

        if (!fd_read_at(m->fd, m->head.e_phoff + i * sizeof(p), &p, sizeof(p)))
            return false;
        if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) || address < p.p_vaddr ||
            address - p.p_vaddr >= p.p_filesz)
            continue;
        *ret_offset = p.p_offset + (address - p.p_vaddr);
        return *ret_offset >= p.p_offset;
    }
    return false;
}

/* ---- arguments ---- */

/* Parses "%r12", or "%r12d" for four bytes. */
static bool take_register(struct span *s, uint64_t bytes, uint32_t *ret)
{
    static const char *const NAMES[] = { "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",
                                         "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
    static const char *const HALVES[] = { "eax",  "ebx",  "ecx",  "edx", "esi",  "edi",
                                          "ebp",  "esp",  "r8d",  "r9d", "r10d", "r11d",
                                          "r12d", "r13d", "r14d", "r15d" };
    const char *const *names = bytes == LONG_BYTES ? NAMES : HALVES;
    struct span name;
    size_t n = 1;

    if (s->n < 3 || s->p[0] != '%')
        return false;
    while (n < s->n && s->p[n] != ')')
        n++;
    name = (struct span){ s->p + 1, n - 1 };
    for (uint32_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        if (span_eq_str(name, names[i])) {
            *ret = i;
            *s = span_from(*s, n);
            return true;
        }
    }
    return false;
}

/* Parses a number with or without a sign, of 32 bits. */
static bool take_displacement(struct span *s, int32_t *ret)
{
    bool negative = span_take_char(s, '-');
    uint64_t number = 0;

    if (!span_take_dec(s, &number) || number > INT32_MAX)
        return false;
    *ret = negative ? -(int32_t)number : (int32_t)number;
    return true;
}

/* Parses "%r12", "%eax", "-16(%rbp)", "(%rax)". */
static bool take_place(struct span *s, struct usdt_operand *o)
{
    if (take_register(s, o->bytes, &o->reg))
        return true;
    o->where = USDT_MEMORY;
    return (!s->n || s->p[0] == '(' || take_displacement(s, &o->disp)) && span_take_char(s, '(') &&
           take_register(s, LONG_BYTES, &o->reg) && span_take_char(s, ')');
}

/* Parses "x0" to "x30", "w0" to "w30", "sp". */
static bool take_register_aarch64(struct span *s, uint32_t *ret)
{
    uint64_t number = 0;

    if (s->n >= 2 && memcmp(s->p, "sp", 2) == 0) {
        *s = span_from(*s, 2);
        *ret = AARCH64_SP;
        return true;
    }
    if ((!span_take_char(s, 'x') && !span_take_char(s, 'w')) || !span_take_dec(s, &number) ||
        number >= AARCH64_SP)
        return false;
    *ret = (uint32_t)number;
    return true;
}

/* Parses "x0", "[x0]", "[sp, 60]", "[x29, -16]". */
static bool take_place_aarch64(struct span *s, struct usdt_operand *o)
{
    if (!span_take_char(s, '['))
        return take_register_aarch64(s, &o->reg);
    o->where = USDT_MEMORY;
    if (!take_register_aarch64(s, &o->reg))
        return false;
    if (span_take_char(s, ',') && (!span_take_char(s, ' ') || !take_displacement(s, &o->disp)))
        return false;
    return span_take_char(s, ']');
}

/* Parses "8@" or "-4@", which means signed, and a place. Leaves @ret as it is for any other
 * operand. */
static void parse_operand(uint16_t machine, struct span s, struct usdt_operand *ret)
{
    struct usdt_operand o = { .where = USDT_REGISTER };
    uint64_t number = 0;

    span_take_char(&s, '-');
    if (!span_take_dec(&s, &number) || (number != LONG_BYTES && number != INT_BYTES) ||
        !span_take_char(&s, '@'))
        return;
    o.bytes = (uint32_t)number;
    if ((machine == EM_AARCH64 ? take_place_aarch64(&s, &o) : take_place(&s, &o)) && s.n == 0)
        *ret = o;
}

/* Takes the next operand. An operand in brackets contains a space. */
static bool take_operand(struct span *s, struct span *ret)
{
    const char *end;

    if (!span_take_word(s, ret))
        return false;
    if (!memchr(ret->p, '[', ret->n) || memchr(ret->p, ']', ret->n))
        return true;
    end = s->n ? memchr(s->p, ']', s->n) : NULL;
    while (end && end < s->p + s->n && *end != ' ')
        end++;
    if (end) {
        *s = span_from(*s, (size_t)(end - s->p));
        ret->n = (size_t)(end - ret->p);
    }
    return true;
}

static void parse_arguments(uint16_t machine, struct span s, const struct usdt_wanted *wanted,
                            struct usdt_place *ret)
{
    struct span operand;

    for (uint32_t i = 1; take_operand(&s, &operand); i++) {
        for (size_t k = 0; k < USDT_OPERANDS_MAX; k++) {
            if (wanted->arguments[k] == i)
                parse_operand(machine, operand, &ret->operands[k]);
        }
    }
}

/* ---- notes ---- */

/* Takes a note's text up to its NUL. */
static bool take_text(struct span *s, struct span *ret)
{
    const char *end = s->n ? memchr(s->p, 0, s->n) : NULL;

    if (!end)
        return false;
    *ret = (struct span){ s->p, (size_t)(end - s->p) };
    *s = span_from(*s, ret->n + 1);
    return true;
}

struct note {
    uint64_t address, base, semaphore;
    struct span provider, name, arguments;
};

static bool parse_note(struct span s, struct note *ret)
{
    uint64_t words[3];

    if (s.n < sizeof(words))
        return false;
    memcpy(words, s.p, sizeof(words));
    s = span_from(s, sizeof(words));
    *ret = (struct note){ .address = words[0], .base = words[1], .semaphore = words[2] };
    return take_text(&s, &ret->provider) && take_text(&s, &ret->name) &&
           take_text(&s, &ret->arguments);
}

/* Takes the next note of @s that is a mark. Returns false if none is left; a cut note ends the
 * list. */
static bool next_note(struct span *s, struct note *ret)
{
    Elf64_Nhdr h;

    while (s->n >= sizeof(h)) {
        uint64_t name, all;
        struct span body;
        bool marks;

        memcpy(&h, s->p, sizeof(h));
        name = ((uint64_t)h.n_namesz + NOTE_ALIGN - 1) & ~(uint64_t)(NOTE_ALIGN - 1);
        all = name + (((uint64_t)h.n_descsz + NOTE_ALIGN - 1) & ~(uint64_t)(NOTE_ALIGN - 1));
        if (name + h.n_descsz > s->n - sizeof(h))
            return false;
        body = span_from(*s, sizeof(h));
        marks = h.n_type == NOTE_TYPE && h.n_namesz == sizeof(NOTE_OWNER) &&
                memcmp(body.p, NOTE_OWNER, sizeof(NOTE_OWNER)) == 0;
        *s = span_from(*s, (size_t)MIN(sizeof(h) + all, (uint64_t)s->n));
        if (marks && parse_note((struct span){ body.p + name, h.n_descsz }, ret))
            return true;
    }
    return false;
}

/* Returns the index of @n in @wanted; @count: none. A mark with a semaphore is inactive until a
 * tool writes to the semaphore, so it is not used. */
static uint32_t which(const struct note *n, const struct usdt_wanted *wanted, size_t count)
{
    uint32_t i = 0;

    while (i < count && (n->semaphore || !span_eq_str(n->provider, wanted[i].provider) ||
                         !span_eq_str(n->name, wanted[i].name)))
        i++;
    return i;
}

/* Finds the place of @n and checks its code. 0; -EPERM with @err. */
static int check_place(const struct image *m, const struct note *n, struct usdt_place *ret,
                       struct error *err)
{
    static const uint8_t AARCH64_NOP[NOP_BYTES_MAX] = { 0x1f, 0x20, 0x03, 0xd5 },
                         NOP[NOP_BYTES_MAX] = { 0x90 };
    bool aarch64 = m->head.e_machine == EM_AARCH64;
    size_t bytes = aarch64 ? sizeof(AARCH64_NOP) : 1;
    uint64_t address = n->address;
    uint8_t code[NOP_BYTES_MAX];

    if (m->base && n->base) /* addresses of the file were moved after it was linked */
        address += m->base - n->base;
    if (address % bytes || !find_code(m, address, &ret->offset) ||
        !fd_read_at(m->fd, ret->offset, code, bytes) ||
        memcmp(code, aarch64 ? AARCH64_NOP : NOP, bytes) != 0)
        return error_set(err, -EPERM,
                         "the file marks 0x%llx for a probe, and no short no-op is there",
                         (unsigned long long)n->address);
    return 0;
}

int usdt_find_of(uint16_t machine, int fd, const struct usdt_wanted *wanted, size_t count,
                 struct usdt_place *ret, size_t max, struct error *err)
{
    struct image m = { .fd = fd };
    _cleanup_free_ char *text = NULL;
    struct span rest;
    struct note n;
    int found = 0;

    if (!find_sections(&m, machine) || m.notes.sh_size == 0 || m.notes.sh_size > USDT_BYTES_MAX)
        return 0;
    text = malloc((size_t)m.notes.sh_size);
    if (!text)
        return -ENOMEM;
    if (!fd_read_at(fd, m.notes.sh_offset, text, (size_t)m.notes.sh_size))
        return 0;
    rest = (struct span){ text, (size_t)m.notes.sh_size };
    while (next_note(&rest, &n)) {
        struct usdt_place p = { .wanted = which(&n, wanted, count) };
        int r;

        if (p.wanted == count)
            continue;
        r = check_place(&m, &n, &p, err);
        if (r < 0)
            return r;
        if ((size_t)found == max)
            return error_set(err, -EPERM, "the file marks more than %zu places for probes", max);
        parse_arguments(machine, n.arguments, &wanted[p.wanted], &p);
        ret[found++] = p;
    }
    return found;
}

int usdt_find(int fd, const struct usdt_wanted *wanted, size_t count, struct usdt_place *ret,
              size_t max, struct error *err)
{
    return usdt_find_of(MACHINE, fd, wanted, count, ret, max, err);
}
