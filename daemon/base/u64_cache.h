/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small hash map from non-zero 64-bit keys to 32-bit values, for the path of each sample. It
 * grows up to a limit, then drops all entries and starts again: that bounds memory without
 * bookkeeping.
 * Thread: the owner's.
 */
#pragma once

#include "base/macros.h"

struct u64_cache {
    uint64_t *keys; /* owned, [cap]; 0: free */
    uint32_t *values;
    uint64_t factor; /* odd, and random in each process: foreign keys must not choose their slots */
    uint32_t count, cap, max; /* cap is a power of two, 0 before the first put */
};

/* Initialises an empty cache. @max_entries: a power of two, at least 64. */
void u64_cache_init(struct u64_cache *c, uint32_t max_entries);
void u64_cache_deinit(struct u64_cache *c);
void u64_cache_clear(struct u64_cache *c); /* empties the cache but keeps its memory */
/* Stores @value; does nothing if memory is short. Returns true if the cache was full and dropped
 * all other entries. */
bool u64_cache_put(struct u64_cache *c, uint64_t key, uint32_t value);

/* Returns the slot of @key, or the free slot where @key belongs. After one multiplication, keys
 * with equal distances would have slots with equal distances, which may be small: hence two. */
static inline uint32_t u64_cache_slot(const struct u64_cache *c, uint64_t key)
{
    uint64_t mixed = (key ^ key >> 32) * c->factor;

    mixed = (mixed ^ mixed >> 32) * c->factor;
    return (uint32_t)(mixed >> (64 - __builtin_ctz(c->cap)));
}

/* Gets the value of @key. Returns false if there is none. */
static inline bool u64_cache_get(const struct u64_cache *c, uint64_t key, uint32_t *ret)
{
    if (!c->cap)
        return false;
    for (uint32_t at = u64_cache_slot(c, key); c->keys[at]; at = (at + 1) & (c->cap - 1)) {
        if (c->keys[at] == key) {
            *ret = c->values[at];
            return true;
        }
    }
    return false;
}
