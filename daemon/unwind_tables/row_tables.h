/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the rows of each .eh_frame lie in the one table of rows that all processes share. A piece
 * is known by what its rows say, not by a file's name or build-id, which anybody can copy. So two
 * files share rows only if the rows are the same. Unused rows are dropped when the room
 * is needed. Each owner has a share of the room (base/shares.h). Thread: the feeder's.
 */
#pragma once

#include "base/error.h"
#include "base/shares.h"
#include "unwind_tables/ehframe.h"

#define ROW_TABLES_MAX 4096
#define ROW_TABLES_MIN 512

/* The rows of one file, or of several that say the same. */
struct row_table {
    uint64_t digest[2];    /* of rows and segments */
    uint32_t first, count; /* in the table of rows */
    struct ehframe_segment segments[EHFRAME_SEGMENTS_MAX];
    size_t segment_count;
    uint64_t owner; /* whose share it takes: of the process that had it first */
    unsigned users; /* mappings of living processes */
    uint64_t used;  /* rises with each use */
};

struct row_tables {
    uint32_t rows_max;
    struct shares shares; /* of rows; a table of few counts as ROW_TABLES_MIN */
    uint64_t secret[2], clock;
    struct row_table **tables; /* owned; [count], sorted by first */
    size_t count;
};

typedef int (*row_tables_put_fn)(void *ctx, uint32_t first, const struct unwind_row *rows,
                                 uint32_t count, struct error *err);
/* A table that is about to be freed. */
typedef void (*row_tables_drop_fn)(void *ctx, const struct row_table *t);

void row_tables_init(struct row_tables *r, uint32_t rows_max);
void row_tables_deinit(struct row_tables *r);

/* Finds the table with the rows of @e, or makes it for a process of @owner. Calls @put with
 * @put_ctx for the rows of a new one, and @drop with @drop_ctx for each table that makes room for
 * it. *ret points into @r. Return: 0; -ENOSPC: there is no room, or its share is used up; -ENOMEM;
 * what @put returned. */
int row_tables_get(struct row_tables *r, uint64_t owner, const struct ehframe_table *e,
                   row_tables_put_fn put, void *put_ctx, row_tables_drop_fn drop, void *drop_ctx,
                   struct row_table **ret, struct error *err);

/* Counts a mapping more or less that uses @t. */
void row_table_use(struct row_tables *r, struct row_table *t);
void row_table_release(struct row_table *t);
uint64_t row_tables_rows(const struct row_tables *r);
