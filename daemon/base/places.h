/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of a table, such as those of JVMs that are watched. One owner may have all of them. Where
 * none is left, it gives them up, one by one, to owners that have fewer. Zero is an empty one.
 * Thread: the table's.
 */
#pragma once

#include "base/shares.h"

#include <stddef.h>

struct places {
    struct shares shares;
    uint64_t most; /* no owner has more than so many */
};

/* Notes that a place is @owner's (proc_owner()); and that it is so no more. */
void places_take(struct places *p, uint64_t owner);
void places_give(struct places *p, uint64_t owner);
/* Returns which of @n places, all taken, gives way to one more of @owner's: the last one of whom
 * has most. That owner keeps no fewer than @owner has then. @n: none does. @owner_of: whose place
 * @i of @table is; 0: it must stay. */
size_t places_find(struct places *p, uint64_t owner, size_t n,
                   uint64_t (*owner_of)(const void *table, size_t i), const void *table);
