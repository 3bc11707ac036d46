/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/symbol_table.h"

#include "base/array.h"

#define ALIASES_FIRST 64 /* room for so many at first */

void symbol_builder_init(struct symbol_builder *b, size_t max_entries, size_t max_name_bytes)
{
    *b = (struct symbol_builder){ .max = max_entries };
    buf_init(&b->names, MIN(max_name_bytes, (size_t)UINT32_MAX));
}

void symbol_builder_deinit(struct symbol_builder *b)
{
    free(b->entries);
    buf_deinit(&b->names);
    *b = (struct symbol_builder){ 0 };
}

int symbol_builder_add(struct symbol_builder *b, const struct symbol_entry *e, struct span name)
{
    struct symbol_entry *slot;

    name.n = MIN(name.n, (size_t)SYMBOL_NAME_MAX);
    if (b->count == b->max || name.n > b->names.max - MIN(b->names.n, b->names.max)) {
        b->dropped++;
        return 0;
    }
    if (b->count == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 1024;
        struct symbol_entry *entries = realloc(b->entries, cap * sizeof(*entries));

        if (!entries)
            return -ENOMEM;
        b->entries = entries;
        b->cap = cap;
    }
    slot = &b->entries[b->count];
    *slot = *e;
    slot->name = (uint32_t)b->names.n;
    slot->name_n = (uint32_t)name.n;
    slot->order = (uint32_t)b->count;
    buf_add_span(&b->names, name);
    if (b->names.error)
        return b->names.error;
    b->count++;
    return 0;
}

/* ---- from overlapping entries to ranges ---- */

/* What is being swept: entries by start, and a heap of those that cover the current address. */
struct sweep {
    const struct symbol_entry *entries; /* sorted by start, worst rank first */
    uint64_t *ends;                     /* [count] */
    uint32_t *heap;                     /* indexes into entries, best on top */
    size_t heap_n;
};

static int compare_entries(const void *a, const void *b)
{
    const struct symbol_entry *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->boundary != y->boundary)
        return x->boundary ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* True when entry @a names what both cover. */
static bool sweep_better(const struct sweep *s, uint32_t a, uint32_t b)
{
    const struct symbol_entry *x = &s->entries[a], *y = &s->entries[b];

    if (x->faint != y->faint)
        return y->faint;
    if (x->class != y->class)
        return x->class > y->class;
    return x->class == SYMBOL_ORDERED ? x->order > y->order : a > b;
}

