/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads the entries of .eh_frame (CIEs and FDEs) once and makes them a sorted table of rows. Each
 * length is bounded by the section. Entries that are broken or of a kind not used in practice are
 * counted and left out: their code gets UNWIND_BASE_NONE.
 */
#include "unwind_tables/ehframe.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "unwind_tables/ehframe_cfa.h"

#define EHFRAME_AUGMENTATION_MAX 16
#define EHFRAME_DATA_ALIGN_MAX 64
#define PLT_HEADER_BYTES 32 /* aarch64 */
/* Most bytes of a CIE's initial instructions: compilers write 7. They run again for each FDE with
 * another CIE than the previous FDE. */
#define EHFRAME_INITIAL_MAX 128

enum {
    DW_EH_PE_ABSPTR = 0x00,
    DW_EH_PE_UDATA2 = 0x02,
    DW_EH_PE_UDATA4 = 0x03,
    DW_EH_PE_UDATA8 = 0x04,
    DW_EH_PE_SDATA2 = 0x0a,
    DW_EH_PE_SDATA4 = 0x0b,
    DW_EH_PE_SDATA8 = 0x0c,
    DW_EH_PE_PCREL = 0x10,
    DW_EH_PE_OMIT = 0xff,
};

struct cie {
    struct cfa_machine machine; /* state after the initial instructions */
    size_t offset;              /* offset in the section */
    bool augmented, signal;
};

struct parser {
    struct span section;
    uint64_t vaddr;
    enum cfa_isa isa;
    struct ehframe_table *table;
    size_t room;    /* rows allocated */
    struct cie cie; /* the last CIE read: most FDEs of a file share it */
    bool have_cie;
    bool signal;
    size_t first_row; /* first row of the current entry */
    uint64_t pc_end;
};

static uint64_t address_of(const struct parser *p, struct span s)
{
    return p->vaddr + (uint64_t)(s.p - p->section.p);
}

/* Takes a pointer of @encoding from @s. Return: false if it is cut off or needs another section. */
static bool take_pointer(const struct parser *p, struct span *s, uint8_t encoding, uint64_t *ret)
{
    uint64_t at = address_of(p, *s), v;
    uint32_t u4;
    uint16_t u2;

    switch (encoding & 0x0f) {
    case DW_EH_PE_ABSPTR:
    case DW_EH_PE_UDATA8:
    case DW_EH_PE_SDATA8:
        if (!span_take_u64(s, &v))
            return false;
        break;
    case DW_EH_PE_UDATA4:
    case DW_EH_PE_SDATA4:
        if (!span_take_u32(s, &u4))
            return false;
        v = (encoding & 0x0f) == DW_EH_PE_SDATA4 ? (uint64_t)(int64_t)(int32_t)u4 : u4;
        break;
    case DW_EH_PE_UDATA2:
    case DW_EH_PE_SDATA2:
        if (!span_take_u16(s, &u2))
            return false;
        v = (encoding & 0x0f) == DW_EH_PE_SDATA2 ? (uint64_t)(int64_t)(int16_t)u2 : u2;
        break;
    default:
        return false;
    }
    if ((encoding & 0x70) == DW_EH_PE_PCREL)
        v += at;
    else if (encoding & 0x70)
        return false;
    *ret = v;
    return true;
}

static int no_rows(void *cookie, uint64_t pc, const struct cfa_rules *rules)
{
    (void)cookie;
    (void)pc;
    (void)rules;
    return -EBADMSG; /* initial instructions must not move the pc */
}

/* Takes the augmentation data for the string @letters, such as "zRS". */
static bool take_augmentation(struct parser *p, struct cie *c, struct span letters, struct span *s)
{
    struct span data;
    uint64_t n;
    uint8_t encoding;

    c->machine.pointer_encoding = DW_EH_PE_ABSPTR;
    if (letters.n == 0)
        return true;
    if (!span_take_char(&letters, 'z') || !cfa_take_uleb(s, &n) || !span_take_bytes(s, n, &data))
        return false;
    c->augmented = true;
    while (letters.n) {
        char letter = letters.p[0];
        uint64_t ignored;

        letters = span_from(letters, 1);
        switch (letter) {
        case 'R':
            if (!span_take_u8(&data, &c->machine.pointer_encoding))
                return false;
            break;
        case 'P':
            if (!span_take_u8(&data, &encoding) ||
                !take_pointer(p, &data, encoding & 0x0f, &ignored))
                return false;
            break;
        case 'L':
            if (!span_take_u8(&data, &encoding))
                return false;
            break;
        case 'S':
            c->signal = true;
            break;
        case 'B': /* aarch64: return addresses are signed by the B key */
        case 'G': /* aarch64: the stack is tagged */
            break;
        default: /* fatal unless it is the last: its data has an unknown size */
            return letters.n == 0;
        }
    }
    return true;
}

