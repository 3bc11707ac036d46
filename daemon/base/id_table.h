/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers distinct records of one size. Equal bytes get the same dense id, from 0 on. The records
 * lie in one array in order of their ids. Records must have no padding. Nothing is ever removed.
 * Thread: the owner's.
 */
#pragma once

#include "base/macros.h"

/* A slot stores the hash, so that a lookup reads only records with an equal hash. */
struct id_slot {
    uint32_t id_and_1; /* the record's id plus 1; 0: free */
    uint32_t hash;
};

/* The most bytes that one record of a large table takes with its share of spare memory. Spare: a
 * quarter more records, and 8/3 as many slots. */
#define ID_TABLE_ENTRY_BYTES(size) ((size) + (size) / 4 + 8 * sizeof(struct id_slot) / 3 + 1)

struct id_table {
    char *records;         /* owned, count * size bytes */
    struct id_slot *slots; /* owned */
    size_t size;           /* bytes of one record */
    uint32_t count, cap, slot_count, max;
    uint64_t key; /* of the hash; a secret, so that foreign records cannot choose their slots */
};

/* Makes an empty table for at most @max records. Allocates nothing before the first id_table_add().
 */
void id_table_init(struct id_table *t, size_t record_size, uint32_t max);
void id_table_deinit(struct id_table *t);
/* Gets the id of @record. Returns 0; 1 if the record is new; -ENOSPC (limit) or -ENOMEM, and then
 * @ret is untouched. */
int id_table_add(struct id_table *t, const void *record, uint32_t *ret);
/* Finds the id of @record. Returns false if it is not in the table. */
bool id_table_find(const struct id_table *t, const void *record, uint32_t *ret);
/* Returns record @id, which is valid until the next id_table_add(). @id must be below count. */
static inline const void *id_table_get(const struct id_table *t, uint32_t id)
{
    return t->records + (size_t)id * t->size;
}
/* Returns record @id for overwriting. Before id_table_rehash(), all records must be distinct again.
 */
static inline void *id_table_at(struct id_table *t, uint32_t id)
{
    return t->records + (size_t)id * t->size;
}
/* Rebuilds the slots after records were overwritten. Ids stay the same. Allocates nothing. */
void id_table_rehash(struct id_table *t);
/* Frees the memory that only adding and finding need. From then on id_table_add() returns -ENOSPC,
 * and id_table_find() finds nothing. */
void id_table_seal(struct id_table *t);
/* Hands over the array of records (NULL when empty) and empties the table. */
void *id_table_take(struct id_table *t);
size_t id_table_bytes(const struct id_table *t);
