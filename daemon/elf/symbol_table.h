/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named ranges of addresses: the form that ELF files, the kernel and perf maps are all brought
 * into. Built once from entries in any order, overlapping or not. Then it is immutable, but for the
 * id that a user of the table keeps with each name. Knows no file format. An entry takes 24 bytes
 * while the table is built, and a range 16. Where there are many names, they are packed
 * (elf/symbol_names.h). A hundred thousand functions take some 10 MB, and a million 30. Thread: the
 * owner's.
 */
#pragma once

#include "elf/symbol_names.h"

#define SYMBOL_NAME_MAX NAMES_NAME_MAX /* bytes of a raw name that are kept */

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
    uint16_t rank; /* higher is better; at most SYMBOL_RANK_MAX */
    uint8_t class; /* enum symbol_class */
    bool boundary; /* ends the entry before it, but names nothing */
    bool faint;    /* any other goes before it, and it ends none but its like */
};
#define SYMBOL_RANK_MAX 8191u

/* An entry as it is kept until the table is built. */
struct symbol_item {
    uint64_t start;
    uint32_t bytes; /* at most, where it is open */
    uint32_t name;  /* in the names; it rises from one entry to the next */
    uint16_t rank : 13, class : 2, faint : 1;
    uint16_t name_n : 13, boundary : 1, open : 1; /* open: up to the next */
    uint32_t name_hash;
} __attribute__((packed, aligned(4)));

struct symbol_builder {
    struct symbol_item *items; /* owned, [count] */
    size_t count, cap, max;
    struct symbol_names *names; /* owned; NULL: none yet */
    uint64_t name_bytes, name_bytes_max;
    size_t max_bytes; /* that it and the table may take, which fails beyond it; 0: any */
    uint64_t dropped; /* entries beyond the limits */
    bool aliases;     /* the table keeps the other names of functions, too */
};

void symbol_builder_init(struct symbol_builder *b, size_t max_entries, size_t max_name_bytes);
void symbol_builder_deinit(struct symbol_builder *b);
#define _cleanup_symbol_builder_ _cleanup_(symbol_builder_deinit)

/* Adds @e under @name (copied, cut at SYMBOL_NAME_MAX). An entry beyond the limits of number is
 * dropped and counted. 0; -EDQUOT: max_bytes are not enough; -ENOMEM. */
int symbol_builder_add(struct symbol_builder *b, const struct symbol_entry *e, struct span name);
size_t symbol_builder_bytes(const struct symbol_builder *b);

/* Returns what is kept of @e but for its name, which symbol_builder_name() gives it. */
struct symbol_item symbol_item_of(const struct symbol_entry *e);
/* Adds what was made by these two. 0, -EDQUOT or -ENOMEM. */
int symbol_builder_add_item(struct symbol_builder *b, const struct symbol_item *item);
/* Names @item. 0; 1: there are too many bytes of names; -EDQUOT; -ENOMEM. */
int symbol_builder_name(struct symbol_builder *b, struct symbol_item *item, struct span name);

/* A range that has one name; ranges of a table do not overlap and are sorted. */
struct symbol {
    uint64_t start;
    uint32_t bytes;
    uint32_t name; /* in the table's names */
};

/* Another name of the address at which a function begins. */
struct symbol_alias {
    uint64_t start;
    uint32_t name;
};

struct symbol_table {
    struct symbol *symbols; /* owned, [count] */
    size_t count;
    struct symbol_alias *aliases; /* owned, [alias_count]: names that no range has, of functions */
    size_t alias_count;
    struct symbol_names *names;
    bool own_names;
    uint32_t *string; /* owned, [count], 0: what the user of the table keeps with each symbol */
};

/* Makes @ret of the builder's entries, which are used up. 0; -EDQUOT: its max_bytes are not enough;
 * -ENOMEM. */
int symbol_table_build(struct symbol_builder *b, struct symbol_table *ret);
/* Makes @ret of the entries so far, while more may come (a perf map grows). The builder keeps its
 * entries, and the names, which must live as long as @ret. */
int symbol_table_build_so_far(const struct symbol_builder *b, struct symbol_table *ret);
void symbol_table_deinit(struct symbol_table *t);
/* Returns the symbol whose range holds @address, or NULL. Points into @t. */
const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t address);
static inline uint64_t symbol_end(const struct symbol *s)
{
    return s->start + s->bytes;
}
/* Returns its name. Points into @t until the next name of it is asked for. */
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
/* Forgets what the user kept with the symbols. */
void symbol_table_forget_strings(struct symbol_table *t);
/* Returns what the table takes. Of what users keep with symbols it is the most that they can. */
size_t symbol_table_bytes(const struct symbol_table *t);
