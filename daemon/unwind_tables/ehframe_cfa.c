/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * DWARF call frame instructions for x86-64 and aarch64. Tracks the CFA, fp and the return address,
 * and skips rules of other registers. Of expressions only four forms are known, which compilers,
 * linkers and hand-written code of x86-64 use for the CFA and for rbp.
 */
#include "unwind_tables/ehframe_cfa.h"

#define DWARF_RBP 6
#define DWARF_RSP 7
#define DWARF_AARCH64_FP 29
#define DWARF_AARCH64_SP 31

#define ROW_FAR (-63)    /* UNWIND_ROW_FAR of aarch64 */
#define FAR_WORDS_MAX 64 /* words from the CFA down to a pair that is far from the base */

enum {
    DW_CFA_NOP = 0x00,
    DW_CFA_SET_LOC = 0x01,
    DW_CFA_ADVANCE_LOC1 = 0x02,
    DW_CFA_ADVANCE_LOC2 = 0x03,
    DW_CFA_ADVANCE_LOC4 = 0x04,
    DW_CFA_OFFSET_EXTENDED = 0x05,
    DW_CFA_RESTORE_EXTENDED = 0x06,
    DW_CFA_UNDEFINED = 0x07,
    DW_CFA_SAME_VALUE = 0x08,
    DW_CFA_REGISTER = 0x09,
    DW_CFA_REMEMBER_STATE = 0x0a,
    DW_CFA_RESTORE_STATE = 0x0b,
    DW_CFA_DEF_CFA = 0x0c,
    DW_CFA_DEF_CFA_REGISTER = 0x0d,
    DW_CFA_DEF_CFA_OFFSET = 0x0e,
    DW_CFA_DEF_CFA_EXPRESSION = 0x0f,
    DW_CFA_EXPRESSION = 0x10,
    DW_CFA_OFFSET_EXTENDED_SF = 0x11,
    DW_CFA_DEF_CFA_SF = 0x12,
    DW_CFA_DEF_CFA_OFFSET_SF = 0x13,
    DW_CFA_VAL_OFFSET = 0x14,
    DW_CFA_VAL_OFFSET_SF = 0x15,
    DW_CFA_VAL_EXPRESSION = 0x16,
    DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
    DW_CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
    DW_CFA_GNU_ARGS_SIZE = 0x2e,
    DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    DW_CFA_ADVANCE_LOC = 0x40, /* these three have an operand in their low six bits */
    DW_CFA_OFFSET = 0x80,
    DW_CFA_RESTORE = 0xc0,
    DW_OP_DEREF = 0x06,
    DW_OP_PLUS_UCONST = 0x23,
    DW_OP_BREG_RBP = 0x70 + DWARF_RBP,
    DW_OP_BREG_RSP = 0x70 + DWARF_RSP,
};

/* Takes a LEB128 number (DWARF 5, 7.6): its bits and their count. */
static bool take_leb(struct span *s, uint64_t *ret, unsigned *ret_bits)
{
    struct span in = *s;
    uint64_t v = 0;
    uint8_t b;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (!span_take_u8(&in, &b))
            return false;
        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *s = in;
            *ret = v;
            *ret_bits = shift + 7;
            return true;
        }
    }
    return false;
}

bool cfa_take_uleb(struct span *s, uint64_t *ret)
{
    unsigned bits;

    return take_leb(s, ret, &bits);
}

bool cfa_take_sleb(struct span *s, int64_t *ret)
{
    uint64_t v;
    unsigned bits;

    if (!take_leb(s, &v, &bits))
        return false;
    if (bits < 64 && v >> (bits - 1))
        v |= ~UINT64_C(0) << bits;
    *ret = (int64_t)v;
    return true;
}

static uint64_t fp_of(const struct cfa_machine *m)
{
    return m->isa == CFA_AARCH64 ? DWARF_AARCH64_FP : DWARF_RBP;
}

static enum unwind_base base_of(const struct cfa_machine *m, uint64_t reg)
{
    if (reg == fp_of(m))
        return UNWIND_BASE_FP;
    return reg == (m->isa == CFA_AARCH64 ? DWARF_AARCH64_SP : DWARF_RSP) ? UNWIND_BASE_SP
                                                                         : UNWIND_BASE_NONE;
}

