/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the code of an entry: one range, or a list in .debug_rnglists or .debug_ranges. */
#include "dwarf/dwarf_impl.h"

#define WINDOW_BYTES 512
#define WINDOW_MIN 32 /* bytes; no entry of a list is longer */

enum {
    RLE_END,
    RLE_BASEX,
    RLE_STARTX_ENDX,
    RLE_STARTX_LENGTH,
    RLE_OFFSET_PAIR,
    RLE_BASE,
    RLE_START_END,
    RLE_START_LENGTH
};

/* A list being read. */
struct list {
    struct dwarf *d;
    const struct dwarf_unit *u;
    struct dwarf_section *s;
    uint64_t at; /* section offset of the window's end */
    uint64_t base;
    struct dwarf_cursor c;
    uint8_t window[WINDOW_BYTES];
};

/* Moves the window so that it holds the next entry. */
static void refill(struct list *l)
{
    size_t left = (size_t)(l->c.end - l->c.p), n;

    if (left >= WINDOW_MIN)
        return;
    memmove(l->window, l->c.p, left);
    n = dwarf_section_some(l->s, l->at, l->window + left, WINDOW_BYTES - left);
    l->at += n;
    l->c = dwarf_cursor(l->window, left + n);
}

static uint64_t indexed(struct list *l, uint64_t index)
{
    const struct dwarf_value v = { .form = DW_FORM_ADDRX, .u = index };
    uint64_t address = 0;

    if (!dwarf_value_address(l->d, l->u, &v, &address))
        l->c.past = true;
    return address;
}

/* Takes an entry of version 5. Return: false at the end of the list, or if it is broken. *ret_end
 * 0: the entry is no range. */
static bool take_rle(struct list *l, uint64_t *ret_start, uint64_t *ret_end)
{
    uint64_t kind = dwarf_take(&l->c, 1), a = 0, b = 0;

    switch (kind) {
    case RLE_BASEX:
        l->base = indexed(l, dwarf_take_uleb(&l->c));
        break;
    case RLE_STARTX_ENDX:
        a = indexed(l, dwarf_take_uleb(&l->c));
        b = indexed(l, dwarf_take_uleb(&l->c));
        break;
    case RLE_STARTX_LENGTH:
        a = indexed(l, dwarf_take_uleb(&l->c));
        b = a + dwarf_take_uleb(&l->c);
        break;
    case RLE_OFFSET_PAIR:
        a = l->base + dwarf_take_uleb(&l->c);
        b = l->base + dwarf_take_uleb(&l->c);
        break;
    case RLE_BASE:
        l->base = dwarf_take(&l->c, 8);
        break;
    case RLE_START_END:
        a = dwarf_take(&l->c, 8);
        b = dwarf_take(&l->c, 8);
        break;
    case RLE_START_LENGTH:
        a = dwarf_take(&l->c, 8);
        b = a + dwarf_take_uleb(&l->c);
        break;
    default:
        l->c.past |= kind != RLE_END;
        return false;
    }
    *ret_start = a;
    *ret_end = b;
    return true;
}

/* Takes an entry of version 3 or 4, as take_rle() does. */
static bool take_pair(struct list *l, uint64_t *ret_start, uint64_t *ret_end)
{
    uint64_t a = dwarf_take(&l->c, 8), b = dwarf_take(&l->c, 8);

    *ret_start = *ret_end = 0;
    if (!a && !b)
        return false;
    if (a == UINT64_MAX) {
        l->base = b;
        return true;
    }
    *ret_start = l->base + a;
    *ret_end = l->base + b;
    return true;
}

static bool list_offset(struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_value *v,
                        uint64_t *ret)
{
    uint64_t offset = 0;

    *ret = v->u;
    if (v->form != DW_FORM_RNGLISTX)
        return true;
    if (v->u >= DWARF_SECTION_MAX_BYTES ||
        !dwarf_section_copy(&d->sections[DWARF_RNGLISTS], u->rnglists_base + v->u * u->offset_bytes,
                            &offset, u->offset_bytes))
        return false;
    *ret = u->rnglists_base + offset;
    return true;
}

static bool read_list(struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_value *v,
                      dwarf_range_fn fn, void *cookie)
{
    struct list l = { .d = d, .u = u, .base = u->low };
    bool (*take)(struct list *, uint64_t *, uint64_t *) = u->version >= 5 ? take_rle : take_pair;

    l.s = &d->sections[u->version >= 5 ? DWARF_RNGLISTS : DWARF_RANGES];
    l.c = dwarf_cursor(l.window, 0);
    if (!list_offset(d, u, v, &l.at))
        return false;
    for (unsigned i = 0; i < DWARF_RANGE_LIST_MAX; i++) {
        uint64_t start = 0, end = 0;

        refill(&l);
        if (!take(&l, &start, &end))
            return !l.c.past;
        if (l.c.past || !dwarf_budget_take(&d->chunks.budget, 2))
            return false;
        if (start < end)
            fn(cookie, start, end);
    }
    return false;
}

bool dwarf_ranges(struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_entry *e,
                  dwarf_range_fn fn, void *cookie)
{
    uint64_t low, high;

    if (e->ranges.form)
        return read_list(d, u, &e->ranges, fn, cookie);
    if (!e->low.form || !e->high.form)
        return true;
    if (!dwarf_value_address(d, u, &e->low, &low))
        return false;
    if (!dwarf_value_address(d, u, &e->high, &high))
        high = low + e->high.u; /* the value is a length */
    if (low < high)
        fn(cookie, low, high);
    return true;
}
