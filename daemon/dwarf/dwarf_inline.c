/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the entries of a unit for the functions that hold addresses: a subprogram, the functions
 * inlined in it, and the functions inlined in these. Skips the children of an entry without any of
 * the addresses if it has a sibling.
 */
#include "base/array.h"
#include "base/list.h"
#include "dwarf/dwarf_impl.h"

#define SCOPES_MAX ((size_t)1 << 20)

enum {
    DW_TAG_MODULE = 0x1e,
    DW_TAG_CATCH_BLOCK = 0x25,
    DW_TAG_TRY_BLOCK = 0x32,
    DW_TAG_NAMESPACE = 0x39
};

struct walk {
    struct dwarf *d;
    const struct dwarf_unit *u;
    const struct dwarf_abbrevs *t;
    struct dwarf_wanted *wanted;
    size_t count;
    struct dwarf_scopes *scopes;
    bool thorough; /* skip no children: a function without wanted addresses may contain a function
                      with some */
    bool broken;
    uint32_t enclosing[DWARF_DEPTH_MAX]; /* scope of the entries, by depth */
};

/* An entry with code that is matched with addresses. */
struct visit {
    struct walk *w;
    const struct dwarf_entry *e;
    uint64_t offset;
    uint32_t enclosing, scope; /* indexes + 1; 0: none */
    bool matched;
};

static uint32_t add_scope(struct visit *v)
{
    struct dwarf_scopes *s = v->w->scopes;
    const struct dwarf_entry *e = v->e;

    if (s->count == SCOPES_MAX || !array_grow(&s->list, &s->cap, s->count + 1, 256)) {
        v->w->broken = true;
        return 0;
    }
    s->list[s->count++] = (struct dwarf_scope){
        .entry = v->offset,
        .parent = e->abbrev->tag == DW_TAG_INLINED_SUBROUTINE ? v->enclosing : 0,
        .call_file = (uint32_t)MIN(e->call_file.u, (uint64_t)UINT32_MAX),
        .call_line = (uint32_t)MIN(e->call_line.u, (uint64_t)UINT32_MAX),
    };
    return (uint32_t)s->count;
}

size_t dwarf_first_wanted(const struct dwarf_wanted *wanted, size_t count, uint64_t address)
{
    return array_first(count, mid, wanted[mid].address < address);
}

static void take_range(void *cookie, uint64_t start, uint64_t end)
{
    struct visit *v = cookie;
    struct walk *w = v->w;
    bool inlined = v->e->abbrev->tag == DW_TAG_INLINED_SUBROUTINE;

    for (size_t i = dwarf_first_wanted(w->wanted, w->count, start);
         i < w->count && w->wanted[i].address < end; i++) {
        struct dwarf_wanted *a = &w->wanted[i];

        v->matched = true;
        if (!dwarf_budget_take(&w->d->chunks.budget, 1))
            return;
        if (v->e->abbrev->tag == DW_TAG_LEXICAL_BLOCK)
            return;
        if (a->scope != v->enclosing || (inlined && !v->enclosing))
            continue;
        if (!v->scope)
            v->scope = add_scope(v);
        if (v->scope)
            a->scope = v->scope;
    }
}

/* Matches an entry with code. Return: true if its children can be skipped. */
static bool visit(struct walk *w, const struct dwarf_entry *e, uint64_t offset, uint32_t *scope)
{
    struct visit v = { .w = w, .e = e, .offset = offset, .enclosing = *scope };

    if (!dwarf_has_code(e))
        return e->abbrev->tag != DW_TAG_LEXICAL_BLOCK;
    if (!dwarf_ranges(w->d, w->u, e, take_range, &v))
        w->d->skipped += !w->d->chunks.budget.spent;
    if (v.scope)
        *scope = v.scope;
    return !v.matched;
}

static bool holds_functions(uint16_t tag)
{
    switch (tag) {
    case DW_TAG_COMPILE_UNIT:
    case DW_TAG_PARTIAL_UNIT:
    case DW_TAG_SKELETON_UNIT:
    case DW_TAG_NAMESPACE:
    case DW_TAG_MODULE:
    case DW_TAG_TRY_BLOCK:
    case DW_TAG_CATCH_BLOCK:
        return true;
    default:
        return false;
    }
}

static bool walk_unit(struct walk *w, const uint8_t *bytes, size_t n)
{
    struct dwarf_cursor c = dwarf_cursor(bytes, n);
    size_t depth = 0;

    while (c.p < c.end && !w->broken) {
        uint64_t offset = w->u->first + (uint64_t)(c.p - bytes), sibling = 0;
        uint64_t code = dwarf_take_uleb(&c);
        const struct dwarf_abbrev *a = dwarf_abbrev_find(w->t, code);
        uint32_t scope = depth ? w->enclosing[depth - 1] : 0;
        struct dwarf_entry e;
        bool pass;

        if (!dwarf_budget_take(&w->d->chunks.budget, 2 + (a ? a->count / 4 : 0)))
            return false;
        if (!code && depth) {
            if (--depth == 0)
                return true;
            continue;
        }
        if (!a)
            return false;
        if (a->tag == DW_TAG_SUBPROGRAM || a->tag == DW_TAG_INLINED_SUBROUTINE ||
            a->tag == DW_TAG_LEXICAL_BLOCK) {
            if (!dwarf_entry_take(&c, w->u, w->t, a, &e))
                return false;
            pass = visit(w, &e, offset, &scope);
            sibling = e.sibling.form == DW_FORM_REF_ADDR ? e.sibling.u : w->u->offset + e.sibling.u;
        } else {
            if (!dwarf_entry_skip(&c, w->u, w->t, a, &sibling))
                return false;
            pass = !holds_functions(a->tag);
        }
        if (!a->children) {
            if (!depth)
                return true;
            continue;
        }
        if (pass && !w->thorough && sibling > w->u->first + (uint64_t)(c.p - bytes) &&
            sibling < w->u->end) {
            c.p = bytes + (sibling - w->u->first);
            continue;
        }
        if (depth == DWARF_DEPTH_MAX)
            return false;
        w->enclosing[depth++] = scope;
    }
    return !w->broken;
}

static bool all_found(const struct walk *w)
{
    return ALL_OF(i, w->count, w->wanted[i].scope);
}

bool dwarf_find_scopes(struct dwarf *d, struct dwarf_unit *u, struct dwarf_wanted *wanted,
                       size_t count, struct dwarf_scopes *scopes)
{
    struct walk w = { .d = d, .u = u, .wanted = wanted, .count = count, .scopes = scopes };
    size_t n = (size_t)(u->end - u->first);
    _cleanup_free_ uint8_t *bytes = malloc(n);
    bool r;

    if (!bytes || !dwarf_section_copy(&d->sections[DWARF_INFO], u->first, bytes, n))
        return false;
    w.t = dwarf_abbrevs_get(d, u->abbrevs);
    if (!w.t)
        return false;
    r = walk_unit(&w, bytes, n);
    if (!r || all_found(&w))
        return r;
    w.thorough = true;
    return walk_unit(&w, bytes, n);
}
