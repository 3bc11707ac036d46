/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which rows belong to which file, and the reading of files that are new: at once, or on the
 * reader's thread. Thread: the feeder's.
 */
#pragma once

#include "unwind_tables/row_tables.h"
#include "unwind_tables/table_loader.h"

struct row_files;

/* @io is borrowed. 0 or -errno. */
int row_files_new(const struct feeder_io *io, struct row_files **ret);
struct row_files *row_files_free(struct row_files *f);

/* Gets the table of the file behind mapping @m of process @id; NULL where it has none that can be
 * read. 0; FEEDER_PENDING: it is being read; PROC_GONE; -ENOSPC: there is no room for its rows;
 * -errno. */
int row_files_get(struct row_files *f, const struct proc_id *id, const struct mapping *m,
                  struct row_table **ret, struct error *err);

/* Gets the table of rows that are of no file. 0; -ENOSPC; -ENOMEM; -errno. */
int row_files_put(struct row_files *f, uint64_t owner, const struct ehframe_table *e,
                  struct row_table **ret, struct error *err);

/* feeder_poll() and feeder_wait(). */
bool row_files_poll(struct row_files *f);
bool row_files_wait(struct row_files *f, uint64_t deadline_ns);

/* Returns the tables that the files' rows are in; borrowed. */
struct row_tables *row_files_tables(struct row_files *f);
/* Files that could not be read. */
uint64_t row_files_failed(const struct row_files *f);
/* CPU time that the reader's thread has taken for those that were taken in. */
uint64_t row_files_read_ns(const struct row_files *f);
