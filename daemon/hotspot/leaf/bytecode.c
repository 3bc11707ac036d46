/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the lengths of bytecodes, the backward branches, and the calls. The VM rewrites no branch.
 * It rewrites the operand of a call to the byte order of the processor.
 */
#include "hotspot/leaf/bytecode.h"

enum {
    OP_IINC = 132,
    OP_IFEQ = 153,
    OP_JSR = 168,
    OP_TABLESWITCH = 170,
    OP_LOOKUPSWITCH = 171,
    OP_INVOKEVIRTUAL = 182,
    OP_INVOKEDYNAMIC = 186,
    OP_WIDE = 196,
    OP_IFNULL = 198,
    OP_IFNONNULL = 199,
    OP_GOTO_W = 200,
    OP_JSR_W = 201,
    OP_FAST_INVOKEVFINAL = 227,
    OP_FAST_LINEARSWITCH = 228,
    OP_FAST_BINARYSWITCH = 229,
    OP_FAST_INVOKEHANDLE = 233,
};

#define UNKNOWN UINT8_MAX

/* The VM's own bytecodes, in order from LEAF_OWN_FIRST. JDK 8 had no fast_zputfield at first. */
static const char *const OWN[] = {
    "fast_agetfield",    "fast_bgetfield",    "fast_cgetfield",
    "fast_dgetfield",    "fast_fgetfield",    "fast_igetfield",
    "fast_lgetfield",    "fast_sgetfield",    "fast_aputfield",
    "fast_bputfield",    "fast_zputfield",    "fast_cputfield",
    "fast_dputfield",    "fast_fputfield",    "fast_iputfield",
    "fast_lputfield",    "fast_sputfield",    "fast_aload_0",
    "fast_iaccess_0",    "fast_aaccess_0",    "fast_faccess_0",
    "fast_iload",        "fast_iload2",       "fast_icaload",
    "fast_invokevfinal", "fast_linearswitch", "fast_binaryswitch",
    "fast_aldc",         "fast_aldc_w",       "return_register_finalizer",
    "invokehandle",      "nofast_getfield",   "nofast_putfield",
    "nofast_aload_0",    "nofast_iload",
};

/* Own bytecodes of later releases that read as older ones. JDK 28 has fields of value classes. */
static const struct {
    const char *name, *as;
} OWN_LATER[] = {
    { "fast_vgetfield", "fast_agetfield" },
    { "fast_vputfield", "fast_aputfield" },
};

/* Bytes of each opcode; 0 stands for one byte. */
static const uint8_t LENGTHS[256] = {
    [16] = 2,
    [17] = 3,
    [18] = 2,
    [19 ... 20] = 3,
    [21 ... 25] = 2,
    [54 ... 58] = 2,
    [132] = 3,
    [153 ... 168] = 3,
    [169] = 2,
    [178 ... 184] = 3,
    [185 ... 186] = 5,
    [187] = 3,
    [188] = 2,
    [189] = 3,
    [192 ... 193] = 3,
    [197] = 4,
    [198 ... 199] = 3,
    [200 ... 201] = 5,
    [202] = UNKNOWN,
    [203 ... 219] = 3,
    [221 ... 223] = 4,
    [224] = 2,
    [225] = 4,
    [226 ... 227] = 3,
    [230] = 2,
    [231] = 3,
    [233 ... 235] = 3,
    [237] = 2,
    [238 ... 255] = UNKNOWN,
};

uint8_t leaf_bytecode_number(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(OWN_LATER); i++) {
        if (strcmp(name, OWN_LATER[i].name) == 0)
            name = OWN_LATER[i].as;
    }
    for (size_t i = 0; i < ARRAY_SIZE(OWN); i++) {
        if (strcmp(name, OWN[i]) == 0)
            return (uint8_t)(LEAF_OWN_FIRST + i);
    }
    return 0;
}

void leaf_bytecode_renumber(uint8_t *code, size_t n, const struct leaf_numbers *numbers)
{
    struct span all = { (const char *)code, n };

    for (size_t at = 0, length; at < n; at += length) {
        if (code[at] >= LEAF_OWN_FIRST)
            code[at] = numbers->own[code[at] - LEAF_OWN_FIRST];
        length = leaf_bytecode_length(all, at);
        if (length == 0)
            return;
    }
}

static int32_t get_i32(const uint8_t *p)
{
    return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
}

