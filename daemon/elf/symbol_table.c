/* SPDX-License-Identifier: Apache-2.0 */
/* Turns overlapping entries into ranges by a sweep over addresses. */
#include "elf/symbol_table.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/symbol_sort.h"

#include <sys/mman.h>
#include <unistd.h>

#define SYMBOLS_FIRST 256 /* initial capacity */
#define OPEN_FIRST 64
#define ALIASES_FIRST 64
#define LOOK_EACH 256                   /* entries between two checks of the memory limit */
#define RELEASE_BYTES ((size_t)1 << 20) /* bytes of used entries that are freed at a time */

/* An entry that covers the current address. */
struct open_item {
    uint64_t end;
    size_t index;
    uint32_t name;
    uint8_t class;
    bool faint;
};

/* The state of a sweep: entries by start, and a heap of those that cover the current address. */
struct sweep {
    struct symbol_item *items; /* [count]; sorted by start, worst rank first */
    size_t count, max_bytes;
    struct symbol_names *names;
    bool aliases;
    bool uses_up;           /* frees the memory of the entries on the way */
    size_t released;        /* bytes of entries freed */
    struct open_item *heap; /* owned; [heap_n], best on top */
    size_t heap_n, heap_cap;
    struct symbol_table *table;
    size_t symbol_cap, alias_cap;
};

static bool comes_before(const struct symbol_item *x, const struct symbol_item *y)
{
    if (x->start != y->start)
        return x->start < y->start;
    if (x->boundary != y->boundary)
        return x->boundary;
    return x->rank != y->rank ? x->rank < y->rank : x->name < y->name;
}

static uint64_t end_of(const struct symbol_item *item)
{
    return item->start > UINT64_MAX - item->bytes ? UINT64_MAX : item->start + item->bytes;
}

/* Ends each entry without a size at the next start of another entry. Faint entries end only other
 * faint ones. */
static void close_items(struct symbol_item *items, size_t count)
{
    uint64_t next = UINT64_MAX, named = UINT64_MAX, here = UINT64_MAX;

    for (size_t i = count; i--;) {
        struct symbol_item *item = &items[i];

        if (i + 1 < count && items[i + 1].start != item->start) {
            next = items[i + 1].start;
            named = MIN(named, here);
            here = UINT64_MAX;
        }
        if (item->open)
            item->bytes =
                (uint32_t)MIN((uint64_t)item->bytes, (item->faint ? next : named) - item->start);
        if (!item->faint)
            here = item->start;
    }
}

/* Returns whether the sweep takes more memory than its limit. */
static bool is_over(const struct sweep *s)
{
    return s->max_bytes && s->count * sizeof(*s->items) - s->released +
                                   s->heap_cap * sizeof(*s->heap) +
                                   s->table->count * sizeof(struct symbol) +
                                   s->table->alias_count * sizeof(struct symbol_alias) +
                                   (s->names ? symbol_names_bytes(s->names) : 0) >
                               s->max_bytes;
}

/* ---- entries at the current address ---- */

/* Returns whether an address that both cover gets its name from @x, not from @y. */
static bool is_better(const struct open_item *x, const struct open_item *y)
{
    if (x->faint != y->faint)
        return y->faint;
    if (x->class != y->class)
        return x->class > y->class;
    return x->class == SYMBOL_ORDERED ? x->name > y->name : x->index > y->index;
}

