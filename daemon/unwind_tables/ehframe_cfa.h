/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Interprets the call frame instructions of .eh_frame, as far as rows need them. For unwind_tables/
 * only.
 */
#pragma once

#include "base/span.h"
#include "unwind/rows.h"

#define CFA_REMEMBER_MAX 16

enum cfa_where {
    CFA_SAME,   /* the register still has the caller's value */
    CFA_OFFSET, /* saved at CFA + offset */
    CFA_UNDEFINED,
    CFA_AT_FP, /* fp only: saved where fp points */
    CFA_OTHER, /* a rule that no row can express */
};

struct cfa_saved {
    enum cfa_where where;
    int64_t offset; /* bytes from the CFA */
};

/* The rules at one pc. */
struct cfa_rules {
    enum unwind_base base; /* SP, FP, PLT, FP_LOAD, SP_LOAD, or NONE for any other */
    int64_t cfa_offset;    /* bytes */
    struct cfa_saved fp, ra;
};

/* The architecture of the registers and instructions. */
enum cfa_isa { CFA_X86_64, CFA_AARCH64 };
#ifdef __aarch64__
#define CFA_HOST CFA_AARCH64
#else
#define CFA_HOST CFA_X86_64
#endif

struct cfa_machine {
    enum cfa_isa isa;
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_register;
    uint8_t pointer_encoding;
    struct cfa_rules now, initial;
    struct cfa_rules remembered[CFA_REMEMBER_MAX];
    size_t remembered_count;
    uint64_t pc;
};

typedef int (*cfa_row_fn)(void *cookie, uint64_t pc, const struct cfa_rules *rules);
/* Runs @program from m->pc on and calls @fn each time before the pc moves. Returns 0; -EBADMSG: the
 * program is broken; or what @fn returned. */
int cfa_run(struct cfa_machine *m, struct span program, cfa_row_fn fn, void *cookie);
/* Returns the row of @m for @rules, without a pc. @signal: the entry is of a signal frame. */
struct unwind_row cfa_row(const struct cfa_machine *m, const struct cfa_rules *rules, bool signal);

/* Take an unsigned or signed LEB128 number from @s. Return: false if @s holds none. */
bool cfa_take_uleb(struct span *s, uint64_t *ret);
bool cfa_take_sleb(struct span *s, int64_t *ret);
