/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes finished profiles to the store on a thread of its own, so that the engine never waits for
 * a disk. A capture is done once it is stored. Functions may be called from any thread.
 */
#pragma once

#include "request/backend.h"
#include "store/store.h"

struct store_writer;

/* Captures that may wait to be written. Beyond this number a new capture is refused, since it would
 * wait for all of them. */
#define STORE_WRITER_WAITING_MAX 128

/* Starts the thread. @store may be NULL: profiles are only delivered. Returns 0 or -errno. */
int store_writer_start(struct store *store, struct store_writer **ret);
/* Writes what is queued and ends the thread. Accepts NULL. Returns NULL. */
struct store_writer *store_writer_stop(struct store_writer *k);

/* Shortest time that an answer waits for the disk. */
#define STORE_WRITER_DELAY_NS (250 * NSEC_PER_MSEC)

/* The order in which profiles are stored. */
enum store_writer_turn {
    STORE_WRITER_FIRST,  /* root waits for it */
    STORE_WRITER_WAITED, /* another caller waits for it */
    STORE_WRITER_LAST,
};

/* Takes the reference @p. Calls @done (may be NULL) with @p on the writer's thread, once @p is
 * stored or cannot be stored. If that takes until @answer_ns, and longer than
 * STORE_WRITER_DELAY_NS, store_writer_hurry() calls @done. @max_age_s: retention of this profile;
 * 0: the store's. */
void store_writer_put(struct store_writer *k, struct profile *p, const char *schedule,
                      uint64_t max_age_s, enum store_writer_turn turn, uint64_t answer_ns,
                      capture_done_fn done, void *cookie);
/* Calls @done of profiles that are past their answer_ns, so that no answer waits for a disk without
 * end. These profiles are still stored later; until then, store_writer_find() finds them. */
void store_writer_hurry(struct store_writer *k, uint64_t now_ns);
/* Returns the number of profiles that are not stored yet. */
size_t store_writer_waiting(struct store_writer *k);
/* Refuses a new capture while @max are not stored yet. Returns 0 or BACKEND_TOO_MANY. */
int store_writer_check_room(struct store_writer *k, size_t max, struct error *err);
/* Queues the history of runs of a schedule. */
void store_writer_put_runs(struct store_writer *k, const char *schedule,
                           const struct store_runs *h);
/* Returns whether a history could not be stored since the last call. */
bool store_writer_take_failed_runs(struct store_writer *k);
#define STORE_WRITER_SCHEDULE_BYTES 64
/* Returns the profile of a queued capture, as a new reference; NULL: none. @ret_schedule (may be
 * NULL) gets its schedule, "" if there is none. */
struct profile *store_writer_find(struct store_writer *k, const char *id,
                                  char ret_schedule[STORE_WRITER_SCHEDULE_BYTES]);
/* Passes each queued capture to @fn with its schedule, without the lock. A capture that is
 * stored during the calls is passed, too. Returns the first result of @fn that is not 0; else 0 or
 * -ENOMEM. */
typedef int (*store_writer_fn)(void *cookie, const struct profile *p, const char *schedule);
int store_writer_each(struct store_writer *k, store_writer_fn fn, void *cookie);
/* Makes sure that a queued capture is not stored. Returns false if it is not queued, or stored
 * already. */
bool store_writer_drop(struct store_writer *k, const char *id);
