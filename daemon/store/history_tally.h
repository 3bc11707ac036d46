/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of samples by process, thread pool, event, mode, flags and stack: what a part of the history
 * holds. Names and stacks are ids of one dictionary, so that parts add up without names. Pure but
 * for the dictionary. Thread: the owner's.
 */
#pragma once

#include "store/dictionary.h"

#define TALLY_ROWS_MAX 2000000u
#define TALLY_WHO_MAX 1000000u
#define TALLY_REQUESTS_MAX 1000000u

/* No padding: keys. */
struct tally_thread {
    uint32_t process; /* index */
    uint32_t name;    /* string of the dictionary: of the pool */
};
struct tally_key {
    uint32_t slot;    /* which part of time: number that the owner chooses */
    uint32_t node;    /* the leaf's, of the dictionary */
    uint32_t thread;  /* index */
    uint32_t request; /* index */
    uint16_t flags;
    uint8_t event; /* index in events */
    uint8_t mode;
};
/* What is kept of a request: its operation. No padding: a key. */
struct tally_request {
    uint32_t state;     /* enum profile_context_state */
    uint32_t operation; /* string of the dictionary */
};
struct tally_value {
    uint64_t count, value;
};

struct tally {
    bool (*wants_event)(void *cookie, const char *name); /* of those decoded; NULL: all */
    void *cookie;
    struct profile_event events[PROFILE_EVENTS_MAX];
    uint32_t event_count;
    struct id_table processes;  /* struct profile_process with strings of the dictionary */
    struct id_table threads;    /* struct tally_thread */
    struct id_table requests;   /* struct tally_request; the first: of samples without */
    struct id_table rows;       /* struct tally_key */
    struct tally_value *values; /* [rows.cap] */
    size_t values_cap;
    uint64_t dropped; /* samples for which there was no room */
};

void tally_init(struct tally *t);
void tally_deinit(struct tally *t);

/* Adds samples of a slice to the tallies that @pick chooses by process; NULL: none. @e gets its
 * names and stacks. 0; -ENOSPC (the dictionary is full), -ENOMEM. */
typedef struct tally *(*tally_pick_fn)(void *cookie, const struct profile *p, uint32_t process,
                                       bool *ret_merged);
int tally_add_slice(struct dictionary *e, const struct profile *p, tally_pick_fn pick,
                    void *cookie);

/* Appends @t as bytes (not compressed). */
void tally_encode(struct tally *t, struct buf *out);
/* Adds what tally_encode() wrote, as of @slot and of processes of @owner. 0; -EBADMSG (what was
 * added so far stays); -ENOSPC: too much, or other events; -ENOMEM. */
int tally_decode(struct tally *t, struct span blob, uint32_t slot, uint32_t owner);
/* Sums of CPU samples by category, and the period, as bytes. */
void tally_sums(const struct tally *t, struct buf *out);

/* Makes a finished profile. @slots: the time of each slot, CLOCK_REALTIME. Facts come from *meta,
 * but for its events. 0; -EBADMSG: ids that @e has not; -ENOMEM. */
int tally_profile(const struct tally *t, const struct dictionary *e, const uint64_t *slots,
                  size_t slot_count, const struct profile *meta, struct profile **ret);

/* Gets the name of the pool that a thread named @name is of: "exec-12" gives "exec-*". Writes at
 * most n + 1 bytes. */
struct span tally_pool_name(struct span name, char *buf, size_t size);
