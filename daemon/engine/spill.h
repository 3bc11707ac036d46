/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves slices of the flight recorder into the history. Finished slices are collected; at each end
 * of a minute of the wall clock, a thread writes them. The engine never waits for the disk. Thread:
 * the engine's, unless a function says otherwise.
 */
#pragma once

#include "discover/discover.h"
#include "profile/service_counters.h"
#include "store/flight.h"
#include "store/history.h"

/* Minutes that may wait for the disk. A further minute replaces the oldest, which counts as
 * dropped. */
#define SPILL_WAITING_MAX 5

struct spill;

struct spill_opts {
    struct history *history; /* all borrowed */
    struct flight *flight;
    struct discover *discover;
    struct service_counters *counters; /* count the slices that were written; NULL: none */
    /* Returns the pauses and the throttling of @p since the last call; NULL: unknown. */
    struct history_stopped (*stopped)(void *cookie, const struct process *p);
    void *cookie; /* first argument of `stopped` */
};
/* Collects the slices that the flight finishes, and starts the thread. Returns 0 or -errno. */
int spill_start(const struct spill_opts *o, struct spill **ret);
/* Writes the rest of the minute under way and ends the thread. Accepts NULL. Returns NULL. */
struct spill *spill_stop(struct spill *s);
/* Ends the minute if it is over. To be called after samples were drained. Accepts NULL. */
void spill_tick(struct spill *s);

/* Adds @p, which has exited, to the minute under way before discover drops it. @s may be NULL. */
void spill_ended(struct spill *s, struct process *p);

struct spill_stats {
    uint64_t dropped_minutes; /* minutes dropped for want of memory or of room in the queue */
    size_t waiting;
};
/* Copies the counters to *ret. Thread: any. */
void spill_stats(struct spill *s, struct spill_stats *ret);
