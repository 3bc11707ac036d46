/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of a table, such as the one of watched JVMs, shared by owners. One owner may have all
 * of them. When no place is free, owners with fewer places take places over, one by one. A zeroed
 * struct is empty. Thread: the table's.
 */
#pragma once

#include "base/shares.h"

#include <stddef.h>

struct places {
    struct shares shares;
    uint64_t most; /* no owner has more places than this */
};

/* Record that @owner (proc_owner()) has taken a place, or has given one back. */
void places_take(struct places *p, uint64_t owner);
void places_give(struct places *p, uint64_t owner);
/* Returns which of @n taken places @owner may take over: the last place of the owner with the most.
 * That owner then still has at least as many places as @owner. Returns @n if there is no such
 * place. @owner_of: returns the owner of place @i of @table; 0: that place must stay. */
size_t places_find(struct places *p, uint64_t owner, size_t n,
                   uint64_t (*owner_of)(const void *table, size_t i), const void *table);
