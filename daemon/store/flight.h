/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder: the last minutes of the whole node in a fixed amount of memory. A ring of
 * slices of 10 s, each a record of its own; the oldest go when time or memory runs out. Thread: the
 * engine's; finished profiles it hands out are immutable and may go anywhere.
 */
#pragma once

#include "profile/profile.h"

struct flight;

/* Makes a recorder of samples of @count events (copied), at most PROFILE_EVENTS_MAX. @table is
 * borrowed; samples carry its frame ids. Return: 0 or -ENOMEM. */
int flight_new(const struct frame_table *table, const struct profile_event *events, uint32_t count,
               uint64_t keep_ns, size_t max_bytes, struct flight **ret);
struct flight *flight_free(struct flight *f);

/* Who gets slices. */
enum flight_listener { FLIGHT_TO_RECORDER, FLIGHT_TO_HISTORY, FLIGHT_LISTENERS };
/* From now on @fn gets each slice that has finished, with times of CLOCK_MONOTONIC; it borrows it.
 * NULL: @who does not. */
typedef void (*flight_finish_fn)(void *cookie, struct profile *slice);
void flight_on_finish(struct flight *f, enum flight_listener who, flight_finish_fn fn,
                      void *cookie);
/* Finishes the newest slice: samples from here on are of another. What has finished since the last
 * cut is of the minute of the history that begins at @minute_ns. */
void flight_cut(struct flight *f, uint64_t minute_ns);

/* Whose a sample is. */
struct flight_origin {
    const struct profile_process *process;
    const struct profile_thread *thread;   /* its process is not looked at */
    const struct profile_context *request; /* its operation is a string of the table; NULL: none */
};
/* Appends a sample as record_sample() does: s->thread and s->context are not looked at. Return: 0
 * or -errno (counted). */
int flight_sample(struct flight *f, const struct profile_sample *s, struct flight_origin origin,
                  const uint32_t *stack, size_t n);

/* Keeps what @process did as a whole: m->process is not looked at, m->name is of the table. Return:
 * 0 or -errno. */
int flight_moment(struct flight *f, const struct profile_moment *m,
                  const struct profile_process *process);

/* Which slices are wanted. */
struct flight_range {
    uint64_t from_ns, to_ns; /* those that have samples in [from, to) of CLOCK_MONOTONIC */
    uint64_t minute_ns;      /* and that were not cut into an earlier minute of the history */
};
/* References to the slices of @range, oldest first; the newest as far as it is. The caller frees
 * them. 0 or -ENOMEM. */
int flight_parts(struct flight *f, const struct flight_range *range, struct profile ***ret,
                 size_t *ret_count);
void flight_parts_free(struct profile **parts, size_t count);

/* Gets the samples of such slices that @slice wants, as a finished profile (its times are
 * CLOCK_REALTIME). @meta as for record_finish(). 0 or -ENOMEM. Thread: any. */
int flight_merge(struct profile *const *parts, size_t count, const struct profile_slice *slice,
                 const struct profile *meta, struct profile **ret);

/* From now on samples carry ids of @table; the old one is not used any more when this returns. */
void flight_use_table(struct flight *f, const struct frame_table *table);

struct flight_stats {
    uint64_t samples, dropped; /* of its first event */
    uint64_t slices;
    size_t bytes, max_bytes;
    uint64_t oldest_ns; /* CLOCK_MONOTONIC: all samples since then are kept; 0: there are none */
    uint64_t keep_ns;   /* how far back it is to reach */
    uint64_t short_ns;  /* CLOCK_MONOTONIC, when it last had no memory for that; 0: never */
};
/* Gives its counters and sizes. */
void flight_stats(const struct flight *f, struct flight_stats *ret);
