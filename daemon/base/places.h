/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of a table, such as the one of watched JVMs, shared by owners. One owner may have all
 * of them. When no place is left, owners with fewer places take some of it, one by one. Zero is an
 * empty struct. Thread: the table's.
 */
#pragma once

#include "base/shares.h"

#include <stddef.h>

struct places {
    struct shares shares;
    uint64_t most; /* no owner has more than this */
};

/* Note that @owner (proc_owner()) has taken a place, and has given one back. */
void places_take(struct places *p, uint64_t owner);
void places_give(struct places *p, uint64_t owner);
/* Returns which of @n taken places @owner may take: the last one of the owner that has most. That
 * owner keeps at least as many as @owner has then. Returns @n if there is none. @owner_of: returns
 * the owner of place @i of @table; 0: it must stay. */
size_t places_find(struct places *p, uint64_t owner, size_t n,
                   uint64_t (*owner_of)(const void *table, size_t i), const void *table);
