/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the entries that a symbol table is built from. */
#include "base/array.h"
#include "base/fnv1a.h"
#include "elf/symbol_table.h"

#define ITEMS_FIRST 256 /* initial capacity */

void symbol_builder_init(struct symbol_builder *b, size_t max_entries, size_t max_name_bytes)
{
    *b = (struct symbol_builder){ .max = max_entries, .name_bytes_max = max_name_bytes };
}

void symbol_builder_deinit(struct symbol_builder *b)
{
    free(b->items);
    symbol_names_free(b->names);
    *b = (struct symbol_builder){ 0 };
}

size_t symbol_builder_bytes(const struct symbol_builder *b)
{
    return b->count * sizeof(*b->items) + (b->names ? symbol_names_bytes(b->names) : 0);
}

struct symbol_item symbol_item_of(const struct symbol_entry *e)
{
    uint64_t most = e->limit > e->start ? e->limit - e->start : 0;

    if (e->size)
        most = MIN(most, e->size);
    return (struct symbol_item){ .start = e->start,
                                 .bytes = (uint32_t)MIN(most, (uint64_t)UINT32_MAX),
                                 .rank = e->rank & SYMBOL_RANK_MAX,
                                 .class = e->class & 3u,
                                 .faint = e->faint,
                                 .boundary = e->boundary,
                                 .open = !e->size };
}

int symbol_builder_add_item(struct symbol_builder *b, const struct symbol_item *item)
{
    if (b->max_bytes && symbol_builder_bytes(b) + sizeof(*item) > b->max_bytes)
        return -EDQUOT;
    if (!array_grow(&b->items, &b->cap, b->count + 1, ITEMS_FIRST))
        return -ENOMEM;
    b->items[b->count++] = *item;
    return 0;
}

int symbol_builder_name(struct symbol_builder *b, struct symbol_item *item, struct span name)
{
    uint32_t at = 0;
    int r = 0;

    name.n = MIN(name.n, (size_t)SYMBOL_NAME_MAX);
    if (name.n > b->name_bytes_max - MIN(b->name_bytes, b->name_bytes_max))
        return 1;
    if (!b->names)
        r = symbol_names_new(&b->names);
    if (r == 0)
        r = symbol_names_add(b->names, name, &at);
    if (r < 0)
        return r;
    b->name_bytes += name.n;
    item->name = at;
    item->name_n = name.n & SYMBOL_RANK_MAX;
    item->name_hash = (uint32_t)fnv1a(FNV1A_START, name.p, name.n);
    return b->max_bytes && symbol_builder_bytes(b) > b->max_bytes ? -EDQUOT : 0;
}

int symbol_builder_add(struct symbol_builder *b, const struct symbol_entry *e, struct span name)
{
    struct symbol_item item = symbol_item_of(e);
    int r = b->count == b->max ? 1 : symbol_builder_name(b, &item, name);

    b->dropped += r > 0;
    return r == 0 ? symbol_builder_add_item(b, &item) : MIN(r, 0);
}
