/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of abbreviations: the attributes and forms of an entry, by its code. */
#include "base/array.h"
#include "dwarf/dwarf_impl.h"

#define ABBREV_FIRST_BYTES ((size_t)16 << 10)
#define ABBREVS_MAX ((size_t)1 << 18)

/* Takes the attributes of one abbreviation. */
static bool take_attributes(struct dwarf_cursor *c, struct dwarf_abbrevs *t, struct dwarf_abbrev *a)
{
    for (;;) {
        uint64_t name = dwarf_take_uleb(c), form = dwarf_take_uleb(c);
        int64_t constant = form == DW_FORM_IMPLICIT_CONST ? dwarf_take_sleb(c) : 0;

        if (c->past)
            return false;
        if (!name && !form)
            return true;
        if (form > UINT16_MAX || t->attribute_count == ABBREVS_MAX ||
            !array_grow(&t->attributes, &t->attribute_cap, t->attribute_count + 1, 64))
            return false;
        t->attributes[t->attribute_count++] =
            (struct dwarf_attribute){ .name = (uint16_t)(name > UINT16_MAX ? 0 : name),
                                      .form = (uint16_t)form,
                                      .constant = constant };
        a->count++;
    }
}

/* Takes the whole table. Return: false if it is broken; *ret_short: the table is cut off. */
static bool take_table(struct dwarf_cursor *c, struct dwarf_abbrevs *t, bool *ret_short)
{
    for (;;) {
        struct dwarf_abbrev a = { .code = dwarf_take_uleb(c),
                                  .first = (uint32_t)t->attribute_count };
        uint64_t tag;

        if (!c->past && !a.code)
            return true;
        tag = dwarf_take_uleb(c);
        a.tag = (uint16_t)(tag > UINT16_MAX ? 0 : tag);
        a.children = dwarf_take(c, 1);
        if (!take_attributes(c, t, &a) || t->count == ABBREVS_MAX ||
            !array_grow(&t->list, &t->cap, t->count + 1, 64))
            break;
        t->list[t->count++] = a;
    }
    *ret_short = c->past;
    return false;
}

ORDER_FUNCTION(compare_codes, struct dwarf_abbrev, COMPARE(x->code, y->code))

static void table_clear(struct dwarf_abbrevs *t)
{
    free(t->list);
    free(t->attributes);
    *t = (struct dwarf_abbrevs){ 0 };
}

/* Reads the table at @offset into *t. */
static bool read_table(struct dwarf *d, uint64_t offset, struct dwarf_abbrevs *t)
{
    for (size_t size = ABBREV_FIRST_BYTES; size <= DWARF_ABBREV_MAX_BYTES; size *= 4) {
        _cleanup_free_ uint8_t *bytes = malloc(size);
        size_t n = bytes ? dwarf_section_some(&d->sections[DWARF_ABBREV], offset, bytes, size) : 0;
        struct dwarf_cursor c = dwarf_cursor(bytes, n);
        bool is_short = false;

        if (!n)
            return false;
        if (take_table(&c, t, &is_short)) {
            if (t->count)
                qsort(t->list, t->count, sizeof(*t->list), compare_codes);
            return dwarf_budget_take(&d->chunks.budget, (uint32_t)t->attribute_count);
        }
        if (!dwarf_budget_take(&d->chunks.budget, (uint32_t)t->attribute_count))
            return false;
        table_clear(t);
        if (!is_short || n < size)
            return false;
    }
    return false;
}

static size_t table_bytes(const struct dwarf_abbrevs *t)
{
    return t->cap * sizeof(*t->list) + t->attribute_cap * sizeof(*t->attributes);
}

size_t dwarf_abbrevs_bytes(const struct dwarf_abbrev_cache *c)
{
    size_t bytes = 0;

    for (size_t i = 0; i < DWARF_ABBREVS_KEPT; i++)
        bytes += table_bytes(&c->tables[i]);
    return bytes;
}

/* Frees the least recently used tables until the rest has at most DWARF_ABBREVS_MAX_BYTES. One
 * table has less. */
static void drop_beyond_limit(struct dwarf_abbrev_cache *c)
{
    _Static_assert(DWARF_ABBREVS_MAX_BYTES >
                       ABBREVS_MAX * (sizeof(struct dwarf_abbrev) + sizeof(struct dwarf_attribute)),
                   "the limit leaves the newest table");

    while (dwarf_abbrevs_bytes(c) > DWARF_ABBREVS_MAX_BYTES) {
        struct dwarf_abbrevs *oldest = NULL;

        for (size_t i = 0; i < DWARF_ABBREVS_KEPT; i++) {
            struct dwarf_abbrevs *t = &c->tables[i];

            if (t->cap && (!oldest || t->used < oldest->used))
                oldest = t;
        }
        table_clear(oldest);
    }
}

const struct dwarf_abbrevs *dwarf_abbrevs_get(struct dwarf *d, uint64_t offset)
{
    struct dwarf_abbrev_cache *cache = &d->abbrevs;
    struct dwarf_abbrevs *oldest = &cache->tables[0];

    for (size_t i = 0; i < DWARF_ABBREVS_KEPT; i++) {
        struct dwarf_abbrevs *t = &cache->tables[i];

        if (t->used && t->offset == offset) {
            t->used = ++cache->turn;
            return t->broken ? NULL : t;
        }
        if (t->used < oldest->used)
            oldest = t;
    }
    table_clear(oldest);
    if (!read_table(d, offset, oldest)) {
        table_clear(oldest);
        oldest->broken = true;
        d->skipped++;
    }
    oldest->offset = offset;
    /* If the budget was spent, the table may be good: drop it first, so that it is read again. */
    oldest->used = d->chunks.budget.spent ? 0 : ++cache->turn;
    drop_beyond_limit(cache);
    return oldest->broken || d->chunks.budget.spent ? NULL : oldest;
}

const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *t, uint64_t code)
{
    size_t lo;

    if (code && code <= t->count && t->list[code - 1].code == code)
        return &t->list[code - 1]; /* compilers number codes from 1 on */
    lo = array_first(t->count, mid, t->list[mid].code < code);
    return lo < t->count && t->list[lo].code == code ? &t->list[lo] : NULL;
}

void dwarf_abbrevs_clear(struct dwarf_abbrev_cache *c)
{
    for (size_t i = 0; i < DWARF_ABBREVS_KEPT; i++)
        table_clear(&c->tables[i]);
}
