/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A limited amount that owners share: bytes, places of a queue. A quarter of it is reserved for
 * owners that have little. Of the rest each owner may take twice as much as it leaves free. So one
 * owner alone gets half of all, and two get three tenths each. The next owner always finds some.
 * Several amounts may be parts of a whole with less than their sum: each then counts in it, too.
 * Thread: the holder's.
 */
#pragma once

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>

/* Counters for owners. Two owners with the same counter share one share. The seed makes it
 * unpredictable which two owners share a counter. */
#define SHARES_PLACES 1024
#define SHARES_OF_REST 2 /* an owner may take this many times what it leaves free */
#define SHARES_LITTLE 64 /* one part in this many of all is reserved for each owner */
#define SHARES_MODEST 6  /* one part in this many: see shares_room_lasting() */
#define SHARES_SHORT 8   /* one part in this many of a whole: see shares_room_short() */

/* The owner of everything that has no known owner. It gets only the reserved little. */
#define OWNER_FOREIGN UINT64_MAX

struct shares {
    uint64_t max, used;
    uint64_t seed;
    uint64_t refused;     /* times that an owner wanted more than its share */
    struct shares *whole; /* borrowed: what this is a part of; NULL: of nothing */
    uint64_t of[SHARES_PLACES];
};

void shares_init(struct shares *s, uint64_t max);
/* Does the same for a part of @whole; NULL: of nothing. */
void shares_init_part(struct shares *s, uint64_t max, struct shares *whole);
/* Takes all of @s out of its whole. */
void shares_leave(struct shares *s);
/* Adds all of @s to the whole @whole, which it was a part of at shares_init_part(). */
void shares_rejoin(struct shares *s, struct shares *whole);
/* Returns how much more @owner, a result of proc_owner(), may take. */
uint64_t shares_room(const struct shares *s, uint64_t owner);
/* Returns how much more @owner may take for long: up to half of all. Of the last quarter an owner
 * gets only what it lacks to a sixth of all. */
uint64_t shares_room_lasting(const struct shares *s, uint64_t owner);
/* Does the same, but does not look at the whole. */
uint64_t shares_room_of_part(const struct shares *s, uint64_t owner);
/* Returns how much more @owner may take for a short time. All of @s may take what is free in the
 * whole but for an eighth. An eighth is always free for it if what lasts keeps to the rest. */
uint64_t shares_room_short(const struct shares *s, uint64_t owner);
/* Takes @n for @owner. Returns false, and counts in `refused`, if its share has no room for
 * them. */
bool shares_take(struct shares *s, uint64_t owner, uint64_t n);
/* Takes @n for @owner, even beyond its share. */
void shares_force(struct shares *s, uint64_t owner, uint64_t n);
/* Gives back @n that @owner took. To give back more than was taken is a bug: it aborts a test, and
 * flamed counts it. */
void shares_give(struct shares *s, uint64_t owner, uint64_t n);
/* Returns how often more was given back than was taken, in all shares. Thread: any. */
uint64_t shares_miscounted(void);
/* Returns what @owner has. */
uint64_t shares_used(const struct shares *s, uint64_t owner);
/* Returns the level to which owners have to be cut, so that all of them together have @max: an
 * owner with less keeps all. UINT64_MAX: no owner has to be cut. */
uint64_t shares_level(const struct shares *s, uint64_t max);
