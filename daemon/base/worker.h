/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One piece of work after the other, on a thread of its own: what takes a second must not hold up
 * the engine. Owners have equal shares of the thread and of its queue (fair queueing). The next
 * piece is the oldest of the owner that has had the least processor time. So an owner with a
 * hundred large files delays another by one file. A piece is a struct work at the head of its
 * holder's struct, and belongs to the worker from worker_put() to worker_take(). Functions: one
 * thread, the holder's; run(): the worker's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct work {
    struct work *next; /* the worker's */
    bool queued;       /* the worker's */
    void (*run)(struct work *w);
    uint64_t owner;  /* whose share it takes: as proc_owner() tells, or 0 for all in one line */
    uint64_t cpu_ns; /* that run() took, when it is done */
};

struct worker;

/* Starts the thread, called @name (at most 15 bytes), for at most @waiting_max pieces at a time,
 * which owners share (base/shares.h). It writes to the eventfd @wake_fd when a piece is done.
 * Borrows @wake_fd; <= 0: none. Return: 0 or -errno. */
int worker_new(const char *name, size_t waiting_max, int wake_fd, struct worker **ret);
/* Ends the thread when the piece under way is done; @drop gets all that were not taken. */
struct worker *worker_free(struct worker *w, void (*drop)(struct work *work));

/* Returns whether @owner has room for one more piece. */
bool worker_has_place(struct worker *w, uint64_t owner);
/* Takes @work. False where too many of its owner wait: it stays the caller's. */
bool worker_put(struct worker *w, struct work *work);
/* Lets @work, if it was not begun, be done when @owner has its turn, should that come earlier:
 * @owner waits for it, too. */
void worker_hurry(struct worker *w, struct work *work, uint64_t owner);
/* Returns the next that is done, which is the caller's again, or NULL. Does not block. */
struct work *worker_take(struct worker *w);
/* Waits until one is done or nothing is left to do, at most until @deadline_ns (CLOCK_MONOTONIC).
 * True when one is done. */
bool worker_wait(struct worker *w, uint64_t deadline_ns);
