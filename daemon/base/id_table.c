/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_table.h"

#include "base/array.h"
#include "base/fnv1a.h"
#include "base/memory_guard.h"
#include "base/siphash.h"

void id_table_init(struct id_table *t, size_t record_size, uint32_t max)
{
    *t = (struct id_table){ .size = record_size, .max = max, .key = fingerprint_key_new().k0 };
}

void id_table_deinit(struct id_table *t)
{
    free(t->records);
    free(t->slots);
    id_table_init(t, t->size, t->max);
}

static uint32_t id_table_hash(const struct id_table *t, const void *record)
{
    const unsigned char *p = record;
    size_t n = t->size;
    uint64_t h = t->key ^ n;

    while (n >= 4) {
        uint32_t word;

        memcpy(&word, p, sizeof(word));
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
        p += 4;
        n -= 4;
    }
    h = fnv1a(h, p, n);
    return (uint32_t)(h ^ h >> 29);
}

/* Returns the slot of @record, or the free slot where it belongs. */
static uint32_t id_table_slot(const struct id_table *t, const void *record, uint32_t hash)
{
    uint32_t at = hash & (t->slot_count - 1);

    while (t->slots[at].id_and_1 &&
           (t->slots[at].hash != hash ||
            memcmp(id_table_get(t, t->slots[at].id_and_1 - 1), record, t->size) != 0))
        at = (at + 1) & (t->slot_count - 1);
    return at;
}

static int id_table_grow_records(struct id_table *t)
{
    uint32_t cap = array_next(t->cap, 64);
    char *records = memory_guard_admits((size_t)(cap - t->cap) * t->size)
                        ? realloc(t->records, (size_t)cap * t->size)
                        : NULL;

    if (!records)
        return -ENOMEM;
    t->records = records;
    t->cap = cap;
    return 0;
}

static int id_table_grow_slots(struct id_table *t)
{
    uint32_t count = t->slot_count ? t->slot_count * 2 : 128;
    struct id_slot *slots =
        memory_guard_admits(count * sizeof(*slots)) ? calloc(count, sizeof(*slots)) : NULL;

    if (!slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->slot_count; i++) {
        uint32_t at = t->slots[i].hash & (count - 1);

        if (!t->slots[i].id_and_1)
            continue;
        while (slots[at].id_and_1)
            at = (at + 1) & (count - 1);
        slots[at] = t->slots[i];
    }
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    return 0;
}

int id_table_add(struct id_table *t, const void *record, uint32_t *ret)
{
    uint32_t hash = id_table_hash(t, record), at = 0;
    int r = 0;

    if (t->slot_count) {
        at = id_table_slot(t, record, hash);
        if (t->slots[at].id_and_1) {
            *ret = t->slots[at].id_and_1 - 1;
            return 0;
        }
    }
    if (t->count >= t->max)
        return -ENOSPC;
    if (t->count == t->cap)
        r = id_table_grow_records(t);
    if (r == 0 && t->count >= t->slot_count / 4 * 3) {
        r = id_table_grow_slots(t);
        if (r == 0)
            at = id_table_slot(t, record, hash);
    }
    if (r < 0)
        return r;
    memcpy(t->records + (size_t)t->count * t->size, record, t->size);
    *ret = t->count++;
    t->slots[at] = (struct id_slot){ *ret + 1, hash };
    return 1;
}

bool id_table_find(const struct id_table *t, const void *record, uint32_t *ret)
{
    uint32_t at;

    if (!t->slots)
        return false;
    at = id_table_slot(t, record, id_table_hash(t, record));
    if (!t->slots[at].id_and_1)
        return false;
    *ret = t->slots[at].id_and_1 - 1;
    return true;
}

void id_table_rehash(struct id_table *t)
{
    if (!t->slots)
        return;
    memset(t->slots, 0, (size_t)t->slot_count * sizeof(*t->slots));
    for (uint32_t id = 0; id < t->count; id++) {
        uint32_t hash = id_table_hash(t, id_table_get(t, id));

        t->slots[id_table_slot(t, id_table_get(t, id), hash)] = (struct id_slot){ id + 1, hash };
    }
}

void id_table_seal(struct id_table *t)
{
    char *records = t->count ? realloc(t->records, (size_t)t->count * t->size) : NULL;

    if (records) {
        t->records = records;
        t->cap = t->count;
    }
    free(t->slots);
    t->slots = NULL;
    t->slot_count = 0;
    t->max = t->count;
}

void *id_table_take(struct id_table *t)
{
    void *records = TAKE_PTR(t->records);

    id_table_deinit(t);
    return records;
}

size_t id_table_bytes(const struct id_table *t)
{
    return (size_t)t->cap * t->size + (size_t)t->slot_count * sizeof(*t->slots);
}
