/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the four tables that HotSpot exports for tools: gHotSpotVMTypes, gHotSpotVMStructs and two
 * of constants. They describe themselves: the stride and the offset of each column are exported
 * variables, too. Knows nothing of the meaning of entries. Thread: the owner's.
 */
#pragma once

#include "hotspot/dynsym.h"

#define VMSTRUCTS_ENTRIES_MAX 8192
#define VMSTRUCTS_STRIDE_MAX 256
#define VMSTRUCTS_NAME_MAX 192 /* longer names are cut; flamed uses none of them */

/* One row of any of the tables. */
struct vmstructs_entry {
    char type[VMSTRUCTS_NAME_MAX];        /* type, or the name of a constant */
    char field[VMSTRUCTS_NAME_MAX];       /* structs only */
    char type_string[VMSTRUCTS_NAME_MAX]; /* structs only: the field's type, "" unknown */
    bool is_static;
    uint64_t value; /* size, offset, address of a static variable, or the value of a constant */
};

enum vmstructs_table {
    VMSTRUCTS_TYPES,
    VMSTRUCTS_FIELDS,
    VMSTRUCTS_INTS,
    VMSTRUCTS_LONGS, /* constants; so are VMSTRUCTS_INTS */
};

typedef int (*vmstructs_fn)(void *cookie, const struct vmstructs_entry *e);

/* Calls @fn for each entry of @table until it returns non-zero, and returns that. Return: 0 at the
 * end. -ENOENT: the table's symbols are not exported. -EAGAIN: the table is not filled yet.
 * -EBADMSG: malformed. Or the error of memory_read(). */
int vmstructs_walk(const struct dynsym *d, enum vmstructs_table table, vmstructs_fn fn,
                   void *cookie);
