/* SPDX-License-Identifier: Apache-2.0 */
#include "base/u64_cache.h"

#include "base/siphash.h"

#define WORD_CACHE_MIN 64

void u64_cache_init(struct u64_cache *c, uint32_t max_entries)
{
    *c = (struct u64_cache){ .max = max_entries, .factor = fingerprint_key_new().k1 | 1 };
}

void u64_cache_deinit(struct u64_cache *c)
{
    free(c->keys);
    free(c->values);
    *c = (struct u64_cache){ .max = c->max, .factor = c->factor };
}

void u64_cache_clear(struct u64_cache *c)
{
    if (c->count)
        memset(c->keys, 0, c->cap * sizeof(*c->keys));
    c->count = 0;
}

static void insert(struct u64_cache *c, uint64_t key, uint32_t value)
{
    uint32_t at = u64_cache_slot(c, key);

    while (c->keys[at] && c->keys[at] != key)
        at = (at + 1) & (c->cap - 1);
    c->count += !c->keys[at];
    c->keys[at] = key;
    c->values[at] = value;
}

static bool grow(struct u64_cache *c)
{
    struct u64_cache more = { .cap = c->cap ? c->cap * 2 : WORD_CACHE_MIN,
                              .max = c->max,
                              .factor = c->factor };

    more.keys = calloc(more.cap, sizeof(*more.keys));
    more.values = malloc(more.cap * sizeof(*more.values));
    if (!more.keys || !more.values) {
        u64_cache_deinit(&more);
        return false;
    }
    for (uint32_t i = 0; i < c->cap; i++) {
        if (c->keys[i])
            insert(&more, c->keys[i], c->values[i]);
    }
    u64_cache_deinit(c);
    *c = more;
    return true;
}

bool u64_cache_put(struct u64_cache *c, uint64_t key, uint32_t value)
{
    bool forgot = false;

    if (!key)
        return false;
    if ((c->count + 1) * 2 > c->cap && (c->cap >= c->max * 2 || !grow(c))) {
        if (!c->cap)
            return false;
        u64_cache_clear(c);
        forgot = true;
    }
    insert(c, key, value);
    return forgot;
}
