/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that flamed spends on files of processes, by owner. A cache charges bytes here before
 * it keeps them, and gives them back later. Data that does not fit is left out and counted, and the
 * owner's profiles warn of it. Thread: the engine's.
 */
#pragma once

#include "base/shares.h"

/* The symbols of one file may take 48 MiB more while they are read (symbolize/elf_reading.h). */
#define MEMORY_FILES_BYTES (UINT64_C(128) << 20) /* of all four kinds together */
#define MEMORY_SYMBOLS_BYTES (UINT64_C(80) << 20)
#define MEMORY_PERF_MAPS_BYTES (UINT64_C(96) << 20)
#define MEMORY_COPIES_BYTES (UINT64_C(128) << 20)
#define MEMORY_INLINES_BYTES (UINT64_C(128) << 20)

struct memory_budget {
    struct shares files;     /* bytes of all of the following */
    struct shares symbols;   /* bytes of symbols of ELF files */
    struct shares perf_maps; /* bytes of perf maps */
    struct shares copies;    /* bytes of copies of files in memory (base/memfd_copy.h) */
    struct shares inlines;   /* bytes of debug information and answers, between two readings */
};

static inline void memory_budget_init(struct memory_budget *b)
{
    shares_init(&b->files, MEMORY_FILES_BYTES);
    shares_init_part(&b->symbols, MEMORY_SYMBOLS_BYTES, &b->files);
    shares_init_part(&b->perf_maps, MEMORY_PERF_MAPS_BYTES, &b->files);
    shares_init_part(&b->copies, MEMORY_COPIES_BYTES, &b->files);
    shares_init_part(&b->inlines, MEMORY_INLINES_BYTES, &b->files);
}
