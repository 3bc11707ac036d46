/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes slices of the flight recorder into the history. They are collected as they finish. When a
 * minute of the wall clock ends, a thread writes it. The engine never waits for the disk.
 * Thread: the engine's, unless a function says other.
 */
#pragma once

#include "discover/discover.h"
#include "profile/service_counters.h"
#include "store/flight.h"
#include "store/history.h"

/* Minutes that wait for a disk. Beyond that, the oldest is dropped, and counted. */
#define SPILL_WAITING_MAX 5

struct spill;

struct spill_opts {
    struct history *history; /* all borrowed */
    struct flight *flight;
    struct discover *discover;
    struct service_counters *counters; /* get what was written; NULL: none */
};
/* Takes the slices of the flight, which are the history's from then on, and starts the thread. 0 or
 * -errno. */
int spill_start(const struct spill_opts *o, struct spill **ret);
/* Writes what is left of the minute under way, and ends the thread. NULL is fine. Returns NULL. */
struct spill *spill_stop(struct spill *s);
/* Ends the minute if it is over. To be called after samples were drained. NULL is fine. */
void spill_tick(struct spill *s, uint64_t now_ns);

/* Notes when @p, which has exited, did so, before it is forgotten. @s may be NULL. */
void spill_ended(struct spill *s, struct process *p);

struct spill_stats {
    uint64_t dropped_minutes; /* no room for them, or not written in time */
    size_t waiting;
};
/* Gives its counters. Thread: any. */
void spill_stats(struct spill *s, struct spill_stats *ret);
