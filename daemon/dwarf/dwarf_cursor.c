/* SPDX-License-Identifier: Apache-2.0 */
/* Takes numbers and strings in DWARF's encodings. */
#include "dwarf/dwarf_impl.h"

const uint8_t *dwarf_take_bytes(struct dwarf_cursor *c, uint64_t n)
{
    const uint8_t *at = c->p;

    if (n > (uint64_t)(c->end - c->p)) {
        c->past = true;
        c->p = c->end;
        return NULL;
    }
    c->p += n;
    return at;
}

uint64_t dwarf_take(struct dwarf_cursor *c, unsigned bytes)
{
    const uint8_t *at = dwarf_take_bytes(c, bytes);
    uint64_t v = 0;

    if (at)
        memcpy(&v, at, bytes); /* little endian, as this machine */
    return v;
}

/* Takes a LEB128 number; *ret_shift: its number of bits, *ret_last: its last byte. */
static uint64_t take_leb(struct dwarf_cursor *c, unsigned *ret_shift, uint8_t *ret_last)
{
    uint64_t v = 0;
    unsigned shift = 0;

    while (c->p < c->end) {
        uint8_t byte = *c->p++;

        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        *ret_shift = shift;
        *ret_last = byte;
        return v;
    }
    c->past = true;
    *ret_shift = 64;
    *ret_last = 0;
    return 0;
}

uint64_t dwarf_take_uleb(struct dwarf_cursor *c)
{
    unsigned shift;
    uint8_t last;

    return take_leb(c, &shift, &last);
}

uint64_t dwarf_take_most(struct dwarf_cursor *c, uint64_t max)
{
    uint64_t v = dwarf_take_uleb(c);

    return MIN(v, max);
}

int64_t dwarf_take_sleb(struct dwarf_cursor *c)
{
    unsigned shift;
    uint8_t last;
    uint64_t v = take_leb(c, &shift, &last);

    if (shift < 64 && last & 0x40)
        v |= UINT64_MAX << shift;
    return (int64_t)v;
}

struct span dwarf_take_string(struct dwarf_cursor *c)
{
    const uint8_t *end = memchr(c->p, 0, (size_t)(c->end - c->p));
    struct span s = { (const char *)c->p, 0 };

    if (!end) {
        c->past = true;
        c->p = c->end;
        return SPAN_NULL;
    }
    s.n = (size_t)(end - c->p);
    c->p = end + 1;
    return s;
}
