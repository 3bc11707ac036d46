/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One row of an unwind table: how to find the caller of native code, from the row's pc up to the
 * next row's pc. unwind_tables/ makes rows from .eh_frame; the unwinder reads them, in BPF programs
 * and in flamed. On x86-64 the return address lies in the word below the CFA.
 */
#pragma once

#include "unwind/types.h"

enum unwind_base {
    UNWIND_BASE_NONE = 0, /* no code here, or a rule that no row can express */
    UNWIND_BASE_SP,       /* CFA = sp + 8 * cfa */
    UNWIND_BASE_FP,       /* CFA = fp + 8 * cfa */
    UNWIND_BASE_PLT, /* CFA = sp + 8, or sp + 16 in the last 5 bytes of each 16: a lazy PLT entry */
    UNWIND_BASE_FP_LOAD, /* CFA = [fp + 8 * cfa], caller's fp = [fp]: a realigned stack */
    UNWIND_BASE_SP_LOAD, /* CFA = [sp + 8 * cfa] + 8: hand-written code that realigns */
    UNWIND_BASE_SIGNAL,  /* the kernel's signal frame */
    UNWIND_BASE_ROOT,    /* the outermost frame, which has no caller */
    UNWIND_BASE_COUNT,
};

struct unwind_row {
    uint32_t pc; /* an address of the file, not of the process */
    int16_t cfa; /* words from the base */
    uint8_t base;
    int8_t fp; /* x86-64: the caller's fp lies at CFA + 8 * fp; 0: unchanged. aarch64:
                * unwind_row_fp() */
};
UNWIND_ASSERT(sizeof(struct unwind_row) == 8);
