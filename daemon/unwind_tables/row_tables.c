/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "unwind_tables/row_tables.h"

#include "base/cleanup.h"

#include <sys/random.h>

void row_tables_init(struct row_tables *r, uint32_t rows_max)
{
    *r = (struct row_tables){ .rows_max = rows_max };
    shares_init(&r->shares, rows_max);
    if (getrandom(r->secret, sizeof(r->secret), 0) != sizeof(r->secret))
        r->secret[0] = (uint64_t)(uintptr_t)r; /* early in boot: better than no secret */
}

void row_tables_deinit(struct row_tables *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->tables[i]);
    free(r->tables);
    *r = (struct row_tables){ 0 };
}

/* Returns a keyed hash of 128 bits. The key is secret, so that no file can be made to collide with
 * another. */
static void digest(const struct row_tables *r, const struct ehframe_table *t, uint64_t ret[2])
{
    const struct span parts[2] = {
        { (const char *)t->rows, t->count * sizeof(*t->rows) },
        { (const char *)t->segments, t->segment_count * sizeof(*t->segments) },
    };
    unsigned __int128 multiplier = ((unsigned __int128)r->secret[0] << 64) | r->secret[1] | 1;
    unsigned __int128 h = ((unsigned __int128)t->count << 64) | t->segment_count;

    for (size_t k = 0; k < ARRAY_SIZE(parts); k++) {
        for (size_t i = 0; i + 8 <= parts[k].n; i += 8) {
            uint64_t word;

            memcpy(&word, parts[k].p + i, sizeof(word));
            h = (h ^ word) * multiplier;
            h ^= h >> 61;
        }
    }
    ret[0] = (uint64_t)h;
    ret[1] = (uint64_t)(h >> 64);
}

/* Finds the first gap of @count rows. Returns its index in the list of tables, or -1. */
static ssize_t find_room(const struct row_tables *r, uint32_t count, uint32_t *ret_first)
{
    uint32_t at = 0;

    for (size_t i = 0; i <= r->count; i++) {
        uint32_t end = i < r->count ? r->tables[i]->first : r->rows_max;

        if (end - at >= count) {
            *ret_first = at;
            return (ssize_t)i;
        }
        if (i < r->count)
            at = r->tables[i]->first + r->tables[i]->count;
    }
    return -1;
}

/* Returns the number of rows that the owner of a table of @count rows is charged for. */
static uint64_t takes(size_t count)
{
    return MAX(count, (size_t)ROW_TABLES_MIN);
}

/* Evicts the least recently used table. @owner: only tables of this owner; 0: of all. Return: false
 * if all are in use. */
static bool make_room(struct row_tables *r, uint64_t owner, row_tables_drop_fn drop, void *drop_ctx)
{
    struct row_table *t;
    size_t oldest = r->count;

    for (size_t i = 0; i < r->count; i++) {
        if (r->tables[i]->users == 0 && (!owner || r->tables[i]->owner == owner) &&
            (oldest == r->count || r->tables[i]->used < r->tables[oldest]->used))
            oldest = i;
    }
    if (oldest == r->count)
        return false;
    t = r->tables[oldest];
    drop(drop_ctx, t);
    shares_give(&r->shares, t->owner, takes(t->count));
    memmove(&r->tables[oldest], &r->tables[oldest + 1],
            (r->count - oldest - 1) * sizeof(struct row_table *));
    r->count--;
    free(t);
    return true;
}

/* Finds a gap for @count rows of @owner, and evicts tables if necessary. Returns its index as
 * find_room() does, or -1 if there is no room. */
static ssize_t take_room(struct row_tables *r, uint64_t owner, size_t count,
                         row_tables_drop_fn drop, void *drop_ctx, uint32_t *ret_first)
{
    ssize_t at = -1;

    while (r->count >= ROW_TABLES_MAX || shares_room_lasting(&r->shares, owner) < takes(count) ||
           (at = find_room(r, (uint32_t)count, ret_first)) < 0) {
        /* An owner that would exceed half of all rows evicts its own tables only. */
        bool beyond = takes(count) + shares_used(&r->shares, owner) > r->shares.max / 2;

        if (!make_room(r, beyond ? owner : 0, drop, drop_ctx)) {
            r->shares.refused++;
            return -1;
        }
    }
    return at;
}

int row_tables_get(struct row_tables *r, uint64_t owner, const struct ehframe_table *e,
                   row_tables_put_fn put, struct broker *b, row_tables_drop_fn drop, void *drop_ctx,
                   struct row_table **ret, struct error *err)
{
    _cleanup_free_ struct row_table *t = calloc(1, sizeof(*t));
    struct row_table **tables;
    ssize_t at;
    int k;

    if (!t)
        return -ENOMEM;
    digest(r, e, t->digest);
    for (size_t i = 0; i < r->count; i++) {
        if (memcmp(r->tables[i]->digest, t->digest, sizeof(t->digest)) == 0) {
            *ret = r->tables[i];
            return 0;
        }
    }
    at = take_room(r, owner, e->count, drop, drop_ctx, &t->first);
    if (at < 0)
        return error_set(err, -ENOSPC,
                         "the table of unwind rows is full, or its owner's share of it is used up");
    tables = reallocarray(r->tables, r->count + 1, sizeof(*tables));
    if (!tables)
        return -ENOMEM;
    r->tables = tables;
    if (e->count) {
        k = put(b, t->first, e->rows, (uint32_t)e->count, err);
        if (k < 0)
            return k;
    }
    t->owner = owner;
    t->count = (uint32_t)e->count;
    shares_force(&r->shares, owner, takes(e->count));
    memcpy(t->segments, e->segments, sizeof(t->segments));
    t->segment_count = e->segment_count;
    memmove(&r->tables[at + 1], &r->tables[at],
            (r->count - (size_t)at) * sizeof(struct row_table *));
    r->tables[at] = t;
    r->count++;
    *ret = TAKE_PTR(t);
    return 0;
}

void row_table_use(struct row_tables *r, struct row_table *t)
{
    t->used = ++r->clock;
    t->users++;
}

void row_table_release(struct row_table *t)
{
    t->users--;
}

uint64_t row_tables_rows(const struct row_tables *r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->count; i++)
        sum += r->tables[i]->count;
    return sum;
}
