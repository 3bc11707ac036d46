/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of stubs that share a blob, from the JVM's own lists of stubs. One cache for each JVM.
 * Internal to hotspot/. All reads are bounded; entries that are left out are counted.
 */
#pragma once

#include "hotspot/hotspot.h"

#define STUBS_MAX 4096    /* stubs of a list; 75 to 161 were seen */
#define STUBS_NAME_MAX 96 /* with the NUL; longer ones are cut */
#define VTABLE_BLOB "vtable chunks"
#define ADAPTERS_BLOB "I2C/C2I adapters"
#define I2C_NAME "I2C adapter"
#define C2I_NAME "C2I adapter"
#define STUBS_PAGES_MAX 16384U /* pages of writable data to search: 64 MB */

struct stub {
    uint64_t start, end;
    char name[STUBS_NAME_MAX];
};

struct stub_table {
    struct stub *at; /* owned; sorted by start */
    size_t count, cap;
};

struct stubs {
    uint64_t head_at;       /* address of StubCodeDesc::_list; 0: not found yet */
    uint64_t head;          /* value at head_at when @named was read */
    uint64_t unfinished_at; /* address of an unfinished entry's end field; 0: none */
    unsigned begin;         /* offset of begin in a descriptor */
    unsigned searches;      /* failed searches for the head */
    struct stub_table named;
    uint64_t heads_low, heads_high; /* where heads of vtable stubs were found; 0: not yet */
    unsigned vtable_misses;         /* readings that found no stub for a pc */
    struct stub_table vtables;
    uint64_t dropped; /* malformed entries of @named, plus 1 if the list was cut */
};

void stubs_deinit(struct stubs *s);

/* Narrows @code, a blob that is no method and holds @pc, to the stub of that blob that holds @pc.
 * Leaves @code unchanged if no such stub is known. */
void stubs_refine(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *code);
/* Reads both lists again, for stubs_each(). */
void stubs_update(struct hotspot_vm *vm);
/* Returns the first stub with one of the @count @parts in its name, or NULL. Valid until the list
 * is read again. */
const struct stub *stubs_find_named(const struct hotspot_vm *vm, const char *const *parts,
                                    size_t count);
/* Calls @fn for each stub of the blob @blob and for the gaps between stubs, and adds the number of
 * calls to @count. Stops when @fn returns non-zero, and returns that. */
int stubs_each(struct hotspot_vm *vm, const struct hotspot_code *blob, hotspot_code_fn fn,
               void *cookie, int *count);

/* ---- shared by the files that read them ---- */

/* Adds a copy of @s. Return: 0; -ENOSPC: the table is full; -ENOMEM. */
int stub_table_add(struct stub_table *t, const struct stub *s);
void stub_table_sort(struct stub_table *t);
/* Returns the index of the first stub that begins behind @pc. */
size_t stub_table_behind(const struct stub_table *t, uint64_t pc);
/* Returns the innermost stub that holds @pc, or NULL. The table must be sorted. */
const struct stub *stub_table_find(const struct stub_table *t, uint64_t pc);

/* Returns the vtable or itable stub at @pc, or NULL. (vtables.c) */
const struct stub *stubs_find_vtable(struct hotspot_vm *vm, uint64_t pc);
void stubs_read_vtables(struct hotspot_vm *vm);

/* Narrows @code, a blob of adapters, to the half that holds @pc. Leaves @code unchanged if the
 * border of the halves is not found. (adapters.c) */
void adapters_refine(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *code);
/* Does the work of stubs_each() for a blob of adapters. */
int adapters_each(struct hotspot_vm *vm, const struct hotspot_code *blob, hotspot_code_fn fn,
                  void *cookie, int *count);
