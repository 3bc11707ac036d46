/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of samples by process, thread pool, event, mode, flags and stack: the content of a part of
 * the history. Names and stacks are ids of one dictionary, so parts are added up without their
 * names. Pure except for the dictionary. Thread: the owner's.
 */
#pragma once

#include "store/dictionary.h"

#define TALLY_ROWS_MAX 2000000u
#define TALLY_WHO_MAX 1000000u
#define TALLY_REQUESTS_MAX 1000000u

/* Keys, so without padding. */
struct tally_thread {
    uint32_t process; /* index */
    uint32_t name;    /* name of the pool; string of the dictionary */
};
struct tally_key {
    uint32_t slot;    /* index of the row's time, which the owner chooses */
    uint32_t node;    /* leaf of the stack; node of the dictionary */
    uint32_t thread;  /* index */
    uint32_t request; /* index */
    uint16_t flags;
    uint8_t event; /* index in events */
    uint8_t mode;
};
/* The operation of a request; the history keeps nothing else of it. A key, so without padding. */
struct tally_request {
    uint32_t state;     /* enum profile_context_state */
    uint32_t operation; /* string of the dictionary */
};
struct tally_value {
    uint64_t count, value;
};

struct tally {
    bool (*wants_event)(void *cookie, const char *name); /* selects events to decode; NULL: all */
    void *cookie;
    struct profile_event events[PROFILE_EVENTS_MAX];
    uint32_t event_count;
    struct id_table processes;  /* struct profile_process with strings of the dictionary */
    struct id_table threads;    /* struct tally_thread */
    struct id_table requests;   /* struct tally_request; the first: no request */
    struct id_table rows;       /* struct tally_key */
    struct tally_value *values; /* [rows.cap] */
    size_t values_cap;
    uint64_t dropped; /* samples omitted for lack of room */
};

void tally_init(struct tally *t);
void tally_deinit(struct tally *t);

/* Returns the index of @e in @t, added if new. Events that differ in period are different events.
 * PROFILE_EVENTS_MAX: no room. */
uint32_t tally_event(struct tally *t, const struct profile_event *e);
/* Gets the index of @request, added if new; 0: the empty request. Returns 0, -ENOSPC or -ENOMEM. */
int tally_add_request(struct tally *t, const struct tally_request *request, uint32_t *ret);
/* Adds to the row of @key. Returns 0, -ENOSPC (counted as dropped) or -ENOMEM. */
int tally_row(struct tally *t, const struct tally_key *key, uint64_t count, uint64_t value);

/* Adds the samples of @p to tallies, and their names and stacks to @e. @pick returns the tally of a
 * process, NULL: none. It sets *ret_merged to drop the pid and thread names. Returns 0, -ENOSPC
 * (the dictionary is full) or -ENOMEM. */
typedef struct tally *(*tally_pick_fn)(void *cookie, const struct profile *p, uint32_t process,
                                       bool *ret_merged);
int tally_add_slice(struct dictionary *e, const struct profile *p, tally_pick_fn pick,
                    void *cookie);

/* Appends @t in its stored form (not compressed). */
void tally_encode(struct tally *t, struct buf *out);
/* Adds the rows that tally_encode() wrote, with slot @slot and processes of @owner with @exec_no.
 * Return: 0; -EBADMSG (rows added so far stay); -ENOSPC: too many rows or events; -ENOMEM. */
int tally_decode(struct tally *t, struct span blob, uint32_t slot, uint32_t owner,
                 uint32_t exec_no);
/* Appends the shortest period and the sums of CPU samples by category, in their stored form.
 * Samples of a longer period count as so many of the shortest one. */
void tally_sums(const struct tally *t, struct buf *out);

/* Makes a finished profile. @slots: the time of each slot, CLOCK_REALTIME. *meta gives the facts
 * except the events. Return: 0; -EBADMSG: ids that @e or @slots lack; -ENOMEM. */
int tally_profile(const struct tally *t, const struct dictionary *e, const uint64_t *slots,
                  size_t slot_count, const struct profile *meta, struct profile **ret);

/* Returns the name of the pool of a thread named @name: "exec-*" for "exec-12". Writes at most n +
 * 1 bytes to @buf. */
struct span tally_pool_name(struct span name, char *buf, size_t size);
