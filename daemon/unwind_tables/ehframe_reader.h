/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads .eh_frame of files on a thread of its own: a large binary takes a second, and the engine
 * must not wait. Functions: the engine's thread.
 */
#pragma once

#include "base/shares.h"
#include "unwind_tables/ehframe.h"

struct reader;

/* The result of one job. */
struct reader_result {
    uint64_t ticket; /* as passed to reader_put() */
    int outcome;     /* result of ehframe_read() */
    uint64_t cpu_ns; /* CPU time of the reading */
    struct ehframe_table
        table; /* owned by the receiver, to be deinitialised; empty if outcome < 0 */
};

/* Starts the thread. @wake_fd: see worker_new(). @copies: borrowed; accounts the bytes of in-memory
 * copies of files (base/memfd_copy.h). Returns 0 or -errno. */
int reader_new(int wake_fd, struct shares *copies, struct reader **ret);
/* Ends the thread after the file that it is reading. */
struct reader *reader_free(struct reader *r);

/* A file to be read; valid until its result is taken. */
struct reader_job;

/* Returns whether the queue has room for one more file of @owner (proc_owner()). */
bool reader_has_place(struct reader *r, uint64_t owner);
/* Queues the open file @fd and takes it over. The files of one owner delay those of another by one
 * file at most. *ret is for reader_hurry(). Returns 0, -ENOMEM, or -ENOSPC: the owner has too many
 * files queued or too many bytes of copies in memory. After an error @fd is closed; after -ENOSPC
 * try again later. */
int reader_put(struct reader *r, uint64_t owner, int fd, uint64_t ticket, struct reader_job **ret);
/* Reads @job at @owner's turn if that comes before the job's own turn. For an owner that waits for
 * the same file. */
void reader_hurry(struct reader *r, struct reader_job *job, uint64_t owner);
/* Gets the next result. Return: false if there is none. Does not block. */
bool reader_take(struct reader *r, struct reader_result *ret);
/* Waits until there is a result or no file is left to read, at most until @deadline_ns
 * (CLOCK_MONOTONIC). Return: true if there is a result. */
bool reader_wait(struct reader *r, uint64_t deadline_ns);
