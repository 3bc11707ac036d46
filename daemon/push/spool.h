/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for one target, in files of a folder of the store: a file is a body as it is sent. The
 * oldest go where the bounds of bytes or age are reached. Where the folder cannot be written, a
 * little is kept in memory. Thread: one.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define SPOOL_ENTRIES_MAX 16384
#define SPOOL_BODY_MAX ((size_t)8 << 20)
#define SPOOL_MEMORY_BYTES ((uint64_t)4 << 20) /* of bodies that could not be written */

enum spool_loss {
    SPOOL_TOO_OLD,
    SPOOL_TOO_MUCH, /* bytes or bodies */
    SPOOL_UNREADABLE,
    SPOOL_LOSSES
};

struct spool_opts {
    int store_fd;     /* the folder in which it makes its own; borrowed for the call; -1: none */
    const char *name; /* of the target: [a-z0-9-] */
    const char *kind; /* of the bodies: files of another kind are dropped */
    uint64_t max_bytes, max_age_ns;
};

struct spool_stats {
    uint64_t bodies, bytes, minutes; /* that wait; minutes: different begins */
    uint64_t oldest_ns;              /* CLOCK_REALTIME of the oldest begin; 0: nothing waits */
    uint64_t lost[SPOOL_LOSSES];     /* bodies */
    bool in_memory;                  /* the last one could not be written */
};

struct spool;

/* Opens the spool with what an earlier flamed left there. 0 or -ENOMEM. */
int spool_open(const struct spool_opts *o, struct spool **ret);
/* Keeps the files. NULL is fine. Returns NULL. */
struct spool *spool_close(struct spool *s);
/* Adds @body, of the time that begins at @begin_ns (CLOCK_REALTIME). 0; -EFBIG or -ENOMEM: it is
 * lost, and counted. */
int spool_add(struct spool *s, uint64_t begin_ns, struct span body);
/* Notes that all times before @begin_ns are done with. A disk that fails is no error. spool_next()
 * returns what was noted last, by an earlier flamed, too; 0: nothing was. */
void spool_set_next(struct spool *s, uint64_t begin_ns);
uint64_t spool_next(const struct spool *s);
/* Returns the begin of the newest body; 0: nothing waits. */
uint64_t spool_newest(const struct spool *s);
/* Drops what is older than its bound at @now_ns (CLOCK_REALTIME). */
void spool_expire(struct spool *s, uint64_t now_ns);
/* Reads the oldest body into @ret, and its number, which no other body of @s has. False: there is
 * none. */
bool spool_first(struct spool *s, struct buf *ret, uint64_t *ret_number);
/* Removes the body @number, which was sent or is given up. Nothing happens if a bound has dropped
 * it: then the loss is counted already. */
void spool_remove(struct spool *s, uint64_t number);
/* Returns whether nothing waits. */
bool spool_is_empty(const struct spool *s);
void spool_stats(const struct spool *s, struct spool_stats *ret);
