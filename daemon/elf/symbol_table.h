/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named ranges of addresses: the common form of symbols from ELF files, the kernel and perf maps. A
 * table is built once from entries in any order, overlapping or not. Then it is immutable, except
 * for the id that its user stores with each name. Knows no file format. While a table is built an
 * entry takes 24 bytes, then a range takes 16. Large sets of names are compressed
 * (elf/symbol_names.h). A hundred thousand functions take some 10 MB, and a million 30. Thread: the
 * owner's.
 */
#pragma once

#include "elf/symbol_names.h"

#define SYMBOL_NAME_MAX NAMES_NAME_MAX /* most bytes of a raw name; longer ones are cut */

/* Decides which of two entries names an address that both cover. The higher class wins. In one
 * class, the later start wins, and so an inner range. With equal starts, the higher @rank wins. */
enum symbol_class {
    SYMBOL_LABEL,    /* a label without a type, in assembler code */
    SYMBOL_FUNCTION, /* marked as a function */
    SYMBOL_ORDERED,  /* from a list in which a later entry wins over all earlier ones (perf map) */
};

struct symbol_entry {
    uint64_t start, size; /* size 0: up to the next entry that has a name, or @limit */
    uint64_t limit; /* first address that cannot belong to it (the end of its section); UINT64_MAX:
                       none */
    uint16_t rank;  /* higher is better; at most SYMBOL_RANK_MAX */
    uint8_t class;  /* enum symbol_class */
    bool boundary;  /* ends the previous entry, but names nothing */
    bool faint;     /* any other entry wins, and it ends only other faint entries */
};
#define SYMBOL_RANK_MAX 8191u

/* The form of an entry until the table is built. */
struct symbol_item {
    uint64_t start;
    uint32_t bytes; /* an upper bound if it is open */
    uint32_t name;  /* position in the names; rises from one entry to the next */
    uint16_t rank : 13, class : 2, faint : 1;
    uint16_t name_n : 13, boundary : 1, open : 1; /* open: ends at the next entry */
    uint32_t name_hash;
} __attribute__((packed, aligned(4)));

struct symbol_builder {
    struct symbol_item *items; /* owned, [count] */
    size_t count, cap, max;
    struct symbol_names *names; /* owned; NULL until the first name */
    uint64_t name_bytes, name_bytes_max;
    size_t
        max_bytes; /* limit for the builder and the table together: beyond it they fail; 0: none */
    uint64_t dropped; /* entries beyond the limits of number */
    bool aliases;     /* the table also keeps other names of functions */
};

void symbol_builder_init(struct symbol_builder *b, size_t max_entries, size_t max_name_bytes);
void symbol_builder_deinit(struct symbol_builder *b);
#define _cleanup_symbol_builder_ _cleanup_(symbol_builder_deinit)

/* Adds @e with the name @name (copied, cut at SYMBOL_NAME_MAX). Drops and counts entries beyond the
 * limits of number. Returns 0; -EDQUOT: max_bytes are spent; -ENOMEM. */
int symbol_builder_add(struct symbol_builder *b, const struct symbol_entry *e, struct span name);
size_t symbol_builder_bytes(const struct symbol_builder *b);

/* Returns the stored form of @e without a name, which symbol_builder_name() sets. */
struct symbol_item symbol_item_of(const struct symbol_entry *e);
/* Adds an item made by symbol_item_of() and symbol_builder_name(). Returns 0, -EDQUOT or
 * -ENOMEM. */
int symbol_builder_add_item(struct symbol_builder *b, const struct symbol_item *item);
/* Names @item. Returns 0; 1: too many bytes of names; -EDQUOT; -ENOMEM. */
int symbol_builder_name(struct symbol_builder *b, struct symbol_item *item, struct span name);

/* A range with one name. The ranges of a table are sorted and do not overlap. */
struct symbol {
    uint64_t start;
    uint32_t bytes;
    uint32_t name; /* position in the table's names */
};

/* A further name of an address where a function begins. */
struct symbol_alias {
    uint64_t start;
    uint32_t name;
};

struct symbol_table {
    struct symbol *symbols; /* owned, [count] */
    size_t count;
    struct symbol_alias *aliases; /* owned, [alias_count]: names of functions that no range has */
    size_t alias_count;
    struct symbol_names *names;
    bool own_names;
    uint32_t *string; /* owned, [count]: the id that the user stores with each symbol; 0: none */
};

/* Builds @ret from the builder's entries and empties the builder. Returns 0; -EDQUOT: max_bytes are
 * spent; -ENOMEM. */
int symbol_table_build(struct symbol_builder *b, struct symbol_table *ret);
/* Builds @ret from the entries so far, while more may come (a perf map grows). The builder keeps
 * its entries and the names, and must outlive @ret. */
int symbol_table_build_so_far(const struct symbol_builder *b, struct symbol_table *ret);
void symbol_table_deinit(struct symbol_table *t);
/* Returns the symbol with @address in its range, or NULL. Points into @t. */
const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t address);
static inline uint64_t symbol_end(const struct symbol *s)
{
    return s->start + s->bytes;
}
/* Returns the name of @s. Points into @t until the next call for a name of @t. */
static inline struct span symbol_name(const struct symbol_table *t, const struct symbol *s)
{
    return symbol_names_get(t->names, s->name);
}
static inline struct span symbol_alias_name(const struct symbol_table *t,
                                            const struct symbol_alias *a)
{
    return symbol_names_get(t->names, a->name);
}
static inline uint32_t *symbol_string(const struct symbol_table *t, const struct symbol *s)
{
    return &t->string[s - t->symbols];
}
/* Clears the ids that the user stored with the symbols. */
void symbol_table_forget_strings(struct symbol_table *t);
/* Returns the table's bytes, with ids for all symbols. */
size_t symbol_table_bytes(const struct symbol_table *t);