static int64_t switch_length(struct span code, size_t at)
{
    const uint8_t *p = (const uint8_t *)code.p;
    size_t table = (at + 4) & ~(size_t)3; /* operands of a switch are aligned */
    int64_t low, high;

    if (table + (p[at] == OP_TABLESWITCH ? 12 : 8) > code.n)
        return 0;
    low = get_i32(p + table + 4);
    if (p[at] != OP_TABLESWITCH)
        return low < 0 ? 0 : (int64_t)(table - at) + 8 + 8 * low;
    high = get_i32(p + table + 8);
    return high < low ? 0 : (int64_t)(table - at) + 12 + 4 * (high - low + 1);
}

size_t leaf_bytecode_length(struct span code, size_t at)
{
    uint8_t op = (uint8_t)code.p[at];
    int64_t n = 1;

    if (op == OP_TABLESWITCH || op == OP_LOOKUPSWITCH || op == OP_FAST_LINEARSWITCH ||
        op == OP_FAST_BINARYSWITCH) {
        n = switch_length(code, at);
    } else if (op == OP_WIDE) {
        n = at + 1 < code.n && (uint8_t)code.p[at + 1] == OP_IINC ? 6 : 4;
    } else if (LENGTHS[op]) {
        n = LENGTHS[op] == UNKNOWN ? 0 : LENGTHS[op];
    }
    return n > 0 && n <= (int64_t)(code.n - at) ? (size_t)n : 0;
}

/* Adds the loop [@head, @end); loops with one head are merged. Returns false if there are too many
 * loops. */
static bool span_add(struct leaf_bytecodes *b, int32_t head, int32_t end)
{
    for (uint32_t i = 0; i < b->span_count; i++) {
        if (b->spans[i].head == head) {
            b->spans[i].end = MAX(b->spans[i].end, end);
            return true;
        }
    }
    if (b->span_count == LEAF_SPANS_MAX)
        return false;
    b->spans[b->span_count++] = (struct leaf_span){ head, end, 1 };
    return true;
}

static int compare_spans(const void *a, const void *b)
{
    const struct leaf_span *x = a, *y = b;
    int32_t n = x->end - x->head, m = y->end - y->head;

    return n != m ? (n < m ? -1 : 1) : (x->head > y->head) - (x->head < y->head);
}

/* Counts the nesting depth of each loop. An inner loop comes before the loops around it. */
static void count_nested(struct leaf_bytecodes *b)
{
    for (uint32_t i = 0; i < b->span_count; i++) {
        struct leaf_span *outer = &b->spans[i];

        for (uint32_t k = 0; k < i; k++) {
            const struct leaf_span *x = &b->spans[k];

            if (x->head >= outer->head && x->end <= outer->end)
                outer->nested = MAX(outer->nested, x->nested + 1);
        }
    }
}

static bool is_call(uint8_t op)
{
    return (op >= OP_INVOKEVIRTUAL && op <= OP_INVOKEDYNAMIC) || op == OP_FAST_INVOKEVFINAL ||
           op == OP_FAST_INVOKEHANDLE;
}

/* Returns the offset in bytes of the branch at @at; 0: no branch is there. */
static int32_t branch_at(struct span code, size_t at)
{
    const uint8_t *p = (const uint8_t *)code.p + at;

    if ((*p >= OP_IFEQ && *p < OP_JSR) || *p == OP_IFNULL || *p == OP_IFNONNULL)
        return (int16_t)((uint16_t)p[1] << 8 | p[2]);
    return *p == OP_GOTO_W ? get_i32(p + 1) : 0;
}

int leaf_bytecode_read(struct span code, struct leaf_bytecodes *ret)
{
    const uint8_t *p = (const uint8_t *)code.p;

    ret->span_count = ret->call_count = 0;
    for (size_t at = 0, n; at < code.n; at += n) {
        int32_t to;

        n = leaf_bytecode_length(code, at);
        if (n == 0)
            return -EBADMSG;
        to = branch_at(code, at);
        if (is_call(p[at])) {
            if (ret->call_count == LEAF_CALLS_MAX)
                return -E2BIG;
            ret->calls[ret->call_count++] =
                (struct leaf_call){ (int32_t)at, (uint16_t)(p[at + 1] | (uint16_t)p[at + 2] << 8),
                                    p[at] };
        }
        if (to >= 0)
            continue;
        if (to < -(int64_t)at)
            return -EBADMSG;
        if (!span_add(ret, (int32_t)at + to, (int32_t)(at + n)))
            return -E2BIG;
    }
    qsort(ret->spans, ret->span_count, sizeof(*ret->spans), compare_spans);
    count_nested(ret);
    return 0;
}
