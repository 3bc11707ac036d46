/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the units of .debug_info, and finds the unit of the code at an address. */
#include "base/array.h"
#include "dwarf/dwarf_impl.h"

#define HEADER_MAX 40
#define DWARF64 0xffffffffu
#define UNIT_COMPILE 1
#define UNIT_PARTIAL 3
#define UNIT_SKELETON 4
#define DWO_ID_BYTES 8

/* ---- the list ---- */

/* Reads the header at @offset; *ret_next: offset of the next header. Return: false if it is
 * broken. */
static bool read_header(struct dwarf *d, uint64_t offset, struct dwarf_unit *ret,
                        uint64_t *ret_next)
{
    uint8_t bytes[HEADER_MAX];
    size_t n = dwarf_section_some(&d->sections[DWARF_INFO], offset, bytes, sizeof(bytes));
    struct dwarf_cursor c = dwarf_cursor(bytes, n);
    struct dwarf_unit u = { .offset = offset, .offset_bytes = 4 };
    uint64_t length = dwarf_take(&c, 4), address_bytes, type = UNIT_COMPILE;

    if (length == DWARF64) {
        u.offset_bytes = 8;
        length = dwarf_take(&c, 8);
    }
    u.first = offset + (uint64_t)(c.p - bytes);
    if (c.past || length > d->sections[DWARF_INFO].bytes - u.first)
        return false;
    u.end = u.first + length;
    u.version = (uint16_t)dwarf_take(&c, 2);
    if (u.version >= 5) {
        type = dwarf_take(&c, 1);
        address_bytes = dwarf_take(&c, 1);
        u.abbrevs = dwarf_take(&c, u.offset_bytes);
        if (type == UNIT_SKELETON)
            dwarf_take(&c, DWO_ID_BYTES);
    } else {
        u.abbrevs = dwarf_take(&c, u.offset_bytes);
        address_bytes = dwarf_take(&c, 1);
    }
    u.first = offset + (uint64_t)(c.p - bytes);
    u.code = !c.past && u.version >= 3 && u.version <= 5 && address_bytes == 8 &&
             (type == UNIT_COMPILE || type == UNIT_PARTIAL || type == UNIT_SKELETON) &&
             u.first < u.end && u.end - u.offset <= DWARF_UNIT_MAX_BYTES;
    d->skipped += !u.code && type <= UNIT_PARTIAL && type != 2;
    *ret_next = u.end;
    *ret = u;
    return true;
}

/* Lists units until the budget is spent. Return: true if the list is complete. */
static bool list_units(struct dwarf *d)
{
    while (!d->units_known) {
        struct dwarf_unit u;
        uint64_t next;

        if (d->next_unit >= d->sections[DWARF_INFO].bytes || d->unit_count == DWARF_UNITS_MAX ||
            !read_header(d, d->next_unit, &u, &next) || next <= d->next_unit) {
            if (d->chunks.budget.spent)
                return false;
            d->cut = d->next_unit < d->sections[DWARF_INFO].bytes;
            d->skipped += d->cut;
            d->units_known = true;
            break;
        }
        if (!array_grow(&d->units, &d->unit_cap, d->unit_count + 1, 256))
            return false;
        d->units[d->unit_count++] = u;
        d->next_unit = next;
        if (!dwarf_budget_take(&d->chunks.budget, 8))
            return false;
    }
    return true;
}

/* Returns the unit with @offset in its header or entries; NULL: none. */
static struct dwarf_unit *find_unit(struct dwarf *d, uint64_t offset)
{
    size_t lo;

    if (!list_units(d))
        return NULL;
    lo = array_first(d->unit_count, mid, d->units[mid].end <= offset);
    return lo < d->unit_count && d->units[lo].offset <= offset ? &d->units[lo] : NULL;
}

struct dwarf_unit *dwarf_unit_at(struct dwarf *d, uint64_t offset)
{
    struct dwarf_unit *u = find_unit(d, offset);

    return u && u->first <= offset ? u : NULL;
}

/* ---- the first entry ---- */

/* Reads the attributes of the first entry into *ret, without valid texts of DW_FORM_STRING. */
static bool read_first(struct dwarf *d, const struct dwarf_unit *u, struct dwarf_entry *ret)
{
    const struct dwarf_abbrevs *t = dwarf_abbrevs_get(d, u->abbrevs);
    const struct dwarf_abbrev *a;
    struct dwarf_cursor c;
    uint8_t bytes[2048];
    size_t n;

    if (!t)
        return false;
    n = dwarf_section_some(&d->sections[DWARF_INFO], u->first, bytes,
                           (size_t)MIN(u->end - u->first, (uint64_t)sizeof(bytes)));
    c = dwarf_cursor(bytes, n);
    a = dwarf_abbrev_find(t, dwarf_take_uleb(&c));
    return a && dwarf_budget_take(&d->chunks.budget, a->count / 4) &&
           dwarf_entry_take(&c, u, t, a, ret);
}

static bool begin(struct dwarf *d, struct dwarf_unit *u, struct dwarf_entry *ret)
{
    if (!u->code || !read_first(d, u, ret)) {
        if (u->code && !d->chunks.budget.spent) {
            u->code = false;
            d->skipped++;
        }
        return false;
    }
    /* The defaults lie right behind the section's only header. */
    u->str_base = ret->str_base.form ? ret->str_base.u : 8;
    u->addr_base = ret->addr_base.form ? ret->addr_base.u : 8;
    u->rnglists_base = ret->rnglists_base.form ? ret->rnglists_base.u : 12;
    u->lines = ret->lines.u;
    u->has_lines = ret->lines.form;
    u->split = ret->dwo.form;
    if (!ret->low.form || !dwarf_value_address(d, u, &ret->low, &u->low))
        u->low = 0;
    u->begun = true;
    return true;
}

