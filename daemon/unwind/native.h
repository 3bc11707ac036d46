/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Native code: finds the mapping of a pc, and the row for it in the mapping's table. */
#pragma once

#include "unwind/arch/arch.h"

#define UNWIND_SEARCH_STEPS_MAX 24 /* binary search in up to 2^24 rows */
#define UNWIND_MORE_STEPS 12       /* binary search in up to UNWIND_MORE_MAX mappings */
UNWIND_ASSERT(UNWIND_MORE_MAX < 1 << UNWIND_MORE_STEPS);

/* Reads word @index of the table of rows. Return: false if there is no such word. */
UNWIND_INLINE bool unwind_row_word(struct unwind_walk *w, uint32_t index, uint64_t *ret)
{
    union {
        struct unwind_row row;
        uint64_t word;
    } u = { .word = 0 };

    if (!unwind_row(w, index, &u.row))
        return false;
    *ret = u.word;
    return true;
}

/* Finds the mapping that holds @pc among those in the table of rows, as unwind_find_mapping(). */
UNWIND_FUNCTION int unwind_find_more(struct unwind_walk *w, struct unwind_process *p, uint64_t pc)
{
    uint32_t lo = 0, hi, i, at;
    uint64_t word;

    if (!w || !p)
        return 0;
    hi = p->more_count;
    if (hi > UNWIND_MORE_MAX)
        hi = UNWIND_MORE_MAX;
    for (i = 0; i < UNWIND_MORE_STEPS && lo < hi; i++) {
        uint32_t mid = (lo + hi) / 2;

        if (!unwind_row_word(w, p->first_more + mid, &word))
            return 0;
        if (word <= pc) {
            lo = mid + 1;
            w->mapping.start = word;
        } else {
            hi = mid;
        }
    }
    if (!lo)
        return 0;
    at = p->first_more + p->more_count + (lo - 1) * UNWIND_MORE_WORDS;
    if (!unwind_row_word(w, at, &w->mapping.end) || pc >= w->mapping.end ||
        !unwind_row_word(w, at + 1, &w->mapping.bias) || !unwind_row_word(w, at + 2, &word))
        return 0;
    w->mapping.first_row = (uint32_t)word;
    w->mapping.row_count = (uint32_t)(word >> 32);
    return 1;
}

/* Finds the mapping that holds @pc and sets w->mapping. Returns 1 if there is one, else 0. */
UNWIND_FUNCTION int unwind_find_mapping(struct unwind_walk *w, struct unwind_process *p,
                                        uint64_t pc)
{
    uint64_t lo = 0, hi;
    uint32_t i;

    if (!w || !p)
        return 0;
    hi = p->mapping_count;
    if (hi > UNWIND_MAPPINGS_MAX)
        hi = UNWIND_MAPPINGS_MAX;
    for (i = 0; i < 9 && lo < hi; i++) {
        uint64_t mid;

        UNWIND_BLUR(lo, pc);
        UNWIND_BLUR(hi, pc);
        mid = (lo + hi) / 2;
        UNWIND_MASK(mid, UNWIND_MAPPINGS_MAX - 1);
        if (p->mappings[mid].start <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo) {
        uint64_t at = lo - 1;

        UNWIND_MASK(at, UNWIND_MAPPINGS_MAX - 1);
        if (p->mappings[at].start <= pc && pc < p->mappings[at].end) {
            w->mapping = p->mappings[at];
            return 1;
        }
    }
    return p->more_count ? unwind_find_more(w, p, pc) : 0;
}

/* Finds the row for @pc by binary search and sets cfa, fp and base of w->rule. Sets w->ruled if the
 * mapping has rows. Returns 0 or an enum unwind_end. */
UNWIND_FUNCTION int unwind_find_row(struct unwind_walk *w, struct unwind_process *p, uint64_t pc)
{
    struct unwind_row row = { 0 }, best = { 0 };
    uint32_t lo, hi, file_pc, i;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    if (unwind_find_mapping(w, p, pc) <= 0)
        return UNWIND_END_NO_MAPPING;
    file_pc = (uint32_t)(pc - w->mapping.bias);
    lo = w->mapping.first_row;
    hi = lo + w->mapping.row_count;
    w->ruled = lo != hi;
    for (i = 0; i < UNWIND_SEARCH_STEPS_MAX; i++) {
        uint32_t mid;

        if (lo >= hi)
            break;
        mid = lo + (hi - lo) / 2;
        if (!unwind_row(w, mid, &row))
            return UNWIND_END_NO_RULE;
        if (row.pc <= file_pc) {
            best = row;
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    w->rule.cfa = best.cfa * 8;
    w->rule.fp = unwind_row_fp(&best);
    w->rule.base = best.base;
    return 0;
}

/* Finds the rule for native code at w->at. Returns 0 and sets w->rule, or returns an enum
 * unwind_end. */
UNWIND_FUNCTION int unwind_native_rule(struct unwind_walk *w, struct unwind_process *p)
{
    int r;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    w->rule.blob = 0;
    w->rule.compile_id = 0;
    w->rule.kind = UNWIND_NATIVE;
    w->rule.keep = 1;
    r = unwind_find_row(w, p, w->exact ? w->at.pc : w->at.pc - 1);
    /* A system call may be the last instruction of its function. Its return pc is then in the next
     * function, or in none. */
    if (w->exact && (r || w->rule.base == UNWIND_BASE_NONE))
        r = unwind_find_row(w, p, w->at.pc - 1);
    if (r)
        return r == UNWIND_END_NO_MAPPING && !w->at.pc ? UNWIND_END_RETURN : r;
    if ((!w->ruled || w->rule.base == UNWIND_BASE_NONE) && unwind_is_sigreturn(w, w->at.pc)) {
        w->rule.base = UNWIND_BASE_SIGNAL;
        w->ruled = 1;
    }
    if (!w->ruled) {
        /* Another runtime's JIT code, or a file without tables: assume frame pointers. */
        w->rule.base = UNWIND_BASE_FP;
        w->rule.cfa = 16;
        w->rule.fp = -16;
        w->rule.keep = !p->vm.thread_anchor_sp; /* in a JVM the anchor may give a better rule */
    } else if (w->rule.base == UNWIND_BASE_PLT) {
        w->rule.base = UNWIND_BASE_SP;
        w->rule.cfa = (w->at.pc & 15) >= 11 ? 16 : 8;
    } else if (w->rule.base == UNWIND_BASE_SIGNAL) {
        w->rule.kind = UNWIND_SIGNAL;
    } else if (w->rule.base == UNWIND_BASE_NONE) {
        if (!w->exact)
            return UNWIND_END_NO_RULE;
        /* Hand-written leaf functions have no row and no frame. */
        w->rule.base = UNWIND_BASE_SP;
        w->rule.cfa = UNWIND_LEAF_CFA;
        w->rule.fp = 0;
        w->rule.keep = 0;
    }
    return 0;
}
