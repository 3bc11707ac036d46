/* SPDX-License-Identifier: Apache-2.0 */
#include "base/intern.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory_guard.h"
#include "base/siphash.h"

/* A chunk is as large as all earlier chunks together, so that the many small tables stay small. */
#define INTERN_CHUNK_MIN ((size_t)4 << 10)
#define INTERN_CHUNK_MAX ((size_t)256 << 10)

/* Bytes live in chunks that never move, so that spans stay valid while strings are added. */
struct intern_chunk {
    struct intern_chunk *next;
    size_t used, cap;
    char bytes[];
};

struct intern_entry {
    const char *p;
    uint32_t n, hash;
};

struct intern {
    struct intern_chunk *chunks;
    struct intern_entry *entries; /* [count], id is the index */
    uint32_t *slots;              /* [slot_count], id + 1, 0: free */
    uint32_t count, cap, slot_count;
    size_t bytes, max_bytes;
    size_t chunk_bytes; /* memory of all chunks */
    struct fingerprint_key key;
};

/* Returns a keyed hash: strings are foreign, and must not be able to choose their slots. */
static uint32_t intern_hash(const struct intern *t, struct span s)
{
    uint64_t h = fingerprint(&t->key, s);

    return (uint32_t)(h ^ h >> 32);
}

int intern_new(size_t max_bytes, struct intern **ret)
{
    struct intern *t = calloc(1, sizeof(*t));
    uint32_t id;
    int r;

    if (!t)
        return -ENOMEM;
    t->max_bytes = max_bytes;
    t->key = fingerprint_key_new();
    r = intern_add(t, SPAN(""), &id);
    if (r < 0) {
        intern_free(t);
        return r;
    }
    *ret = t;
    return 0;
}

struct intern *intern_free(struct intern *t)
{
    if (!t)
        return NULL;
    while (t->chunks) {
        struct intern_chunk *c = t->chunks;

        t->chunks = c->next;
        free(c);
    }
    free(t->entries);
    free(t->slots);
    free(t);
    return NULL;
}

static int intern_grow(struct intern *t)
{
    if (t->count == t->cap) {
        uint32_t cap = array_next(t->cap, 256);
        struct intern_entry *e = memory_guard_admits((cap - t->cap) * sizeof(*e))
                                     ? realloc(t->entries, cap * sizeof(*e))
                                     : NULL;

        if (!e)
            return -ENOMEM;
        t->entries = e;
        t->cap = cap;
    }
    if (t->count * 2 >= t->slot_count) {
        uint32_t slot_count = t->slot_count ? t->slot_count * 2 : 512;
        uint32_t *slots = memory_guard_admits(slot_count * sizeof(*slots))
                              ? calloc(slot_count, sizeof(*slots))
                              : NULL;

        if (!slots)
            return -ENOMEM;
        for (uint32_t id = 0; id < t->count; id++) {
            uint32_t at = t->entries[id].hash & (slot_count - 1);

            while (slots[at])
                at = (at + 1) & (slot_count - 1);
            slots[at] = id + 1;
        }
        free(t->slots);
        t->slots = slots;
        t->slot_count = slot_count;
    }
    return 0;
}

static int intern_copy(struct intern *t, struct span s, const char **ret)
{
    struct intern_chunk *c = t->chunks;
    char *p;

    if (!c || c->cap - c->used < s.n + 1) {
        size_t cap = MIN(MAX(t->chunk_bytes, INTERN_CHUNK_MIN), INTERN_CHUNK_MAX);

        cap = MAX(cap, s.n + 1);
        c = memory_guard_admits(cap) ? malloc(sizeof(*c) + cap) : NULL;
        if (!c)
            return -ENOMEM;
        *c = (struct intern_chunk){ .next = t->chunks, .cap = cap };
        t->chunks = c;
        t->chunk_bytes += sizeof(*c) + cap;
    }
    p = c->bytes + c->used;
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    c->used += s.n + 1;
    *ret = p;
    return 0;
}

/* Returns the slot of @s, or the free slot where it belongs. The table always has a free slot. */
static uint32_t intern_slot(const struct intern *t, struct span s, uint32_t hash)
{
    uint32_t at = hash & (t->slot_count - 1);

    for (; t->slots[at]; at = (at + 1) & (t->slot_count - 1)) {
        const struct intern_entry *e = &t->entries[t->slots[at] - 1];

        if (e->hash == hash && span_eq((struct span){ e->p, e->n }, s))
            break;
    }
    return at;
}

bool intern_find(const struct intern *t, struct span s, uint32_t *ret)
{
    uint32_t at = intern_slot(t, s, intern_hash(t, s));

    if (t->slots[at])
        *ret = t->slots[at] - 1;
    return t->slots[at];
}

int intern_add(struct intern *t, struct span s, uint32_t *ret)
{
    uint32_t hash = intern_hash(t, s), at;
    const char *p;
    int r;

    r = intern_grow(t);
    if (r < 0)
        return r;
    at = intern_slot(t, s, hash);
    if (t->slots[at]) {
        *ret = t->slots[at] - 1;
        return 0;
    }
    if (s.n > UINT32_MAX || s.n + 1 > t->max_bytes - MIN(t->bytes, t->max_bytes))
        return -ENOSPC;
    r = intern_copy(t, s, &p);
    if (r < 0)
        return r;
    t->entries[t->count] = (struct intern_entry){ p, (uint32_t)s.n, hash };
    t->slots[at] = t->count + 1;
    t->bytes += s.n + 1;
    *ret = t->count++;
    return 0;
}

struct span intern_get(const struct intern *t, uint32_t id)
{
    if (id >= t->count)
        return SPAN("");
    return (struct span){ t->entries[id].p, t->entries[id].n };
}

uint32_t intern_count(const struct intern *t)
{
    return t->count;
}

size_t intern_bytes(const struct intern *t)
{
    return t->chunk_bytes + (size_t)t->cap * sizeof(*t->entries) +
           (size_t)t->slot_count * sizeof(*t->slots);
}
