/* SPDX-License-Identifier: Apache-2.0 */
/* Debugging information entries: takes their attributes, and resolves values. */
#include "dwarf/dwarf_impl.h"

/* Returns the size of a value if @form alone decides the size; else 0. */
static unsigned fixed_bytes(const struct dwarf_unit *u, uint16_t form)
{
    switch (form) {
    case DW_FORM_DATA1:
    case DW_FORM_FLAG:
    case DW_FORM_REF1:
    case DW_FORM_STRX1:
    case DW_FORM_ADDRX1:
        return 1;
    case DW_FORM_DATA2:
    case DW_FORM_REF2:
    case DW_FORM_STRX2:
    case DW_FORM_ADDRX2:
        return 2;
    case DW_FORM_STRX3:
    case DW_FORM_ADDRX3:
        return 3;
    case DW_FORM_DATA4:
    case DW_FORM_REF4:
    case DW_FORM_REF_SUP4:
    case DW_FORM_STRX4:
    case DW_FORM_ADDRX4:
        return 4;
    case DW_FORM_ADDR:
    case DW_FORM_DATA8:
    case DW_FORM_REF8:
    case DW_FORM_REF_SIG8:
    case DW_FORM_REF_SUP8:
        return 8;
    case DW_FORM_STRP:
    case DW_FORM_LINE_STRP:
    case DW_FORM_STRP_SUP:
    case DW_FORM_SEC_OFFSET:
    case DW_FORM_REF_ADDR:
    case DW_FORM_GNU_REF_ALT:
    case DW_FORM_GNU_STRP_ALT:
        return u->offset_bytes;
    default:
        return 0;
    }
}

bool dwarf_value_take(struct dwarf_cursor *c, const struct dwarf_unit *u, uint16_t form,
                      int64_t constant, struct dwarf_value *ret)
{
    unsigned bytes;

    if (form == DW_FORM_INDIRECT) /* once: a second one is an unknown form below */
        form = (uint16_t)dwarf_take_most(c, UINT16_MAX);
    *ret = (struct dwarf_value){ .form = form };
    bytes = fixed_bytes(u, form);
    if (bytes) {
        ret->u = dwarf_take(c, bytes);
        return !c->past;
    }
    switch (form) {
    case DW_FORM_UDATA:
    case DW_FORM_REF_UDATA:
    case DW_FORM_STRX:
    case DW_FORM_ADDRX:
    case DW_FORM_LOCLISTX:
    case DW_FORM_RNGLISTX:
        ret->u = dwarf_take_uleb(c);
        break;
    case DW_FORM_SDATA:
        ret->u = (uint64_t)dwarf_take_sleb(c);
        break;
    case DW_FORM_STRING:
        ret->text = dwarf_take_string(c);
        break;
    case DW_FORM_EXPRLOC:
    case DW_FORM_BLOCK:
        dwarf_take_bytes(c, dwarf_take_uleb(c));
        break;
    case DW_FORM_BLOCK1:
        dwarf_take_bytes(c, dwarf_take(c, 1));
        break;
    case DW_FORM_BLOCK2:
        dwarf_take_bytes(c, dwarf_take(c, 2));
        break;
    case DW_FORM_BLOCK4:
        dwarf_take_bytes(c, dwarf_take(c, 4));
        break;
    case DW_FORM_DATA16:
        dwarf_take_bytes(c, 16);
        break;
    case DW_FORM_FLAG_PRESENT:
        ret->u = 1;
        break;
    case DW_FORM_IMPLICIT_CONST:
        ret->u = (uint64_t)constant;
        break;
    default:
        return false;
    }
    return !c->past;
}

static struct dwarf_value *slot(struct dwarf_entry *e, uint16_t name)
{
    switch (name) {
    case DW_AT_SIBLING:
        return &e->sibling;
    case DW_AT_NAME:
        return &e->name;
    case DW_AT_LINKAGE_NAME:
    case DW_AT_MIPS_LINKAGE_NAME:
        return &e->linkage;
    case DW_AT_LOW_PC:
        return &e->low;
    case DW_AT_HIGH_PC:
        return &e->high;
    case DW_AT_RANGES:
        return &e->ranges;
    case DW_AT_ABSTRACT_ORIGIN:
        return &e->origin;
    case DW_AT_SPECIFICATION:
        return &e->specification;
    case DW_AT_CALL_FILE:
        return &e->call_file;
    case DW_AT_CALL_LINE:
        return &e->call_line;
    case DW_AT_STMT_LIST:
        return &e->lines;
    case DW_AT_STR_OFFSETS_BASE:
        return &e->str_base;
    case DW_AT_ADDR_BASE:
        return &e->addr_base;
    case DW_AT_RNGLISTS_BASE:
        return &e->rnglists_base;
    case DW_AT_DWO_NAME:
    case DW_AT_GNU_DWO_NAME:
        return &e->dwo;
    default:
        return NULL;
    }
}

