/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One row of an unwind table: how to find the caller of native code from a pc on, until the next
 * row's. Made from .eh_frame by unwind_tables/, read by both homes of the unwinder. The return
 * address always lies in the word below the CFA.
 */
#pragma once

#include "unwind/types.h"

enum unwind_base {
    UNWIND_BASE_NONE = 0, /* no code here, or rules that a row cannot hold */
    UNWIND_BASE_SP,       /* CFA = sp + 8 * cfa */
    UNWIND_BASE_FP,       /* CFA = fp + 8 * cfa */
    UNWIND_BASE_PLT, /* CFA = sp + 8, or sp + 16 in the last 5 bytes of each 16: a lazy PLT entry */
    UNWIND_BASE_FP_LOAD, /* CFA = [fp + 8 * cfa], caller's fp = [fp]: a realigned stack */
    UNWIND_BASE_SP_LOAD, /* CFA = [sp + 8 * cfa] + 8: hand-written code that realigns */
    UNWIND_BASE_SIGNAL,  /* the kernel's signal frame */
    UNWIND_BASE_ROOT,    /* the outermost frame: nothing called it */
    UNWIND_BASE_COUNT,
};

struct unwind_row {
    uint32_t pc; /* as the file numbers its addresses */
    int16_t cfa; /* words */
    uint8_t base;
    int8_t fp; /* where the caller's fp lies: CFA + 8 * fp; 0: unchanged */
};
UNWIND_ASSERT(sizeof(struct unwind_row) == 8);
