/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of stubs that share a blob with others, as the JVM's own lists of them tell: what they
 * hold of one JVM. Inside of hotspot/. All that is read is bounded; what is left out is counted.
 */
#pragma once

#include "hotspot/hotspot.h"

#define STUBS_MAX 4096    /* of a list; 75 to 161 were seen */
#define STUBS_NAME_MAX 96 /* with the NUL; longer ones are cut */
#define VTABLE_BLOB "vtable chunks"
#define ADAPTERS_BLOB "I2C/C2I adapters"
#define I2C_NAME "I2C adapter"
#define C2I_NAME "C2I adapter"
#define STUBS_PAGES_MAX 16384U /* of writable data that are looked through: 64 MB */

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
    uint64_t head;          /* its value when @named was read */
    uint64_t unfinished_at; /* address of the end of an entry that had none then; 0: all had one */
    unsigned begin;         /* offset of begin in a descriptor */
    unsigned searches;      /* for the head, in vain */
    struct stub_table named;
    uint64_t heads_low, heads_high; /* where heads of vtable stubs were found; 0: nowhere yet */
    unsigned vtable_misses;         /* readings in vain */
    struct stub_table vtables;
    uint64_t dropped; /* entries of @named that made no sense; +1 where it went on */
};

void stubs_deinit(struct stubs *s);

/* Makes @code, found at @pc in a blob that is no method, the stub of that blob that holds @pc.
 * Changes nothing if none is known. */
void stubs_refine(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *code);
/* Reads both lists as they are now, for stubs_each(). */
void stubs_update(struct hotspot_vm *vm);
/* Calls @fn for each stub of the blob @blob and for what lies between them, and adds the calls to
 * @count. Stops when @fn returns non-zero, and returns that. */
int stubs_each(struct hotspot_vm *vm, const struct hotspot_code *blob, hotspot_code_fn fn,
               void *cookie, int *count);

/* ---- shared by the files that read them ---- */

/* 0; -ENOSPC: it is full; -ENOMEM. */
int stub_table_add(struct stub_table *t, const struct stub *s);
void stub_table_sort(struct stub_table *t);
/* Returns the index of the first that begins behind @pc. */
size_t stub_table_behind(const struct stub_table *t, uint64_t pc);
/* Returns the innermost that holds @pc, or NULL. The table is sorted. */
const struct stub *stub_table_find(const struct stub_table *t, uint64_t pc);

/* Returns the vtable or itable stub at @pc, or NULL. (vtables.c) */
const struct stub *stubs_find_vtable(struct hotspot_vm *vm, uint64_t pc);
void stubs_read_vtables(struct hotspot_vm *vm);

/* Makes @code, a blob of adapters that holds @pc, the half that holds it. Changes nothing if the
 * halves cannot be told apart. (adapters.c) */
void adapters_refine(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *code);
/* As stubs_each() of such a blob. */
int adapters_each(struct hotspot_vm *vm, const struct hotspot_code *blob, hotspot_code_fn fn,
                  void *cookie, int *count);
