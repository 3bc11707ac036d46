/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Allocates room in the one table of rows that all processes share. A file's rows are identified by
 * their content: anybody can copy a name or a build-id. So two files share rows only if their rows
 * are equal. Unused rows are evicted when their room is needed. Each owner has a share of the room
 * (base/shares.h). Thread: the feeder's.
 */
#pragma once

#include "base/error.h"
#include "base/shares.h"
#include "unwind_tables/ehframe.h"

struct broker;

#define ROW_TABLES_MAX 4096
#define ROW_TABLES_MIN 512

/* The rows of one file, or of several files with equal rows. */
struct row_table {
    uint64_t digest[2];    /* hash of rows and segments */
    uint32_t first, count; /* range in the table of rows */
    struct ehframe_segment segments[EHFRAME_SEGMENTS_MAX];
    size_t segment_count;
    uint64_t owner; /* the owner of the process that needed the rows first: its share is charged */
    unsigned users; /* mappings that use it */
    uint64_t used;  /* value of the clock at the last use */
};

struct row_tables {
    uint32_t rows_max;
    struct shares shares; /* owners' shares of rows; a small table counts as ROW_TABLES_MIN */
    uint64_t secret[2], clock;
    struct row_table **tables; /* owned; [count], sorted by first */
    size_t count;
};

typedef int (*row_tables_put_fn)(struct broker *b, uint32_t first, const struct unwind_row *rows,
                                 uint32_t count, struct error *err);
/* Called for a table that is about to be freed. */
typedef void (*row_tables_drop_fn)(void *ctx, const struct row_table *t);

void row_tables_init(struct row_tables *r, uint32_t rows_max);
void row_tables_deinit(struct row_tables *r);

/* Finds the table with the rows of @e, or makes it for a process of @owner. Calls @put with @b
 * for the rows of a new table, and @drop with @drop_ctx for each evicted table. *ret points into
 * @r. Returns 0; -ENOSPC: no room, or the owner's share is used up; -ENOMEM; or what @put
 * returned. */
int row_tables_get(struct row_tables *r, uint64_t owner, const struct ehframe_table *e,
                   row_tables_put_fn put, struct broker *b, row_tables_drop_fn drop, void *drop_ctx,
                   struct row_table **ret, struct error *err);

/* Count one mapping more, or one fewer, that uses @t. */
void row_table_use(struct row_tables *r, struct row_table *t);
void row_table_release(struct row_table *t);
uint64_t row_tables_rows(const struct row_tables *r);
