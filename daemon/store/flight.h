/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder: the last minutes of the whole node in a fixed amount of memory. It is a ring
 * of slices of 10 s, each with its own record. The oldest slices are dropped by age or memory.
 * Thread: the engine's. Finished profiles are immutable, and any thread may read them.
 */
#pragma once

#include "profile/profile.h"

struct flight;

/* Makes a recorder of samples of @count events (copied), at most PROFILE_EVENTS_MAX. @table is
 * borrowed; samples carry its frame ids. Return: 0 or -ENOMEM. */
int flight_new(const struct frame_table *table, const struct profile_event *events, uint32_t count,
               uint64_t keep_ns, size_t max_bytes, struct flight **ret);
struct flight *flight_free(struct flight *f);

/* Listeners of finished slices. */
enum flight_listener { FLIGHT_TO_RECORDER, FLIGHT_TO_HISTORY, FLIGHT_LISTENERS };
/* Passes each finished slice to @fn from now on, with times of CLOCK_MONOTONIC. @fn borrows the
 * slice. NULL: @who gets none. */
typedef void (*flight_finish_fn)(void *cookie, struct profile *slice);
void flight_on_finish(struct flight *f, enum flight_listener who, flight_finish_fn fn,
                      void *cookie);
/* Finishes the newest slice, so that later samples go to another slice. The slices finished since
 * the last cut belong to the minute of the history that begins at @minute_ns. */
void flight_cut(struct flight *f, uint64_t minute_ns);

/* The process, thread and request of a sample. */
struct flight_origin {
    const struct profile_process *process;
    const struct profile_thread *thread;   /* member `process` is ignored */
    const struct profile_context *request; /* its operation is a string of the table; NULL: none */
};
/* Appends a sample as record_sample() does; s->thread and s->context are ignored. Return: 0 or
 * -errno (counted). */
int flight_sample(struct flight *f, const struct profile_sample *s, struct flight_origin origin,
                  const uint32_t *stack, size_t n);

/* Keeps a moment of @process: m->process is ignored, m->name is a string of the table. Return: 0 or
 * -errno. */
int flight_moment(struct flight *f, const struct profile_moment *m,
                  const struct profile_process *process);

/* Selects slices. */
struct flight_range {
    uint64_t from_ns, to_ns; /* slices with samples in [from, to) of CLOCK_MONOTONIC */
    uint64_t minute_ns; /* leaves out slices that are cut into an earlier minute of the history */
};
/* Gets references to the slices of @range, oldest first; the newest with its samples so far. The
 * caller frees them with flight_parts_free(). Returns 0 or -ENOMEM. */
int flight_parts(struct flight *f, const struct flight_range *range, struct profile ***ret,
                 size_t *ret_count);
void flight_parts_free(struct profile **parts, size_t count);

/* Merges the samples of @parts that @slice selects into a finished profile with times of
 * CLOCK_REALTIME. @meta as for record_finish(). Returns 0 or -ENOMEM. Thread: any. */
int flight_merge(struct profile *const *parts, size_t count, const struct profile_slice *slice,
                 const struct profile *meta, struct profile **ret);

/* Switches to @table: later samples carry its ids. The old table is not used after this returns. */
void flight_use_table(struct flight *f, const struct frame_table *table);

struct flight_stats {
    uint64_t samples, dropped; /* samples of the first event */
    uint64_t slices;
    size_t bytes, max_bytes;
    uint64_t oldest_ns; /* CLOCK_MONOTONIC: all samples since then are kept; 0: no samples */
    uint64_t keep_ns;   /* time span to keep */
    uint64_t short_ns;  /* CLOCK_MONOTONIC: when a limit last cut keep_ns short; 0: never */
};
/* Returns counters and sizes. */
void flight_stats(const struct flight *f, struct flight_stats *ret);
