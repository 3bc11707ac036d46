/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fills the unwinder's tables: rows of .eh_frame once per file, shared by all processes that map
 * it, and one description per process. What it reads and where it puts things is given to it, so
 * that it works with the broker and without. Thread: the engine's.
 */
#pragma once

#include "base/error.h"
#include "base/shares.h"
#include "proc/proc.h"
#include "unwind/process.h"

struct feeder;

struct feeder_io {
    void *ctx;             /* borrowed */
    uint32_t rows_max;     /* that the table of rows has room for */
    struct shares *copies; /* borrowed: bytes of copies of files in memory (base/memory_budget.h);
                            * NULL: not in the background */
    bool background; /* read files on a thread of its own: feeder_update() may say FEEDER_PENDING */
    int wake_fd;     /* an eventfd that is written to when that thread has read one, borrowed; <= 0:
                      * none
                      */
    /* The file behind an executable mapping. 0, PROC_GONE, other outcomes > 0 (no file), -errno. */
    int (*open_mapped)(void *ctx, const struct proc_id *id, uint64_t start, uint64_t end,
                       int *ret_fd, struct error *err);
    /* Writes @count rows from index @first on. */
    int (*put_rows)(void *ctx, uint32_t first, const struct unwind_row *rows, uint32_t count,
                    struct error *err);
    /* @p NULL: forgets it. */
    int (*put_process)(void *ctx, int32_t host_pid, const struct unwind_process *p,
                       struct error *err);
};

/* 0 or -errno. Copies @io. */
int feeder_new(const struct feeder_io *io, struct feeder **ret);
struct feeder *feeder_free(struct feeder *f);

/* What feeder_update() takes about a process. */
struct feeder_process {
    struct proc_id id;
    uint64_t start_boottime_ns; /* as samples tell them; 0: any */
    uint32_t exec_id;
    const struct maps *maps;
    const struct maps_met *met; /* whose files are looked at first; NULL: none */
    const struct unwind_vm *vm; /* NULL: not a JVM, or not ready */
};

/* Outcome: some of its files are still being read. What is known is described; update it again once
 * feeder_poll() has news. */
#define FEEDER_PENDING 2

/* Describes a process, or describes it again when its mappings changed. Reads the files that are
 * new. 0; FEEDER_PENDING; PROC_GONE; -ENOSPC (no room for rows: native code is then walked by frame
 * pointers); -errno. */
int feeder_update(struct feeder *f, const struct feeder_process *p, struct error *err);
/* Returns what was put of a process; NULL: nothing. Points into @f until its next call. */
const struct unwind_process *feeder_known(const struct feeder *f, int32_t host_pid);
/* Returns how many of its executable mappings the unwinder does not know, for want of room. */
size_t feeder_left_out(const struct feeder *f, int32_t host_pid);
/* Returns whether there was no room for the rows of one of its files. */
bool feeder_lacks_rows(const struct feeder *f, int32_t host_pid);
void feeder_forget(struct feeder *f, int32_t host_pid);
/* Returns whether an update left files that it had no time to look at. feeder_poll() then has news.
 */
bool feeder_has_more(const struct feeder *f);
/* Takes in the files that were read since the last call. True when there were any. Does not block.
 */
bool feeder_poll(struct feeder *f);
/* Waits for one, at most until @deadline_ns (CLOCK_MONOTONIC). False: nothing came. */
bool feeder_wait(struct feeder *f, uint64_t deadline_ns);

struct feeder_stats {
    uint64_t processes, files, rows, rows_max, files_failed, mappings_left_out;
    uint64_t refused; /* times that rows or a process found no room in their owner's share */
    uint64_t read_ns; /* CPU time that reading files has taken in the background */
};
/* Gives its counters and sizes. */
void feeder_stats(const struct feeder *f, struct feeder_stats *ret);