static void define_cfa(struct cfa_machine *m, uint64_t reg, int64_t offset)
{
    m->now.base = base_of(m, reg);
    m->now.cfa_offset = offset;
}

/* Defines the CFA by the expression @e; base NONE if its form is not known. */
static void define_cfa_expression(struct cfa_machine *m, struct span e)
{
    /* rsp + 8 + ((rip & 15) >= 11) * 8, as linkers write it for the PLT */
    static const char PLT[] = "\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22";
    uint64_t add;
    uint8_t op;

    m->now.base = UNWIND_BASE_NONE;
    if (m->isa != CFA_X86_64)
        return;
    if (e.n == sizeof(PLT) - 1 && memcmp(e.p, PLT, e.n) == 0) {
        m->now.base = UNWIND_BASE_PLT;
        m->now.cfa_offset = 8;
        return;
    }
    if (!span_take_u8(&e, &op) || (op != DW_OP_BREG_RBP && op != DW_OP_BREG_RSP) ||
        !cfa_take_sleb(&e, &m->now.cfa_offset) || !span_take_char(&e, DW_OP_DEREF))
        return;
    if (op == DW_OP_BREG_RBP && e.n == 0)
        m->now.base = UNWIND_BASE_FP_LOAD;
    else if (op == DW_OP_BREG_RSP && span_take_char(&e, DW_OP_PLUS_UCONST) &&
             cfa_take_uleb(&e, &add) && add == 8 && e.n == 0)
        m->now.base = UNWIND_BASE_SP_LOAD;
}

/* Stores the rule of fp or the return address; drops rules of other registers. */
static void put_saved(struct cfa_machine *m, uint64_t reg, struct cfa_saved fp, struct cfa_saved ra)
{
    if (reg == fp_of(m))
        m->now.fp = fp;
    else if (reg == m->ra_register)
        m->now.ra = ra;
}

static void set_saved(struct cfa_machine *m, uint64_t reg, enum cfa_where where, int64_t offset)
{
    struct cfa_saved saved = { where, offset };

    put_saved(m, reg, saved, saved);
}

static void restore_saved(struct cfa_machine *m, uint64_t reg)
{
    put_saved(m, reg, m->initial.fp, m->initial.ra);
}

/* Multiplies a factored offset, in unsigned arithmetic: untrusted values may overflow. */
static int64_t factored(const struct cfa_machine *m, int64_t n)
{
    return (int64_t)((uint64_t)n * (uint64_t)m->data_align);
}

static int advance(struct cfa_machine *m, uint64_t delta, cfa_row_fn fn, void *cookie)
{
    int r = fn(cookie, m->pc, &m->now);

    m->pc += delta * m->code_align;
    return r;
}