bool dwarf_unit_begin(struct dwarf *d, struct dwarf_unit *u)
{
    struct dwarf_entry e;

    return u->begun ? u->code : begin(d, u, &e);
}

/* ---- code ---- */

static bool add_code(struct dwarf *d, uint64_t start, uint64_t end, uint32_t unit)
{
    if (start >= end || !start) /* code that the linker dropped begins at 0 */
        return true;
    if (d->code_count == DWARF_RANGES_MAX) {
        d->skipped++;
        return true;
    }
    if (!array_grow(&d->code, &d->code_cap, d->code_count + 1, 1024))
        return false;
    d->code[d->code_count++] = (struct dwarf_code){ start, end, unit };
    return true;
}

/* Takes the pairs of one set of .debug_aranges. */
static bool take_set(struct dwarf *d, struct dwarf_cursor *set, const uint8_t *set_start,
                     unsigned offset_bytes)
{
    uint64_t version = dwarf_take(set, 2), info = dwarf_take(set, offset_bytes);
    uint64_t address_bytes = dwarf_take(set, 1), segment_bytes = dwarf_take(set, 1);
    size_t head = (size_t)(set->p - set_start);
    struct dwarf_unit *u;

    if (set->past || version != 2 || address_bytes != 8 || segment_bytes)
        return true;
    u = find_unit(d, info);
    if (!u || u->offset != info)
        return true;
    dwarf_take_bytes(set, (16 - head % 16) % 16);
    for (;;) {
        uint64_t start = dwarf_take(set, 8), bytes = dwarf_take(set, 8);

        if (set->past || (!start && !bytes))
            return true;
        u->listed = true;
        if (start <= UINT64_MAX - bytes &&
            !add_code(d, start, start + bytes, (uint32_t)(u - d->units)))
            return false;
    }
}

#define ARANGES_MAX_BYTES ((uint64_t)64 << 20)

/* Adds the code in .debug_aranges. Return: false if memory or the budget ran out. */
static bool take_aranges(struct dwarf *d)
{
    struct dwarf_section *s = &d->sections[DWARF_ARANGES];
    size_t n = (size_t)MIN(s->bytes, ARANGES_MAX_BYTES);
    _cleanup_free_ uint8_t *bytes = malloc(MAX(n, (size_t)1));
    struct dwarf_cursor c;

    if (!bytes)
        return false;
    c = dwarf_cursor(bytes, dwarf_section_some(s, 0, bytes, n));
    while (c.p < c.end && !c.past) {
        const uint8_t *start = c.p, *body;
        uint64_t length = dwarf_take(&c, 4);
        unsigned offset_bytes = length == DWARF64 ? 8 : 4;
        struct dwarf_cursor set;

        if (length == DWARF64)
            length = dwarf_take(&c, 8);
        body = dwarf_take_bytes(&c, length);
        if (!body)
            break;
        set = dwarf_cursor(body, (size_t)length);
        if (!take_set(d, &set, start, offset_bytes) ||
            !dwarf_budget_take(&d->chunks.budget, 1 + (uint32_t)(length / 16)))
            return false;
    }
    return !d->chunks.budget.spent;
}

struct adding {
    struct dwarf *d;
    uint32_t unit;
};

static void add_range(void *cookie, uint64_t start, uint64_t end)
{
    struct adding *a = cookie;

    add_code(a->d, start, end, a->unit);
}

ORDER_FUNCTION(compare_code, struct dwarf_code,
               COMPARE(x->start, y->start) ?: COMPARE(x->end, y->end))

static bool sort_code(struct dwarf *d)
{
    uint64_t reach = 0;

    d->reach = calloc(MAX(d->code_count, (size_t)1), sizeof(*d->reach));
    if (!d->reach)
        return false;
    if (d->code_count)
        qsort(d->code, d->code_count, sizeof(*d->code), compare_code);
    for (size_t i = 0; i < d->code_count; i++)
        d->reach[i] = reach = MAX(reach, d->code[i].end);
    return true;
}

bool dwarf_list_code(struct dwarf *d)
{
    if (d->code_known)
        return true;
    if (!list_units(d))
        return false;
    if (!d->next_code) {
        d->code_count = 0; /* drop the incomplete list of an earlier try, which ran out of budget */
        if (!take_aranges(d))
            return false;
    }
    for (; d->next_code < d->unit_count; d->next_code++) {
        struct dwarf_unit *u = &d->units[d->next_code];
        struct adding a = { d, (uint32_t)d->next_code };
        struct dwarf_entry e;

        if (u->listed || !u->code)
            continue;
        if (begin(d, u, &e))
            dwarf_ranges(d, u, &e, add_range, &a);
        if (!dwarf_budget_take(&d->chunks.budget, 64))
            return false;
    }
    d->code_known = sort_code(d);
    return d->code_known;
}

struct dwarf_unit *dwarf_unit_of_code(struct dwarf *d, uint64_t address)
{
    size_t lo = array_first(d->code_count, mid, d->code[mid].start <= address);

    /* Of several ranges that hold the address, the one that begins last counts. */
    while (lo > 0 && d->reach[lo - 1] > address) {
        lo--;
        if (d->code[lo].end > address)
            return &d->units[d->code[lo].unit];
        if (!dwarf_budget_take(&d->chunks.budget, 1))
            return NULL;
    }
    return NULL;
}
