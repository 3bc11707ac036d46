/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads .eh_frame of files on a thread of its own: a large binary takes a second, and the engine
 * must not wait for it. Functions: the engine's thread.
 */
#pragma once

#include "base/shares.h"
#include "unwind_tables/ehframe.h"

struct reader;

/* What was read. */
struct reader_result {
    uint64_t ticket;            /* as given to reader_put() */
    int outcome;                /* of ehframe_read() */
    uint64_t cpu_ns;            /* that it took */
    struct ehframe_table table; /* the receiver's, to be deinitialised; empty when outcome < 0 */
};

/* Starts the thread. @wake_fd: as in worker_new(). @copies: borrowed, bytes of copies of files in
 * memory (base/memfd_copy.h). 0 or -errno. */
int reader_new(int wake_fd, struct shares *copies, struct reader **ret);
/* Ends it when the file under way is read. */
struct reader *reader_free(struct reader *r);

/* A file that is to be read; valid until its result is taken. */
struct reader_job;

/* Returns whether one more file of @owner (proc_owner()) may wait. */
bool reader_has_place(struct reader *r, uint64_t owner);
/* Takes the open file @fd. Those of one @owner delay another's by one file at most. *ret: for
 * reader_hurry(). 0, -ENOSPC (too many of it wait, or too many bytes of copies are in memory: try
 * again later) or -ENOMEM; then @fd is closed. */
int reader_put(struct reader *r, uint64_t owner, int fd, uint64_t ticket, struct reader_job **ret);
/* Reads @job when @owner has its turn, should that come earlier: @owner waits for it, too. */
void reader_hurry(struct reader *r, struct reader_job *job, uint64_t owner);
/* Gets the next result, if there is one. */
bool reader_take(struct reader *r, struct reader_result *ret);
/* Waits until there is a result or nothing is left to read, at most until @deadline_ns
 * (CLOCK_MONOTONIC). True when there is a result. */
bool reader_wait(struct reader *r, uint64_t deadline_ns);
