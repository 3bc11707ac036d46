/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_table.h"

void id_table_init(struct id_table *t, size_t record_size, uint32_t max)
{
    *t = (struct id_table){ .size = record_size, .max = max };
}

void id_table_deinit(struct id_table *t)
{
    free(t->records);
    free(t->slots);
    id_table_init(t, t->size, t->max);
}

static uint32_t id_table_hash(const void *record, size_t n)
{
    const unsigned char *p = record;
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ n;

    while (n >= 4) {
        uint32_t word;

        memcpy(&word, p, sizeof(word));
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
        p += 4;
        n -= 4;
    }
    for (; n; n--)
        h = (h ^ *p++) * UINT64_C(0x100000001b3);
    return (uint32_t)(h ^ h >> 29);
}

/* The slot where @record is, or where it would go. */
static uint32_t id_table_slot(const struct id_table *t, const void *record)
{
    uint32_t at = id_table_hash(record, t->size) & (t->slot_count - 1);

    while (t->slots[at] && memcmp(id_table_get(t, t->slots[at] - 1), record, t->size) != 0)
        at = (at + 1) & (t->slot_count - 1);
    return at;
}

/* Enters all records into empty slots. */
static void id_table_fill(struct id_table *t)
{
    for (uint32_t id = 0; id < t->count; id++)
        t->slots[id_table_slot(t, id_table_get(t, id))] = id + 1;
}

static int id_table_grow(struct id_table *t)
{
    if (t->count == t->cap) {
        uint32_t cap = t->cap ? t->cap * 2 : 64;
        char *records = realloc(t->records, (size_t)cap * t->size);

        if (!records)
            return -ENOMEM;
        t->records = records;
        t->cap = cap;
    }
    if (t->count >= t->slot_count / 2) {
        uint32_t slot_count = t->slot_count ? t->slot_count * 2 : 128, *old = t->slots;
        uint32_t *slots = calloc(slot_count, sizeof(*slots));

        if (!slots)
            return -ENOMEM;
        t->slots = slots;
        t->slot_count = slot_count;
        id_table_fill(t);
        free(old);
    }
    return 0;
}

int id_table_add(struct id_table *t, const void *record, uint32_t *ret)
{
    uint32_t at;
    int r;

    if (id_table_find(t, record, ret))
        return 0;
    if (t->count >= t->max)
        return -ENOSPC;
    r = id_table_grow(t);
    if (r < 0)
        return r;
    at = id_table_slot(t, record);
    memcpy(t->records + (size_t)t->count * t->size, record, t->size);
    *ret = t->count++;
    t->slots[at] = *ret + 1;
    return 1;
}

bool id_table_find(const struct id_table *t, const void *record, uint32_t *ret)
{
    uint32_t at;

    if (t->count == 0)
        return false;
    at = id_table_slot(t, record);
    if (!t->slots[at])
        return false;
    *ret = t->slots[at] - 1;
    return true;
}

void id_table_rehash(struct id_table *t)
{
    if (!t->slots)
        return;
    memset(t->slots, 0, (size_t)t->slot_count * sizeof(*t->slots));
    id_table_fill(t);
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
