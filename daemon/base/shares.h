/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something limited that owners share: bytes, places of a queue. A quarter of it is for owners that
 * have a little. Of the rest each may have twice as much as is left of it. So one alone gets half
 * of all, and two get three tenths each. There is always something for the next owner. Thread: the
 * holder's.
 */
#pragma once

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>

/* Places for owners. Two owners in one place have one share; which two, nobody outside can know. */
#define SHARES_PLACES 1024
#define SHARES_OF_REST 2 /* so many times what is left is one owner's */
#define SHARES_LITTLE 64 /* one part in so many of all is a little */
#define SHARES_MODEST 6  /* one part in so many: see shares_room_lasting() */

/* The owner of what cannot be told whose it is. It gets a little, and no more. */
#define OWNER_FOREIGN UINT64_MAX

struct shares {
    uint64_t max, used;
    uint64_t seed;
    uint64_t refused; /* times that an owner wanted more than its share */
    uint64_t of[SHARES_PLACES];
};

void shares_init(struct shares *s, uint64_t max);
/* Returns how much more @owner may take. @owner: as by proc_owner(). */
uint64_t shares_room(const struct shares *s, uint64_t owner);
/* Returns the same of what is not given back soon: up to half of all. Of the last quarter an owner
 * gets only what makes it a sixth. */
uint64_t shares_room_lasting(const struct shares *s, uint64_t owner);
/* Takes @n for @owner. False, and refused is one more: it has no room for them. */
bool shares_take(struct shares *s, uint64_t owner, uint64_t n);
/* Takes @n for @owner, room or not. */
void shares_force(struct shares *s, uint64_t owner, uint64_t n);
/* Gives back what was taken for @owner. To give back more is a fault of flamed: it ends a test, and
 * is counted elsewhere. */
void shares_give(struct shares *s, uint64_t owner, uint64_t n);
/* Counts such faults, of all. Thread: any. */
uint64_t shares_miscounted(void);
/* Returns what @owner has. */
uint64_t shares_used(const struct shares *s, uint64_t owner);
/* Returns the most that each owner may keep of what it has, if all of them shall have @max: who has
 * less keeps it all. UINT64_MAX: everybody does. */
uint64_t shares_level(const struct shares *s, uint64_t max);