bool dwarf_entry_take(struct dwarf_cursor *c, const struct dwarf_unit *u,
                      const struct dwarf_abbrevs *t, const struct dwarf_abbrev *a,
                      struct dwarf_entry *ret)
{
    *ret = (struct dwarf_entry){ .abbrev = a };
    for (uint32_t i = 0; i < a->count; i++) {
        const struct dwarf_attribute *at = &t->attributes[a->first + i];
        struct dwarf_value *to = slot(ret, at->name), other;

        if (!dwarf_value_take(c, u, at->form, at->constant, to ? to : &other))
            return false;
    }
    return true;
}

bool dwarf_entry_skip(struct dwarf_cursor *c, const struct dwarf_unit *u,
                      const struct dwarf_abbrevs *t, const struct dwarf_abbrev *a,
                      uint64_t *ret_sibling)
{
    *ret_sibling = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct dwarf_attribute *at = &t->attributes[a->first + i];
        struct dwarf_value v;

        if (!dwarf_value_take(c, u, at->form, at->constant, &v))
            return false;
        if (at->name == DW_AT_SIBLING)
            *ret_sibling = v.form == DW_FORM_REF_ADDR ? v.u : u->offset + v.u;
    }
    return true;
}

/* ---- values ---- */

static bool is_address_index(uint16_t form)
{
    return form == DW_FORM_ADDRX || (form >= DW_FORM_ADDRX1 && form <= DW_FORM_ADDRX4);
}

bool dwarf_value_address(struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_value *v,
                         uint64_t *ret)
{
    *ret = v->u;
    if (v->form == DW_FORM_ADDR)
        return true;
    return is_address_index(v->form) && v->u < DWARF_SECTION_MAX_BYTES &&
           dwarf_section_copy(&d->sections[DWARF_ADDR], u->addr_base + v->u * 8, ret, sizeof(*ret));
}

/* Returns the string at @offset of @s, cut at DWARF_NAME_MAX. */
static struct span section_text(struct dwarf_section *s, uint64_t offset,
                                char buffer[DWARF_NAME_MAX])
{
    for (size_t size = 128; size <= DWARF_NAME_MAX; size *= 32) {
        size_t n = dwarf_section_some(s, offset, buffer, size), length = strnlen(buffer, n);

        if (length < n || n < size || size == DWARF_NAME_MAX)
            return (struct span){ buffer, length };
    }
    return SPAN_NULL;
}

struct span dwarf_value_text(struct dwarf *d, const struct dwarf_unit *u,
                             const struct dwarf_value *v, char buffer[DWARF_NAME_MAX])
{
    uint64_t offset = 0;

    switch (v->form) {
    case DW_FORM_STRING:
        return (struct span){ v->text.p, MIN(v->text.n, (size_t)DWARF_NAME_MAX) };
    case DW_FORM_STRP:
        return section_text(&d->sections[DWARF_STR], v->u, buffer);
    case DW_FORM_LINE_STRP:
        return section_text(&d->sections[DWARF_LINE_STR], v->u, buffer);
    case DW_FORM_GNU_STRP_ALT:
    case DW_FORM_STRP_SUP:
        return d->alt ? section_text(&d->alt->sections[DWARF_STR], v->u, buffer) : SPAN_NULL;
    case DW_FORM_STRX:
    case DW_FORM_STRX1:
    case DW_FORM_STRX2:
    case DW_FORM_STRX3:
    case DW_FORM_STRX4:
        if (v->u >= DWARF_SECTION_MAX_BYTES ||
            !dwarf_section_copy(&d->sections[DWARF_STR_OFFSETS],
                                u->str_base + v->u * u->offset_bytes, &offset, u->offset_bytes))
            return SPAN_NULL;
        return section_text(&d->sections[DWARF_STR], offset, buffer);
    default:
        return SPAN_NULL;
    }
}

bool dwarf_value_entry(struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_value *v,
                       struct dwarf **ret_d, uint64_t *ret_offset)
{
    *ret_d = d;
    *ret_offset = v->u;
    switch (v->form) {
    case DW_FORM_REF1:
    case DW_FORM_REF2:
    case DW_FORM_REF4:
    case DW_FORM_REF8:
    case DW_FORM_REF_UDATA:
        *ret_offset = u->offset + v->u;
        return v->u < u->end - u->offset;
    case DW_FORM_REF_ADDR:
        return true;
    case DW_FORM_GNU_REF_ALT:
    case DW_FORM_REF_SUP4:
    case DW_FORM_REF_SUP8:
        *ret_d = d->alt;
        return d->alt;
    default:
        return false;
    }
}
