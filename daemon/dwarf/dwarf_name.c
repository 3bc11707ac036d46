/* SPDX-License-Identifier: Apache-2.0 */
/* Finds names of functions. An inlined copy refers to its origin, and the origin to its
 * declaration. */
#include "dwarf/dwarf_impl.h"

#define ENTRY_FIRST_BYTES 512
#define ENTRY_MAX_BYTES ((size_t)16 << 10)

/* Reads the entry at @offset into *ret; its texts point into @bytes. */
static bool read_entry(struct dwarf *d, const struct dwarf_unit *u, uint64_t offset,
                       uint8_t bytes[ENTRY_MAX_BYTES], struct dwarf_entry *ret)
{
    const struct dwarf_abbrevs *t = dwarf_abbrevs_get(d, u->abbrevs);

    for (size_t size = ENTRY_FIRST_BYTES; t && size <= ENTRY_MAX_BYTES; size *= 32) {
        size_t left = (size_t)MIN(u->end - offset, (uint64_t)size);
        size_t n = dwarf_section_some(&d->sections[DWARF_INFO], offset, bytes, left);
        struct dwarf_cursor c = dwarf_cursor(bytes, n);
        const struct dwarf_abbrev *a = dwarf_abbrev_find(t, dwarf_take_uleb(&c));

        if (!dwarf_budget_take(&d->chunks.budget, 2 + (a ? a->count / 4 : 0)))
            return false;
        if (a && dwarf_entry_take(&c, u, t, a, ret))
            return true;
        if (n < size)
            break;
    }
    return false;
}

uint32_t dwarf_function_name(struct dwarf *d, uint64_t offset, struct intern *to)
{
    _cleanup_free_ uint8_t *bytes = malloc(ENTRY_MAX_BYTES);
    char buffer[DWARF_NAME_MAX];
    uint32_t written = 0, linked = 0;

    for (unsigned i = 0; bytes && i < DWARF_ORIGINS_MAX && !linked; i++) {
        struct dwarf_unit *u = dwarf_unit_at(d, offset);
        const struct dwarf_value *next;
        struct dwarf_entry e;

        if (!u || !dwarf_unit_begin(d, u) || !read_entry(d, u, offset, bytes, &e))
            break;
        if (e.linkage.form)
            intern_add(to, dwarf_value_text(d, u, &e.linkage, buffer), &linked);
        if (!written && e.name.form)
            intern_add(to, dwarf_value_text(d, u, &e.name, buffer), &written);
        next = e.origin.form ? &e.origin : &e.specification;
        if (!next->form || !dwarf_value_entry(d, u, next, &d, &offset))
            break;
    }
    return linked ? linked : written;
}
