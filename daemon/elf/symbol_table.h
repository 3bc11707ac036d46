/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named ranges of addresses: the form that ELF files, the kernel and perf maps are all brought
 * into. Built once from entries in any order, overlapping or not. Then it is immutable, but for the
 * id that a user of the table keeps with each name. Knows no file format. Thread: the owner's.
 */
#pragma once

#include "base/buf.h"

#define SYMBOL_NAME_MAX 4096 /* bytes of a raw name that are kept */

/* Which of two entries that cover the same address names it: the higher class; within a class the
 * later start (an inner range first). Of entries with equal start @rank decides. */
enum symbol_class {
    SYMBOL_LABEL,    /* a mark without a type, in assembler code */
    SYMBOL_FUNCTION, /* says of itself that it is one */
    SYMBOL_ORDERED,  /* of a list in which the later entry wins whatever it covers (perf maps) */
};

struct symbol_entry {
    uint64_t start, size; /* size 0: up to the next entry that has a name, or @limit */
    uint64_t
        limit; /* no address from here on belongs to it (end of its section); UINT64_MAX: none */
    uint32_t name; /* set by symbol_builder_add() */
    uint32_t name_n;
    uint32_t order; /* set by symbol_builder_add(): position in the list */
    uint16_t rank;  /* higher is better */
    uint8_t class;  /* enum symbol_class */
    bool boundary;  /* ends the entry before it, but names nothing */
    bool faint;     /* any other goes before it, and it ends none but its like */
};

struct symbol_builder {
    struct symbol_entry *entries; /* owned, [count] */
    size_t count, cap, max;
    struct buf names;
    uint64_t dropped; /* entries beyond the limits */
    bool aliases;     /* the table keeps the other names of functions, too */
};

void symbol_builder_init(struct symbol_builder *b, size_t max_entries, size_t max_name_bytes);
void symbol_builder_deinit(struct symbol_builder *b);
#define _cleanup_symbol_builder_ _cleanup_(symbol_builder_deinit)

/* Adds @e under @name (copied, cut at SYMBOL_NAME_MAX). An entry beyond a limit is dropped and
 * counted. 0 or -ENOMEM. */
int symbol_builder_add(struct symbol_builder *b, const struct symbol_entry *e, struct span name);

/* A range that has one name; ranges of a table do not overlap and are sorted. */
struct symbol {
    uint64_t start, end;
    uint32_t name, name_n; /* in the table's names */
};

/* Another name of the address at which a function begins. */
struct symbol_alias {
    uint64_t start;
    uint32_t name, name_n;
};

struct symbol_table {
    struct symbol *symbols; /* owned, [count] */
    size_t count;
    struct symbol_alias *aliases; /* owned, [alias_count]: names that no range has, of functions */
    size_t alias_count;
    char *names; /* owned */
    size_t names_n;
    uint32_t *string; /* owned, [count], 0: what the user of the table keeps with each symbol */
};

/* Makes @ret of the builder's entries; the builder stays as it is (a perf map grows). 0 or -ENOMEM.
 */
int symbol_table_build(const struct symbol_builder *b, struct symbol_table *ret);
void symbol_table_deinit(struct symbol_table *t);
/* Returns the symbol whose range holds @address, or NULL. Points into @t. */
const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t address);
static inline struct span symbol_name(const struct symbol_table *t, const struct symbol *s)
{
    return (struct span){ t->names + s->name, s->name_n };
}
static inline struct span symbol_alias_name(const struct symbol_table *t,
                                            const struct symbol_alias *a)
{
    return (struct span){ t->names + a->name, a->name_n };
}
static inline uint32_t *symbol_string(const struct symbol_table *t, const struct symbol *s)
{
    return &t->string[s - t->symbols];
}
/* Forgets what the user kept with the symbols. */
void symbol_table_forget_strings(struct symbol_table *t);
size_t symbol_table_bytes(const struct symbol_table *t);
