/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * .eh_frame made into rows: our own bounded reader, because the files are somebody else's and the
 * rows are the unwinder's heart. What a row cannot hold becomes UNWIND_BASE_NONE, never a guess.
 * Pure but for ehframe_read(); thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "unwind/rows.h"
#include "unwind_tables/ehframe_cfa.h"

#define EHFRAME_MAX_BYTES ((size_t)32 << 20)
#define EHFRAME_ROWS_MAX ((size_t)2 << 20)
#define EHFRAME_SEGMENTS_MAX 16

struct ehframe_segment {
    uint64_t offset, vaddr, bytes; /* in the file; as it numbers its addresses */
};

struct ehframe_table {
    struct unwind_row *rows; /* owned, [count], sorted by pc; the last row is UNWIND_BASE_NONE */
    size_t count;
    struct ehframe_segment segments[EHFRAME_SEGMENTS_MAX]; /* executable ones */
    size_t segment_count;
    size_t unreadable; /* entries that were left out */
};

/* Reads the ELF file @fd (borrowed; pread() only). 0 with at least no rows; -ENOEXEC: no ELF file
 * for this processor; -EFBIG; -ENOMEM; -errno. @err says which. */
int ehframe_read(int fd, struct ehframe_table *ret, struct error *err);
void ehframe_deinit(struct ehframe_table *t);

/* Rows of the section @s of @isa that lies at @vaddr. 0, -EFBIG (too many rows) or -ENOMEM. Fills
 * rows, count and unreadable of @ret, which must be zero. */
int ehframe_parse(struct span s, uint64_t vaddr, enum cfa_isa isa, struct ehframe_table *ret);

/* Sorts the rows, and drops those that say nothing new. */
void ehframe_tidy(struct ehframe_table *t);

/* Gets what to take from an address in a mapping of file offset @offset at @start to get the file's
 * own address of it. False: no executable segment is mapped there. */
bool ehframe_bias(const struct ehframe_segment *segments, size_t count, uint64_t start,
                  uint64_t offset, uint64_t *ret);