/* Reads the CIE at @offset into p->cie. */
static bool read_cie(struct parser *p, uint64_t offset)
{
    struct span s = span_from(p->section, offset), letters;
    struct cie c = { .offset = offset, .machine.isa = p->isa };
    uint32_t length, id;
    uint8_t version, ra;
    size_t n;

    if (p->have_cie && p->cie.offset == offset)
        return true;
    if (!span_take_u32(&s, &length) || length > s.n)
        return false;
    s.n = length;
    if (!span_take_u32(&s, &id) || id != 0 || !span_take_u8(&s, &version) ||
        (version != 1 && version != 3))
        return false;
    n = span_find(s, '\0');
    if (n == s.n || n > EHFRAME_AUGMENTATION_MAX)
        return false;
    letters = (struct span){ s.p, n };
    s = span_from(s, n + 1);
    if (!cfa_take_uleb(&s, &c.machine.code_align) || c.machine.code_align == 0 ||
        c.machine.code_align > EHFRAME_DATA_ALIGN_MAX ||
        !cfa_take_sleb(&s, &c.machine.data_align) ||
        c.machine.data_align > EHFRAME_DATA_ALIGN_MAX ||
        c.machine.data_align < -EHFRAME_DATA_ALIGN_MAX)
        return false;
    if (version == 1) {
        if (!span_take_u8(&s, &ra))
            return false;
        c.machine.ra_register = ra;
    } else if (!cfa_take_uleb(&s, &c.machine.ra_register)) {
        return false;
    }
    if (!take_augmentation(p, &c, letters, &s))
        return false;
    c.machine.now.ra.where = CFA_SAME;
    if (s.n > EHFRAME_INITIAL_MAX)
        return false;
    if (cfa_run(&c.machine, s, no_rows, NULL) < 0)
        return false;
    c.machine.initial = c.machine.now;
    c.machine.remembered_count = 0;
    p->cie = c;
    p->have_cie = true;
    return true;
}

static int add_row(struct parser *p, uint64_t pc, struct unwind_row row)
{
    struct ehframe_table *t = p->table;

    if (pc > UINT32_MAX)
        return -EBADMSG;
    row.pc = (uint32_t)pc;
    if (t->count > p->first_row) {
        struct unwind_row *last = &t->rows[t->count - 1];

        if (last->pc == row.pc) { /* no code lies between them */
            *last = row;
            return 0;
        }
        if (last->cfa == row.cfa && last->base == row.base && last->fp == row.fp)
            return 0;
    }
    if (t->count == p->room) {
        if (t->count >= EHFRAME_ROWS_MAX)
            return -EFBIG;
        if (!array_grow(&t->rows, &p->room, t->count + 1, 4096))
            return -ENOMEM;
    }
    t->rows[t->count++] = row;
    return 0;
}

static int see_row(void *cookie, uint64_t pc, const struct cfa_rules *rules)
{
    struct parser *p = cookie;

    if (pc >= p->pc_end)
        return -EBADMSG;
    return add_row(p, pc, cfa_row(&p->cie.machine, rules, p->signal));
}

/* Reads an FDE; @s is the part behind its CIE pointer. Returns 0; -EBADMSG: leave it out; -EFBIG;
 * -ENOMEM. */
static int read_fde(struct parser *p, struct span s)
{
    struct cfa_machine m = p->cie.machine;
    struct span ignored;
    uint64_t n, range;
    int r;

    if (!take_pointer(p, &s, m.pointer_encoding, &m.pc) ||
        !take_pointer(p, &s, m.pointer_encoding & 0x0f, &range))
        return -EBADMSG;
    if (p->cie.augmented && (!cfa_take_uleb(&s, &n) || !span_take_bytes(&s, n, &ignored)))
        return -EBADMSG;
    if (range == 0)
        return 0;
    if (m.pc > UINT32_MAX || range > UINT32_MAX || m.pc + range > UINT32_MAX)
        return -EBADMSG;
    p->signal = p->cie.signal;
    p->first_row = p->table->count;
    p->pc_end = m.pc + range;
    r = cfa_run(&m, s, see_row, p);
    if (r == 0 && m.pc < p->pc_end)
        r = add_row(p, m.pc, cfa_row(&m, &m.now, p->signal));
    if (r == 0)
        r = add_row(p, p->pc_end, (struct unwind_row){ .base = UNWIND_BASE_NONE });
    if (r == -EBADMSG)
        p->table->count = p->first_row;
    return r;
}

