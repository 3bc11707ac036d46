/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fills the unwinder's tables: rows of .eh_frame once for each file, shared by all processes that
 * map it, and one description for each process. Callers supply the functions that open files and
 * write tables, so that it works with and without the broker. Thread: the engine's.
 */
#pragma once

#include "base/error.h"
#include "base/shares.h"
#include "proc/proc.h"
#include "unwind/process.h"

struct broker;

struct feeder;

struct feeder_io {
    void *ctx;             /* borrowed */
    uint32_t rows_max;     /* capacity of the table of rows */
    struct shares *copies; /* borrowed; accounts bytes of in-memory copies of files
                            * (base/memory_budget.h); NULL: only if not in the background */
    bool background; /* read files on a thread of its own: feeder_update() may return FEEDER_PENDING
                      */
    int wake_fd; /* borrowed; eventfd that the thread writes to when a file was read; <= 0: none */
    /* Opens the file of an executable mapping. Returns 0, PROC_GONE, another outcome > 0 (no file),
     * or -errno. */
    int (*open_mapped)(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                       int *ret_fd, struct error *err);
    /* Writes @count rows from index @first on. */
    int (*put_rows)(struct broker *b, uint32_t first, const struct unwind_row *rows, uint32_t count,
                    struct error *err);
    /* Writes the description @p of a process; NULL: removes it. */
    int (*put_process)(struct broker *b, int32_t host_pid, const struct unwind_process *p,
                       struct error *err);
};

/* Copies @io. Returns 0 or -errno. */
int feeder_new(const struct feeder_io *io, struct feeder **ret);
struct feeder *feeder_free(struct feeder *f);

/* The input of feeder_update(). */
struct feeder_process {
    struct proc_id id;
    uint64_t start_boottime_ns; /* start time in the form that samples carry; 0: any */
    uint32_t exec_id;
    const struct maps *maps;
    const struct maps_met *met; /* addresses of mappings to look at first; NULL: none */
    const struct unwind_vm *vm; /* NULL: not a JVM, or not ready */
    struct unwind_unloads unloads;
};

/* Outcome: some files of the process are still being read. Its other mappings are described. Update
 * it again when feeder_poll() returns true. */
#define FEEDER_PENDING 2

/* Describes a process, also again after its mappings changed, and reads new files. Returns 0;
 * FEEDER_PENDING; PROC_GONE; -ENOSPC: no room for a further process of its owner; -errno. Without
 * room for rows, native code is walked by frame pointers (feeder_lacks_rows()). */
int feeder_update(struct feeder *f, const struct feeder_process *p, struct error *err);
/* Returns the description of a process in the tables; NULL: none. Points into @f until its next
 * call. */
const struct unwind_process *feeder_known(const struct feeder *f, int32_t host_pid);
/* Returns how many of its executable mappings the description lacks, for want of room. */
size_t feeder_left_out(const struct feeder *f, int32_t host_pid);
/* Returns whether the rows of any of its files found no room. */
bool feeder_lacks_rows(const struct feeder *f, int32_t host_pid);
/* Returns when to update it again because the reading of any of its files failed for now
 * (CLOCK_MONOTONIC); 0: none failed. */
uint64_t feeder_again_ns(const struct feeder *f, int32_t host_pid);
void feeder_forget(struct feeder *f, int32_t host_pid);
/* Returns whether an update ran out of time before it had looked at all files. feeder_poll() then
 * returns true. */
bool feeder_has_more(const struct feeder *f);
/* Takes over the results of files that were read since the last call. Return: true if an update has
 * something to add. Does not block. */
bool feeder_poll(struct feeder *f);
/* Waits for a result, at most until @deadline_ns (CLOCK_MONOTONIC). Return: false if none came. */
bool feeder_wait(struct feeder *f, uint64_t deadline_ns);

struct feeder_stats {
    uint64_t processes, files, rows, rows_max, files_failed, mappings_left_out;
    uint64_t refused; /* times that rows or a process had no room in their owner's share */
    uint64_t read_ns; /* CPU time of reading files in the background */
};
/* Gets counters and sizes. */
void feeder_stats(const struct feeder *f, struct feeder_stats *ret);
