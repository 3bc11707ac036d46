/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A limited amount that owners share: bytes, places of a queue. A quarter of it is reserved for
 * owners that have little. Of the rest each owner may take twice as much as it leaves free. So one
 * owner alone gets half of all, and two owners get three tenths each. The next owner always gets
 * some. Several amounts may be parts of a whole that is less than their sum. Use of a part then
 * counts in the whole, too. Thread: the holder's.
 */
#pragma once

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>

/* Counters for owners. Owners with the same counter have one share together. The seed makes it
 * unpredictable which two owners share a counter. */
#define SHARES_PLACES 1024
#define SHARES_OF_REST 2 /* an owner may take this many times what it leaves free */
#define SHARES_LITTLE 64 /* each owner is sure of one part in this many of all */
#define SHARES_MODEST 6  /* used by shares_room_lasting(): one part in this many */
#define SHARES_SHORT 8   /* used by shares_room_short(): one part in this many of a whole */

/* The owner of everything that has no known owner. It gets only the small reserved share. */
#define OWNER_FOREIGN UINT64_MAX

struct shares {
    uint64_t max, used;
    uint64_t seed;
    uint64_t refused;     /* times that an owner asked for more than its share */
    struct shares *whole; /* the amount that this is a part of; borrowed; NULL: none */
    uint64_t of[SHARES_PLACES];
};

void shares_init(struct shares *s, uint64_t max);
/* Initialises a part of @whole; NULL: of nothing. */
void shares_init_part(struct shares *s, uint64_t max, struct shares *whole);
/* Subtracts all that @s has given out from its whole. */
void shares_leave(struct shares *s);
/* Adds all that @s has given out to @whole again. @whole is the one of shares_init_part(). */
void shares_rejoin(struct shares *s, struct shares *whole);
/* Returns how much more @owner, a result of proc_owner(), may take. */
uint64_t shares_room(const struct shares *s, uint64_t owner);
/* Returns how much more @owner may take for long: up to half of all. From the last quarter an owner
 * gets only as much as brings it to a sixth of all. */
uint64_t shares_room_lasting(const struct shares *s, uint64_t owner);
/* Does shares_room_lasting() without the limit of the whole. */
uint64_t shares_room_of_part(const struct shares *s, uint64_t owner);
/* Returns how much more @owner may take for a short time. @s may use all that is free in the whole
 * but for an eighth of it. While lasting amounts stay within their own limit, @s can always use
 * that eighth. */
uint64_t shares_room_short(const struct shares *s, uint64_t owner);
/* Takes @n for @owner. Returns false, and counts in `refused`, if its share has no room for
 * them. */
bool shares_take(struct shares *s, uint64_t owner, uint64_t n);
/* Takes @n for @owner, even beyond its share. */
void shares_force(struct shares *s, uint64_t owner, uint64_t n);
/* Gives back @n that @owner took. Giving back more than was taken is a bug: it aborts a test, and
 * flamed counts it. */
void shares_give(struct shares *s, uint64_t owner, uint64_t n);
/* Returns how often an owner gave back more than it had taken, in all shares. Thread: any. */
uint64_t shares_miscounted(void);
/* Returns how much @owner has taken. */
uint64_t shares_used(const struct shares *s, uint64_t owner);
/* Returns the level that limits owners so that all of them together have @max. An owner below the
 * level keeps everything. UINT64_MAX: no owner needs a limit. */
uint64_t shares_level(const struct shares *s, uint64_t max);