/* Runs an instruction with zero high bits. */
static int run_extended(struct cfa_machine *m, uint8_t op, struct span *s, cfa_row_fn fn,
                        void *cookie)
{
    struct span block;
    uint64_t reg, n;
    int64_t sn;
    uint32_t u4;
    uint16_t u2;
    uint8_t u1;

    switch (op) {
    case DW_CFA_NOP:
        return 0;
    case DW_CFA_ADVANCE_LOC1:
        return span_take_u8(s, &u1) ? advance(m, u1, fn, cookie) : -EBADMSG;
    case DW_CFA_ADVANCE_LOC2:
        return span_take_u16(s, &u2) ? advance(m, u2, fn, cookie) : -EBADMSG;
    case DW_CFA_ADVANCE_LOC4:
        return span_take_u32(s, &u4) ? advance(m, u4, fn, cookie) : -EBADMSG;
    case DW_CFA_OFFSET_EXTENDED:
        if (!cfa_take_uleb(s, &reg) || !cfa_take_uleb(s, &n))
            return -EBADMSG;
        set_saved(m, reg, CFA_OFFSET, factored(m, (int64_t)n));
        return 0;
    case DW_CFA_OFFSET_EXTENDED_SF:
        if (!cfa_take_uleb(s, &reg) || !cfa_take_sleb(s, &sn))
            return -EBADMSG;
        set_saved(m, reg, CFA_OFFSET, factored(m, sn));
        return 0;
    case DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        if (!cfa_take_uleb(s, &reg) || !cfa_take_uleb(s, &n))
            return -EBADMSG;
        set_saved(m, reg, CFA_OFFSET, factored(m, (int64_t)(0 - n)));
        return 0;
    case DW_CFA_RESTORE_EXTENDED:
        if (!cfa_take_uleb(s, &reg))
            return -EBADMSG;
        restore_saved(m, reg);
        return 0;
    case DW_CFA_UNDEFINED:
    case DW_CFA_SAME_VALUE:
        if (!cfa_take_uleb(s, &reg))
            return -EBADMSG;
        set_saved(m, reg, op == DW_CFA_UNDEFINED ? CFA_UNDEFINED : CFA_SAME, 0);
        return 0;
    case DW_CFA_REGISTER:
        if (!cfa_take_uleb(s, &reg) || !cfa_take_uleb(s, &n))
            return -EBADMSG;
        set_saved(m, reg, CFA_OTHER, 0);
        return 0;
    case DW_CFA_REMEMBER_STATE:
        if (m->remembered_count == CFA_REMEMBER_MAX)
            return -EBADMSG;
        m->remembered[m->remembered_count++] = m->now;
        return 0;
    case DW_CFA_RESTORE_STATE:
        if (m->remembered_count == 0)
            return -EBADMSG;
        m->now = m->remembered[--m->remembered_count];
        return 0;
    case DW_CFA_DEF_CFA:
        if (!cfa_take_uleb(s, &reg) || !cfa_take_uleb(s, &n))
            return -EBADMSG;
        define_cfa(m, reg, (int64_t)n);
        return 0;
    case DW_CFA_DEF_CFA_SF:
        if (!cfa_take_uleb(s, &reg) || !cfa_take_sleb(s, &sn))
            return -EBADMSG;
        define_cfa(m, reg, factored(m, sn));
        return 0;
    case DW_CFA_DEF_CFA_REGISTER:
        if (!cfa_take_uleb(s, &reg))
            return -EBADMSG;
        define_cfa(m, reg, m->now.cfa_offset);
        return 0;
    case DW_CFA_DEF_CFA_OFFSET:
        if (!cfa_take_uleb(s, &n))
            return -EBADMSG;
        m->now.cfa_offset = (int64_t)n;
        return 0;
    case DW_CFA_DEF_CFA_OFFSET_SF:
        if (!cfa_take_sleb(s, &sn))
            return -EBADMSG;
        m->now.cfa_offset = factored(m, sn);
        return 0;
    case DW_CFA_DEF_CFA_EXPRESSION:
        if (!cfa_take_uleb(s, &n) || !span_take_bytes(s, n, &block))
            return -EBADMSG;
        define_cfa_expression(m, block);
        return 0;
    case DW_CFA_EXPRESSION:
    case DW_CFA_VAL_EXPRESSION:
        if (!cfa_take_uleb(s, &reg) || !cfa_take_uleb(s, &n) || !span_take_bytes(s, n, &block))
            return -EBADMSG;
        /* rbp + 0: used in gcc's realigned frames, which also find their CFA through rbp */
        if (m->isa == CFA_X86_64 && op == DW_CFA_EXPRESSION && block.n == 2 &&
            (uint8_t)block.p[0] == DW_OP_BREG_RBP && block.p[1] == 0)
            set_saved(m, reg, CFA_AT_FP, 0);
        else
            set_saved(m, reg, CFA_OTHER, 0);
        return 0;
    case DW_CFA_VAL_OFFSET:
        if (!cfa_take_uleb(s, &reg) || !cfa_take_uleb(s, &n))
            return -EBADMSG;
        set_saved(m, reg, CFA_OTHER, 0);
        return 0;
    case DW_CFA_VAL_OFFSET_SF:
        if (!cfa_take_uleb(s, &reg) || !cfa_take_sleb(s, &sn))
            return -EBADMSG;
        set_saved(m, reg, CFA_OTHER, 0);
        return 0;
    case DW_CFA_AARCH64_NEGATE_RA_STATE: /* signed or not: walks remove the signature anyway */
    case DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
        return m->isa == CFA_AARCH64 ? 0 : -EBADMSG;
    case DW_CFA_GNU_ARGS_SIZE:
        return cfa_take_uleb(s, &n) ? 0 : -EBADMSG;
    default: /* DW_CFA_set_loc does not occur in .eh_frame */
        return -EBADMSG;
    }
}

