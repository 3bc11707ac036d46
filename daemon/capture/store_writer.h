/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes finished profiles to the store on a thread of its own, so that the engine never waits for a
 * disk. A capture counts as done once it is there. Functions may be called from any thread.
 */
#pragma once

#include "request/backend.h"
#include "store/store.h"

struct store_writer;

/* Captures that may wait to be written. A new one is then refused, or it would wait for all of
 * them. */
#define STORE_WRITER_WAITING_MAX 128

/* @store may be NULL: nothing is kept, profiles are only handed on. 0 or -errno. */
int store_writer_start(struct store *store, struct store_writer **ret);
/* Writes what is queued, then ends. */
struct store_writer *store_writer_stop(struct store_writer *k);

/* How long a disk may take at least, when nothing else has taken time. */
#define STORE_WRITER_DELAY_NS (250 * NSEC_PER_MSEC)

/* Whose profile is stored first. */
enum store_writer_turn {
    STORE_WRITER_FIRST,  /* root's */
    STORE_WRITER_WAITED, /* somebody waits for it */
    STORE_WRITER_LAST,
};

/* Takes the reference @p. When it is stored (or cannot be), @done is called with it, on the
 * writer's thread; @done may be NULL. Where that takes longer than until @answer_ns, and than
 * STORE_WRITER_DELAY_NS, store_writer_hurry() calls it. @max_age_s: retention of its own, 0: the
 * store's. */
void store_writer_put(struct store_writer *k, struct profile *p, const char *schedule,
                      uint64_t max_age_s, enum store_writer_turn turn, uint64_t answer_ns,
                      capture_done_fn done, void *cookie);
/* No answer waits for a disk without end: those that are due leave. What they hold is still being
 * stored, and store_writer_find() finds it until then. */
void store_writer_hurry(struct store_writer *k, uint64_t now_ns);
/* Returns how many profiles are not yet stored. */
size_t store_writer_waiting(struct store_writer *k);
/* Refuses a new capture while @max are not yet stored. 0; BACKEND_TOO_MANY. */
int store_writer_check_room(struct store_writer *k, size_t max, struct error *err);
/* Writes what has become of the runs of a schedule. */
void store_writer_put_runs(struct store_writer *k, const char *schedule,
                           const struct store_runs *h);
/* Returns the profile of a capture that is queued, as a new reference; NULL if there is none. */
struct profile *store_writer_find(struct store_writer *k, const char *id);