static int push(struct sweep *s, size_t index)
{
    const struct symbol_item *item = &s->items[index];
    struct open_item open = { end_of(item), index, item->name, item->class, item->faint };
    size_t at = s->heap_n;

    if (!array_grow(&s->heap, &s->heap_cap, s->heap_n + 1, OPEN_FIRST))
        return -ENOMEM;
    s->heap_n++;
    for (; at && is_better(&open, &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = open;
    return s->heap_n % LOOK_EACH == 0 && is_over(s) ? -EDQUOT : 0;
}

static void pop(struct sweep *s)
{
    struct open_item last = s->heap[--s->heap_n];
    size_t at = 0, child;

    while ((child = at * 2 + 1) < s->heap_n) {
        if (child + 1 < s->heap_n && is_better(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!is_better(&s->heap[child], &last))
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
}

/* ---- output ---- */

static int emit(struct sweep *s, uint32_t name, uint64_t start, uint64_t end)
{
    struct symbol_table *t = s->table;
    struct symbol *last = t->count ? &t->symbols[t->count - 1] : NULL;

    if (last && symbol_end(last) == start && last->name == name &&
        end - last->start <= UINT32_MAX) {
        last->bytes = (uint32_t)(end - last->start);
        return 0;
    }
    if (!array_grow(&t->symbols, &s->symbol_cap, t->count + 1, SYMBOLS_FIRST))
        return -ENOMEM;
    t->symbols[t->count++] = (struct symbol){ start, (uint32_t)(end - start), name };
    return t->count % LOOK_EACH == 0 && is_over(s) ? -EDQUOT : 0;
}

/* Compares names by hash. If two names of one address collide, one alias is lost. */
static bool is_same_name(const struct symbol_item *a, const struct symbol_item *b)
{
    return a->name_n == b->name_n && a->name_hash == b->name_hash;
}

/* Keeps the names of entries @from to @to, except the name of the last range. All these entries
 * begin where that range begins. They are sorted, so equal names are adjacent. */
static int keep_aliases(struct sweep *s, size_t from, size_t to)
{
    struct symbol_table *t = s->table;
    const struct symbol_item *range = NULL, *last = NULL;

    if (!s->aliases || !t->count || t->symbols[t->count - 1].start != s->items[from].start)
        return 0;
    for (size_t i = from; i < to; i++) {
        if (s->items[i].name == t->symbols[t->count - 1].name)
            range = &s->items[i];
    }
    for (size_t i = from; i < to; i++) {
        const struct symbol_item *item = &s->items[i];

        if (item->class != SYMBOL_FUNCTION || item->boundary || item->faint ||
            (range && is_same_name(item, range)) || (last && is_same_name(last, item)))
            continue;
        if (!array_grow(&t->aliases, &s->alias_cap, t->alias_count + 1, ALIASES_FIRST))
            return -ENOMEM;
        t->aliases[t->alias_count++] = (struct symbol_alias){ item->start, item->name };
        last = item;
        if (t->alias_count % LOOK_EACH == 0 && is_over(s))
            return -EDQUOT;
    }
    return 0;
}

/* Frees the memory of the entries before @index. */
static void release(struct sweep *s, size_t index)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = index * sizeof(*s->items);
    uintptr_t start = ((uintptr_t)s->items + s->released + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)s->items + used) & ~(page - 1);

    if (!s->uses_up || used - s->released < RELEASE_BYTES || start >= end)
        return;
    if (madvise((void *)start, end - start, MADV_DONTNEED) == 0)
        s->released = end - (uintptr_t)s->items;
}

/* Pops ended entries from the top. Ended entries below the top stay until they get there, which
 * only costs memory. */
static void pop_ended(struct sweep *s, uint64_t at)
{
    while (s->heap_n && s->heap[0].end <= at)
        pop(s);
}

static int sweep_run(struct sweep *s)
{
    uint64_t at = 0;
    size_t i = 0;

    while (i < s->count || s->heap_n) {
        size_t from = i;
        uint64_t until;
        int r = 0;

        pop_ended(s, at);
        if (!s->heap_n)
            at = i < s->count ? s->items[i].start : at;
        for (; i < s->count && s->items[i].start <= at && r == 0; i++) {
            if (!s->items[i].boundary && s->items[i].bytes)
                r = push(s, i);
        }
        pop_ended(s, at);
        if (r == 0 && s->heap_n) {
            until = s->heap[0].end;
            if (i < s->count)
                until = MIN(until, s->items[i].start);
            r = emit(s, s->heap[0].name, at, until);
            if (r == 0 && i - from > 1)
                r = keep_aliases(s, from, i);
            at = until;
        }
        if (r < 0)
            return r;
        release(s, i);
    }
    return 0;
}

/* ---- tables ---- */

/* Builds *ret from the entries in @s. The caller sets the names. */
static int build(struct sweep *s, struct symbol_table *ret)
{
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    struct symbol *fit;
    int r;

    symbol_sort(s->items, s->count, comes_before);
    close_items(s->items, s->count);
    s->table = &t;
    r = sweep_run(s);
    free(s->heap);
    if (r < 0)
        return r;
    fit = t.count ? realloc(t.symbols, t.count * sizeof(*fit)) : NULL;
    if (fit)
        t.symbols = fit;
    t.string = calloc(MAX(t.count, (size_t)1), sizeof(*t.string)); /* the kernel allocates pages on
                                                                    * first use */
    if (!t.string)
        return -ENOMEM;
    *ret = t;
    t = (struct symbol_table){ 0 };
    return 0;
}

int symbol_table_build(struct symbol_builder *b, struct symbol_table *ret)
{
    struct sweep s = { .items = b->items,
                       .count = b->count,
                       .max_bytes = b->max_bytes,
                       .names = b->names,
                       .aliases = b->aliases,
                       .uses_up = true };
    int r = build(&s, ret);

    if (r == 0) {
        if (b->names)
            symbol_names_fit(b->names);
        ret->names = TAKE_PTR(b->names);
        ret->own_names = true;
    }
    symbol_builder_deinit(b);
    return r;
}

int symbol_table_build_so_far(const struct symbol_builder *b, struct symbol_table *ret)
{
    size_t bytes = b->count * sizeof(*b->items);
    _cleanup_free_ struct symbol_item *items = malloc(MAX(bytes, (size_t)1));
    struct sweep s = {
        .items = items, .count = b->count, .names = b->names, .aliases = b->aliases, .uses_up = true
    };
    int r;

    if (!items)
        return -ENOMEM;
    if (bytes)
        memcpy(items, b->items, bytes);
    r = build(&s, ret);
    if (r == 0)
        ret->names = b->names;
    return r;
}

void symbol_table_deinit(struct symbol_table *t)
{
    free(t->symbols);
    free(t->aliases);
    if (t->own_names)
        symbol_names_free(t->names);
    free(t->string);
    *t = (struct symbol_table){ 0 };
}

const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t address)
{
    size_t lo = array_first(t->count, mid, symbol_end(&t->symbols[mid]) <= address);

    return lo < t->count && t->symbols[lo].start <= address ? &t->symbols[lo] : NULL;
}

void symbol_table_forget_strings(struct symbol_table *t)
{
    uint32_t *none = t->string ? calloc(MAX(t->count, (size_t)1), sizeof(*none)) : NULL;

    if (none) {
        free(t->string);
        t->string = none;
    } else if (t->string) {
        memset(t->string, 0, t->count * sizeof(*t->string));
    }
}

size_t symbol_table_bytes(const struct symbol_table *t)
{
    return t->count * (sizeof(*t->symbols) + sizeof(*t->string)) +
           t->alias_count * sizeof(*t->aliases) +
           (t->own_names && t->names ? symbol_names_bytes(t->names) : 0);
}
