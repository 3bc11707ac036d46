/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps files to their rows, and reads new files: at once, or on the reader's thread. Thread: the
 * feeder's.
 */
#pragma once

#include "unwind_tables/row_tables.h"
#include "unwind_tables/table_loader.h"

struct row_files;

/* Least time before another try for an owner, after a reading that failed, or found no room for the
 * rows of a file. */
#define ROW_FILES_REFUSED_NS (10 * NSEC_PER_SEC)

/* Borrows @io. Returns 0 or -errno. */
int row_files_new(const struct feeder_io *io, struct row_files **ret);
struct row_files *row_files_free(struct row_files *f);

/* Gets the table of the file mapped at @m by process @id. *ret is NULL if it has no readable table.
 * Returns 0; FEEDER_PENDING: the file is being read; PROC_GONE; -ENOSPC: no room for its rows;
 * -errno. */
int row_files_get(struct row_files *f, const struct proc_id *id, const struct mapping *m,
                  struct row_table **ret, struct error *err);

/* Gets a table for the rows @e, which belong to no file. Returns 0; -ENOSPC; -ENOMEM; -errno. */
int row_files_put(struct row_files *f, uint64_t owner, const struct ehframe_table *e,
                  struct row_table **ret, struct error *err);

/* Take results of the reader, as feeder_poll() and feeder_wait() describe. */
bool row_files_poll(struct row_files *f);
bool row_files_wait(struct row_files *f, uint64_t deadline_ns);

/* Returns the tables that hold the files' rows; borrowed. */
struct row_tables *row_files_tables(struct row_files *f);
/* Returns how many files could not be read. */
uint64_t row_files_failed(const struct row_files *f);
/* Returns the CPU time of the reader's thread for all results taken so far. */
uint64_t row_files_read_ns(const struct row_files *f);
