/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Converts .eh_frame to rows, by a bounded reader of our own: the files are untrusted, and the
 * unwinder depends on the rows. A rule that no row can express becomes UNWIND_BASE_NONE, never a
 * guess. Pure except for ehframe_read(). Thread: any.
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
    uint64_t offset, vaddr, bytes; /* file offset; address in the file's numbering; size */
};

struct ehframe_table {
    struct unwind_row *rows; /* owned, [count], sorted by pc; the last row is UNWIND_BASE_NONE */
    size_t count;
    struct ehframe_segment segments[EHFRAME_SEGMENTS_MAX]; /* the executable segments */
    size_t segment_count;
    size_t unreadable; /* broken or unsupported entries, left out */
};

/* Reads the ELF file @fd (borrowed) by pread(2). Returns 0, also if the file has no rows; -ENOEXEC:
 * no ELF file for this processor; -EFBIG; -ENOMEM; -errno. Sets @err. */
int ehframe_read(int fd, struct ehframe_table *ret, struct error *err);
void ehframe_deinit(struct ehframe_table *t);

/* Reads the rows of the section @s, which lies at address @vaddr, for @isa. Fills in rows, count
 * and unreadable of @ret, which must be zero. The caller frees @s, and then calls ehframe_tidy(),
 * which takes memory. Returns 0, -EFBIG (too many rows) or -ENOMEM. */
int ehframe_parse(struct span s, uint64_t vaddr, enum cfa_isa isa, struct ehframe_table *ret);

/* Adds a row for the entries of @plt on aarch64 to @t, which is sorted. Linkers write no rule
 * for these entries, which jump on with the return address in the link register. The header of
 * @plt, which calls the loader, gets no row. Adds nothing if @t has a rule in @plt. Returns 0 or
 * -ENOMEM. */
int ehframe_add_plt(const struct ehframe_segment *plt, struct ehframe_table *t);

/* Sorts the rows and drops rows that repeat the previous rule. */
void ehframe_tidy(struct ehframe_table *t);

/* Gets the bias of a mapping at @start of file offset @offset: an address minus *ret is the file's
 * own address. Return: false if no executable segment is mapped there. */
bool ehframe_bias(const struct ehframe_segment *segments, size_t count, uint64_t start,
                  uint64_t offset, uint64_t *ret);
