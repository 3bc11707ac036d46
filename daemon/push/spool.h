/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies that wait for one target, as files in a folder of the store. Each file has exactly the
 * bytes that are sent. At the limit of bytes or of age the oldest bodies are dropped. If the folder
 * cannot be written, a little is kept in memory. Thread: one.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define SPOOL_ENTRIES_MAX 16384
#define SPOOL_BODY_MAX ((size_t)8 << 20)
#define SPOOL_MEMORY_BYTES ((uint64_t)4 << 20) /* limit of bodies that could not be written */

enum spool_loss {
    SPOOL_TOO_OLD,
    SPOOL_TOO_MUCH, /* too many bytes or bodies */
    SPOOL_UNREADABLE,
    SPOOL_LOSSES
};

struct spool_opts {
    int store_fd; /* the folder in which the spool makes its own; borrowed for the call; -1: none */
    const char *name; /* name of the target: [a-z0-9-] */
    const char *kind; /* suffix of bodies; files of another kind are dropped */
    uint64_t max_bytes, max_age_ns;
};

struct spool_stats {
    uint64_t bodies, bytes, minutes; /* waiting; minutes: number of different begins */
    uint64_t oldest_ns;              /* CLOCK_REALTIME, begin of the oldest body; 0: none waits */
    uint64_t lost[SPOOL_LOSSES];     /* bodies lost, by reason */
    bool in_memory;                  /* the last body could not be written */
};

struct spool;

/* Opens the spool, with the bodies that an earlier flamed left. Returns 0 or -ENOMEM. */
int spool_open(const struct spool_opts *o, struct spool **ret);
/* Closes the spool and keeps the files. Accepts NULL. Returns NULL. */
struct spool *spool_close(struct spool *s);
/* Adds @body, of the time that begins at @begin_ns (CLOCK_REALTIME). Returns 0. After -EFBIG or
 * -ENOMEM the body is lost and counted. */
int spool_add(struct spool *s, uint64_t begin_ns, struct span body);
/* Stores that all times before @begin_ns are done. Errors of the disk are ignored. spool_next()
 * returns the last stored time, even that of an earlier flamed; 0: none. */
void spool_set_next(struct spool *s, uint64_t begin_ns);
uint64_t spool_next(const struct spool *s);
/* Returns the begin of the newest body; 0: no body waits. */
uint64_t spool_newest(const struct spool *s);
/* Drops bodies that are over the age limit at @now_ns (CLOCK_REALTIME). */
void spool_expire(struct spool *s, uint64_t now_ns);
/* Reads the oldest body into @ret, and its number, which is unique in @s. Returns false if no body
 * waits, or if it cannot be read now. A body that stays unreadable is lost and counted. */
bool spool_first(struct spool *s, struct buf *ret, uint64_t *ret_number);
/* Removes the body @number, which was sent or given up. Does nothing if a limit has already dropped
 * the body, because that loss is counted. */
void spool_remove(struct spool *s, uint64_t number);
/* Returns true if no body waits. */
bool spool_is_empty(const struct spool *s);
void spool_stats(const struct spool *s, struct spool_stats *ret);