int cfa_run(struct cfa_machine *m, struct span program, cfa_row_fn fn, void *cookie)
{
    uint8_t op;
    int r = 0;

    while (r == 0 && span_take_u8(&program, &op)) {
        uint64_t low = op & 0x3f, n;

        switch (op & 0xc0) {
        case DW_CFA_ADVANCE_LOC:
            r = advance(m, low, fn, cookie);
            break;
        case DW_CFA_OFFSET:
            if (!cfa_take_uleb(&program, &n))
                return -EBADMSG;
            set_saved(m, low, CFA_OFFSET, factored(m, (int64_t)n));
            break;
        case DW_CFA_RESTORE:
            restore_saved(m, low);
            break;
        default:
            r = run_extended(m, op, &program, fn, cookie);
        }
    }
    return r;
}

/* Gets the place of a register saved at CFA + @offset, in words from the base of the CFA, which has
 * as many bytes as a row can express. Return: false if it lies below the base. */
static bool place_of(const struct cfa_rules *rules, int64_t offset, int64_t *ret)
{
    if ((offset & 7) || offset >= 0 || offset < -rules->cfa_offset)
        return false;
    *ret = (rules->cfa_offset + offset) / 8;
    return true;
}

/* Returns the row for @rules of aarch64. unwind/arch/aarch64.h defines the meaning of its fp. */
static struct unwind_row aarch64_row(const struct cfa_rules *rules)
{
    static const struct unwind_row NONE = { .base = UNWIND_BASE_NONE };
    bool saved = rules->ra.where == CFA_OFFSET, pair = rules->fp.where == CFA_OFFSET;
    struct unwind_row row = { .base = (uint8_t)rules->base };
    int64_t cfa = rules->cfa_offset, place = 0;

    if (rules->base == UNWIND_BASE_NONE || (cfa & 7) || cfa / 8 < INT16_MIN || cfa / 8 > INT16_MAX)
        return NONE;
    row.cfa = (int16_t)(cfa / 8);
    if (rules->ra.where == CFA_SAME && !pair && rules->fp.where != CFA_OTHER)
        return row;
    if (!saved || rules->fp.where == CFA_OTHER)
        return NONE;
    if (!place_of(rules, pair ? rules->fp.offset : rules->ra.offset, &place))
        return NONE;
    if (pair && rules->ra.offset != rules->fp.offset + 8)
        return NONE;
    if (pair && place >= INT8_MAX)
        place =
            -rules->fp.offset / 8 <= FAR_WORDS_MAX ? rules->fp.offset / 8 + ROW_FAR - 1 : INT8_MAX;
    if (pair ? place >= INT8_MAX : place >= -ROW_FAR)
        return NONE;
    row.fp = (int8_t)(pair ? place + 1 : -place - 1);
    return row;
}

struct unwind_row cfa_row(const struct cfa_machine *m, const struct cfa_rules *rules, bool signal)
{
    static const struct unwind_row NONE = { .base = UNWIND_BASE_NONE };
    struct unwind_row row = { .base = (uint8_t)rules->base };
    int64_t cfa = rules->cfa_offset;

    if (signal)
        return (struct unwind_row){ .base = UNWIND_BASE_SIGNAL };
    if (rules->ra.where == CFA_UNDEFINED)
        return (struct unwind_row){ .base = UNWIND_BASE_ROOT };
    if (m->isa == CFA_AARCH64)
        return aarch64_row(rules);
    if (rules->base == UNWIND_BASE_NONE || rules->ra.where != CFA_OFFSET ||
        rules->ra.offset != -8 || (cfa & 7) || cfa / 8 < INT16_MIN || cfa / 8 > INT16_MAX)
        return NONE;
    row.cfa = (int16_t)(cfa / 8);
    switch (rules->fp.where) {
    case CFA_SAME:
    case CFA_UNDEFINED: /* no caller uses it: any value will do */
        break;
    case CFA_OFFSET:
        if ((rules->fp.offset & 7) || rules->fp.offset / 8 < INT8_MIN || rules->fp.offset >= 0)
            return NONE;
        row.fp = (int8_t)(rules->fp.offset / 8);
        break;
    case CFA_AT_FP:
        if (rules->base != UNWIND_BASE_FP_LOAD)
            return NONE;
        break;
    case CFA_OTHER:
        return NONE;
    }
    if (rules->base == UNWIND_BASE_FP_LOAD && rules->fp.where != CFA_AT_FP)
        return NONE;
    return row;
}
