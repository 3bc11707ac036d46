/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that flamed spends on processes beside samples, by owner. A cache charges bytes here
 * before it keeps them, and gives them back later. Data that does not fit is left out and counted,
 * and the owner's profiles warn of it. Thread: the engine's.
 */
#pragma once

#include "base/shares.h"

/* Memory for files, names of frames and waiting samples together. It may be less than the sum of
 * their own limits. docs/limits.md adds this up with all other memory
 * (tests/unit/test_memory_sum.c). */
#define MEMORY_KEPT_BYTES (UINT64_C(100) << 20)
#define MEMORY_WAITING_BYTES (UINT64_C(32) << 20) /* for waiting samples */
/* Memory for files and names. The rest is for waiting samples (shares_room_short()). */
#define MEMORY_LASTING_BYTES (MEMORY_KEPT_BYTES - MEMORY_KEPT_BYTES / SHARES_SHORT)
#define MEMORY_SYMBOLS_BYTES (UINT64_C(80) << 20)

struct memory_budget {
    struct shares kept;      /* bytes of everything below */
    struct shares waiting;   /* bytes of samples that wait for symbols, or for their process */
    struct shares lasting;   /* bytes of names of frames, and of all that follows here */
    struct shares symbols;   /* bytes of symbols of ELF files */
    struct shares perf_maps; /* bytes of perf maps */
    struct shares copies;    /* bytes of copies of files in memory (base/memfd_copy.h) */
    struct shares code_maps; /* bytes of the code that agents report (attach/code_map.h) */
    /* Bytes of debug information and of answers from it, between two readings. */
    struct shares inlines;
};

static inline void memory_budget_init(struct memory_budget *b)
{
    shares_init(&b->kept, MEMORY_KEPT_BYTES);
    shares_init_part(&b->waiting, MEMORY_WAITING_BYTES, &b->kept);
    shares_init_part(&b->lasting, MEMORY_LASTING_BYTES, &b->kept);
    shares_init_part(&b->symbols, MEMORY_SYMBOLS_BYTES, &b->lasting);
    shares_init_part(&b->perf_maps, MEMORY_LASTING_BYTES, &b->lasting);
    shares_init_part(&b->copies, MEMORY_LASTING_BYTES, &b->lasting);
    shares_init_part(&b->code_maps, MEMORY_LASTING_BYTES, &b->lasting);
    shares_init_part(&b->inlines, MEMORY_LASTING_BYTES, &b->lasting);
}
