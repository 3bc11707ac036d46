/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that runs pieces of work one after the other, because a piece may take a second, and the
 * engine must not wait. Owners have equal shares of the thread and of its queue (fair queueing).
 * The next piece is the oldest of the owner that has used the least processor time. So an owner
 * with a hundred large files delays another by one file. A piece is a struct work at the head of
 * its holder's struct, and belongs to the worker from worker_put() to worker_take(). Functions: one
 * thread, the holder's; run(): the worker's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct work {
    struct work *next; /* used by the worker */
    bool queued;       /* used by the worker */
    void (*run)(struct work *w);
    uint64_t owner;  /* the owner by proc_owner(); 0: the caller's pieces have no owner */
    uint64_t cpu_ns; /* processor time that run() used, valid when the piece is done */
};

struct worker;

/* Starts the thread, called @name (at most 15 bytes), for at most @waiting_max pieces at a time.
 * Owners share these places (base/shares.h). It writes to the eventfd @wake_fd when a piece is
 * done. Borrows @wake_fd; <= 0: none. Return: 0 or -errno. */
int worker_new(const char *name, size_t waiting_max, int wake_fd, struct worker **ret);
/* Ends the thread after its current piece. @drop gets each piece that worker_take() has not
 * returned. */
struct worker *worker_free(struct worker *w, void (*drop)(struct work *work));

/* Returns whether worker_put() would accept one more piece of @owner. */
bool worker_has_place(struct worker *w, uint64_t owner);
/* Queues @work. Returns false if too many pieces of its owner wait; the caller then keeps @work. */
bool worker_put(struct worker *w, struct work *work);
/* Records that @owner waits for @work, too. If @work has not begun, it runs in the turn of @owner,
 * if that comes earlier. */
void worker_hurry(struct worker *w, struct work *work, uint64_t owner);
/* Returns the next finished piece, which the caller owns again; NULL: none. Does not block. */
struct work *worker_take(struct worker *w);
/* Waits until a piece is finished or no piece is left, at most until @deadline_ns
 * (CLOCK_MONOTONIC). Returns whether a piece is finished. */
bool worker_wait(struct worker *w, uint64_t deadline_ns);