static void sweep_push(struct sweep *s, uint32_t entry)
{
    size_t at = s->heap_n++;

    while (at && sweep_better(s, entry, s->heap[(at - 1) / 2])) {
        s->heap[at] = s->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->heap[at] = entry;
}

static void sweep_pop(struct sweep *s)
{
    uint32_t last = s->heap[--s->heap_n];
    size_t at = 0, child;

    while ((child = at * 2 + 1) < s->heap_n) {
        if (child + 1 < s->heap_n && sweep_better(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!sweep_better(s, s->heap[child], last))
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Where each entry ends. One without a size reaches to the next start of any other; that is a faint
 * one only to others like it. */
static void find_ends(const struct symbol_entry *entries, size_t count, uint64_t *ends)
{
    uint64_t next = UINT64_MAX, named = UINT64_MAX, here = UINT64_MAX;

    for (size_t i = count; i--;) {
        const struct symbol_entry *e = &entries[i];

        if (i + 1 < count && entries[i + 1].start != e->start) {
            next = entries[i + 1].start;
            named = MIN(named, here);
            here = UINT64_MAX;
        }
        ends[i] = MIN(e->size    ? add_saturated(e->start, e->size)
                      : e->faint ? next
                                 : named,
                      e->limit);
        if (!e->faint)
            here = e->start;
    }
}

/* Until compact() the name of a symbol is the order of its entry. */
static int emit(struct symbol_table *t, size_t *cap, uint32_t order, uint64_t start, uint64_t end)
{
    struct symbol *last = t->count ? &t->symbols[t->count - 1] : NULL;

    if (last && last->end == start && last->name == order) {
        last->end = end;
        return 0;
    }
    if (t->count == *cap) {
        size_t more = *cap ? *cap * 2 : 256;
        struct symbol *symbols = realloc(t->symbols, more * sizeof(*symbols));

        if (!symbols)
            return -ENOMEM;
        t->symbols = symbols;
        *cap = more;
    }
    t->symbols[t->count++] = (struct symbol){ .start = start, .end = end, .name = order };
    return 0;
}

static int sweep_run(struct sweep *s, size_t count, struct symbol_table *t)
{
    uint64_t at = 0;
    size_t i = 0, cap = 0;

    while (i < count || s->heap_n) {
        uint64_t until;
        int r;

        if (!s->heap_n)
            at = s->entries[i].start;
        for (; i < count && s->entries[i].start <= at; i++) {
            if (!s->entries[i].boundary && s->ends[i] > s->entries[i].start)
                sweep_push(s, (uint32_t)i);
        }
        while (s->heap_n && s->ends[s->heap[0]] <= at)
            sweep_pop(s);
        if (!s->heap_n)
            continue;
        until = s->ends[s->heap[0]];
        if (i < count)
            until = MIN(until, s->entries[i].start);
        r = emit(t, &cap, s->entries[s->heap[0]].order, at, until);
        if (r < 0)
            return r;
        at = until;
    }
    return 0;
}

static struct span entry_name(const struct symbol_builder *b, const struct symbol_entry *e)
{
    return (struct span){ b->names.p + e->name, e->name_n };
}

/* Whether @e, which names no range, is another name of where one begins. */
static bool is_alias(const struct symbol_table *t, const struct symbol_builder *b,
                     const struct symbol_entry *e)
{
    const struct symbol *s = symbol_table_find(t, e->start);

    return e->class == SYMBOL_FUNCTION && !e->boundary && !e->faint && s && s->start == e->start &&
           !span_eq(entry_name(b, e), symbol_name(t, s));
}

/* Keeps the names that no range has: @moved is UINT32_MAX for each of them. @entries is sorted, so
 * a name that was added twice comes in a row. */
static int keep_aliases(struct symbol_table *t, const struct symbol_builder *b,
                        const struct symbol_entry *entries, const uint32_t *moved)
{
    const struct symbol_entry *last = NULL;
    size_t cap = 0;

    for (size_t i = 0; i < b->count && b->aliases; i++) {
        const struct symbol_entry *e = &entries[i];

        if (moved[e->order] != UINT32_MAX || !is_alias(t, b, e) ||
            (last && last->start == e->start && span_eq(entry_name(b, last), entry_name(b, e))))
            continue;
        if (!array_grow(&t->aliases, &cap, t->alias_count + 1, ALIASES_FIRST))
            return -ENOMEM;
        t->aliases[t->alias_count++] = (struct symbol_alias){ .start = e->start,
                                                              .name = (uint32_t)t->names_n,
                                                              .name_n = e->name_n };
        if (e->name_n)
            memcpy(t->names + t->names_n, b->names.p + e->name, e->name_n);
        t->names_n += e->name_n;
        last = e;
    }
    return 0;
}

/* Keeps only the names that are used, each once (an outer range comes back after each inner one,
 * with the same name), and gives back what was allocated too much. @entries: sorted. */
static int compact(struct symbol_table *t, const struct symbol_builder *b,
                   const struct symbol_entry *entries)
{
    _cleanup_free_ uint32_t *moved = malloc(MAX(b->count, (size_t)1) * sizeof(*moved));
    struct symbol *fit;
    int r;

    t->names = malloc(MAX(b->names.n, (size_t)1));
    t->string = calloc(MAX(t->count, (size_t)1), sizeof(*t->string));
    if (!moved || !t->names || !t->string)
        return -ENOMEM;
    memset(moved, 0xff, b->count * sizeof(*moved));
    for (size_t i = 0; i < t->count; i++) {
        struct symbol *s = &t->symbols[i];
        const struct symbol_entry *e = &b->entries[s->name];

        if (moved[s->name] == UINT32_MAX) {
            moved[s->name] = (uint32_t)t->names_n;
            if (e->name_n)
                memcpy(t->names + t->names_n, b->names.p + e->name, e->name_n);
            t->names_n += e->name_n;
        }
        s->name = moved[s->name];
        s->name_n = e->name_n;
    }
    r = keep_aliases(t, b, entries, moved);
    if (r < 0)
        return r;
    fit = t->count ? realloc(t->symbols, t->count * sizeof(*fit)) : NULL;
    if (fit)
        t->symbols = fit;
    if (t->names_n) {
        char *names = realloc(t->names, t->names_n);

        if (names)
            t->names = names;
    }
    return 0;
}

int symbol_table_build(const struct symbol_builder *b, struct symbol_table *ret)
{
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    _cleanup_free_ struct symbol_entry *entries =
        malloc(MAX(b->count, (size_t)1) * sizeof(*entries));
    _cleanup_free_ uint64_t *ends = malloc(MAX(b->count, (size_t)1) * sizeof(*ends));
    _cleanup_free_ uint32_t *heap = malloc(MAX(b->count, (size_t)1) * sizeof(*heap));
    int r;

    if (!entries || !ends || !heap)
        return -ENOMEM;
    if (b->count)
        memcpy(entries, b->entries, b->count * sizeof(*entries));
    qsort(entries, b->count, sizeof(*entries), compare_entries);
    find_ends(entries, b->count, ends);
    r = sweep_run(&(struct sweep){ .entries = entries, .ends = ends, .heap = heap }, b->count, &t);
    if (r == 0)
        r = compact(&t, b, entries);
    if (r < 0)
        return r;
    *ret = t;
    t = (struct symbol_table){ 0 };
    return 0;
}

void symbol_table_deinit(struct symbol_table *t)
{
    free(t->symbols);
    free(t->aliases);
    free(t->names);
    free(t->string);
    *t = (struct symbol_table){ 0 };
}

const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t address)
{
    size_t lo = 0, hi = t->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (t->symbols[mid].end <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->count && t->symbols[lo].start <= address ? &t->symbols[lo] : NULL;
}

void symbol_table_forget_strings(struct symbol_table *t)
{
    if (t->string)
        memset(t->string, 0, t->count * sizeof(*t->string));
}

size_t symbol_table_bytes(const struct symbol_table *t)
{
    return t->count * (sizeof(*t->symbols) + sizeof(*t->string)) +
           t->alias_count * sizeof(*t->aliases) + t->names_n;
}
