/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes finished profiles to the store on a thread of its own, so that the engine never waits for a
 * disk. A capture counts as done once it is there. Functions may be called from any thread.
 */
#pragma once

#include "request/backend.h"
#include "store/store.h"

struct keeper;

/* Captures that may wait to be written. A new one is then refused, or it would wait for all of
 * them. */
#define KEEPER_WAITING_MAX 128

/* @store may be NULL: nothing is kept, profiles are only handed on. 0 or -errno. */
int keeper_start(struct store *store, struct keeper **ret);
/* Writes what is queued, then ends. */
struct keeper *keeper_stop(struct keeper *k);

/* How long a disk may take at least, when nothing else has taken time. */
#define KEEPER_PATIENCE_NS (250 * NSEC_PER_MSEC)

/* Whose profile is stored first. */
enum keeper_turn {
    KEEPER_FIRST,  /* root's */
    KEEPER_WAITED, /* somebody waits for it */
    KEEPER_LAST,
};

/* Takes the reference @p. When it is stored (or cannot be), @done is called with it, on the
 * keeper's thread; @done may be NULL. Where that takes longer than until @answer_ns, and than
 * KEEPER_PATIENCE_NS, keeper_hurry() calls it. @max_age_s: retention of its own, 0: the store's. */
void keeper_put(struct keeper *k, struct profile *p, const char *schedule, uint64_t max_age_s,
                enum keeper_turn turn, uint64_t answer_ns, capture_done_fn done, void *cookie);
/* No answer waits for a disk without end: those that are due leave. What they hold is still being
 * stored, and keeper_find() finds it until then. */
void keeper_hurry(struct keeper *k, uint64_t now_ns);
/* How many profiles are not yet stored. */
size_t keeper_waiting(struct keeper *k);
/* Writes what has become of the runs of a schedule. */
void keeper_put_history(struct keeper *k, const char *schedule, const struct store_history *h);
/* The profile of a capture that is queued, as a new reference; NULL if there is none. */
struct profile *keeper_find(struct keeper *k, const char *id);