/* Orders rows by address. If one entry ends where another begins, the end comes first. */
ORDER_FUNCTION(compare_rows, struct unwind_row,
               COMPARE(x->pc, y->pc)
                   ?: (x->base != UNWIND_BASE_NONE) - (y->base != UNWIND_BASE_NONE))

void ehframe_tidy(struct ehframe_table *t)
{
    size_t kept = 0;

    if (t->count)
        qsort(t->rows, t->count, sizeof(*t->rows), compare_rows);
    for (size_t i = 0; i < t->count; i++) {
        const struct unwind_row *row = &t->rows[i];

        if (i + 1 < t->count && t->rows[i + 1].pc == row->pc)
            continue; /* the row covers no code */
        if (kept && t->rows[kept - 1].cfa == row->cfa && t->rows[kept - 1].base == row->base &&
            t->rows[kept - 1].fp == row->fp)
            continue;
        t->rows[kept++] = *row;
    }
    t->count = kept;
}

int ehframe_add_plt(const struct ehframe_segment *plt, struct ehframe_table *t)
{
    uint64_t start = plt->vaddr + PLT_HEADER_BYTES, end = plt->vaddr + plt->bytes;
    struct unwind_row *rows;

    if (plt->bytes <= PLT_HEADER_BYTES || plt->bytes > UINT32_MAX || plt->vaddr > UINT32_MAX ||
        end > UINT32_MAX || t->count + 2 > EHFRAME_ROWS_MAX)
        return 0;
    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].base != UNWIND_BASE_NONE && t->rows[i].pc < end &&
            (i + 1 == t->count || t->rows[i + 1].pc > start))
            return 0; /* the file has rules there */
    }
    rows = reallocarray(t->rows, t->count + 2, sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    t->rows = rows;
    rows[t->count++] = (struct unwind_row){ .pc = (uint32_t)start, .base = UNWIND_BASE_SP };
    rows[t->count++] = (struct unwind_row){ .pc = (uint32_t)end, .base = UNWIND_BASE_NONE };
    ehframe_tidy(t);
    return 0;
}

int ehframe_parse(struct span s, uint64_t vaddr, enum cfa_isa isa, struct ehframe_table *ret)
{
    struct parser p = { .section = s, .vaddr = vaddr, .isa = isa, .table = ret };
    int r = 0;

    while (s.n) {
        struct span body;
        uint32_t length, id;
        uint64_t id_at;

        if (!span_take_u32(&s, &length) || length == 0)
            break;                                 /* the terminator */
        if (!span_take_bytes(&s, length, &body)) { /* also 64-bit lengths, which no tool writes */
            ret->unreadable++;
            break;
        }
        id_at = (uint64_t)(body.p - p.section.p);
        if (!span_take_u32(&body, &id)) {
            ret->unreadable++;
            continue;
        }
        if (id == 0) /* a CIE: read for the first FDE that refers to it */
            continue;
        r = id > id_at || !read_cie(&p, id_at - id) ? -EBADMSG : read_fde(&p, body);
        if (r == -EBADMSG)
            ret->unreadable++;
        else if (r < 0)
            break;
        r = 0;
    }
    if (r < 0) {
        free(ret->rows);
        *ret = (struct ehframe_table){ 0 };
    }
    return r;
}

bool ehframe_bias(const struct ehframe_segment *segments, size_t count, uint64_t start,
                  uint64_t offset, uint64_t *ret)
{
    uint64_t page = (uint64_t)getpagesize();

    for (size_t i = 0; i < count; i++) {
        const struct ehframe_segment *s = &segments[i];

        /* A mapping begins at the page in which the segment begins. */
        if (offset + page > s->offset && offset < s->offset + s->bytes) {
            *ret = start - (s->vaddr - s->offset + offset);
            return true;
        }
    }
    return false;
}

void ehframe_deinit(struct ehframe_table *t)
{
    free(t->rows);
    *t = (struct ehframe_table){ 0 };
}
