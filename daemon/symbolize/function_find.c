/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/function_find.h"

#include "base/cleanup.h"
#include "base/list.h"
#include "namer/mangled.h"

bool function_file_matches(struct span path, struct span file, bool *ret_exact)
{
    struct span base = span_base_name(path);

    *ret_exact = span_eq(base, file);
    return *ret_exact ||
           (base.n > file.n && memcmp(base.p, file.p, file.n) == 0 && base.p[file.n] == '.');
}

/* Writes the offset in the file of the code at @address. Returns false if no segment contains
 * @address. */
static bool file_offset(const struct elf_image *image, uint64_t address, uint64_t *ret)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];

        if (s->exec && address >= s->vaddr && address - s->vaddr < s->file_size) {
            *ret = s->offset + (address - s->vaddr);
            return true;
        }
    }
    return false;
}

/* Returns symbol @i of both lists together, and its start in *ret_start. */
static struct span symbol_at(const struct symbol_table *t, size_t i, uint64_t *ret_start)
{
    if (i < t->count) {
        *ret_start = t->symbols[i].start;
        return symbol_name(t, &t->symbols[i]);
    }
    *ret_start = t->aliases[i - t->count].start;
    return symbol_alias_name(t, &t->aliases[i - t->count]);
}

/* Returns the numbers of all symbols of both lists, in the order in which their names are stored.
 * So each packed block of names is unpacked only once. The upper half of an entry is the place of
 * the name. The caller owns the result; NULL: no memory. */
static uint64_t *order_by_name(const struct symbol_table *t)
{
    size_t n = t->count + t->alias_count;
    uint64_t *order = malloc((n + 1) * sizeof(*order));

    for (size_t i = 0; order && i < n; i++) {
        uint32_t name = i < t->count ? t->symbols[i].name : t->aliases[i - t->count].name;

        order[i] = (uint64_t)name << 32 | (uint32_t)i;
    }
    if (order)
        qsort(order, n, sizeof(*order), list_compare_u64);
    return order;
}

/* Returns true if the digits right before @p, in @symbol, are the number @n: a mangled identifier
 * has its length before it. (In Rust an "_" separates them if the identifier begins like a number.)
 */
static bool has_length_before(struct span symbol, const char *p, size_t n)
{
    char digits[24];
    int count = snprintf(digits, sizeof(digits), "%zu", n);
    size_t before = (size_t)(p - symbol.p);

    if (before && p[-1] == '_')
        before--;
    return before > (size_t)count && memcmp(symbol.p + before - count, digits, (size_t)count) == 0;
}

/* Returns true if @symbol may be the mangled name of a function with the last part @last. Returns
 * false for parts that a compiler split off. */
static bool may_be_mangled(struct span symbol, struct span last)
{
    if (!symbol_is_mangled(symbol) || span_find(symbol, '.') < symbol.n)
        return false;
    for (struct span rest = symbol; rest.n >= last.n;) {
        const char *at = memmem(rest.p, rest.n, last.p, last.n);

        if (!at)
            return false;
        if (has_length_before(symbol, at, last.n))
            return true;
        rest = span_from(rest, (size_t)(at - rest.p) + 1);
    }
    return false;
}

static struct span last_part(struct span name)
{
    size_t colon = span_rfind(name, ':');
    struct span last = colon < name.n ? span_from(name, colon + 1) : name;

    span_take_char(&last, '~');
    return last;
}

/* Does function_find_all() for names that are spans. */
static void find_all(const struct elf_image *image, const struct span *names, size_t count,
                     bool by_prefix, uint64_t *ret_offsets)
{
    const struct symbol_table *t = &image->symbols;
    _cleanup_free_ uint64_t *order = order_by_name(t);
    uint64_t start, offset, starts[FUNCTIONS_MAX] = { 0 };

    memset(ret_offsets, 0, count * sizeof(*ret_offsets));
    for (size_t i = 0; order && i < t->count + t->alias_count; i++) {
        struct span symbol = symbol_at(t, (uint32_t)order[i], &start);

        for (size_t k = 0; k < count; k++) {
            struct span part = { symbol.p, by_prefix ? MIN(symbol.n, names[k].n) : symbol.n };

            if (span_eq(part, names[k]) && (!ret_offsets[k] || start < starts[k]) &&
                file_offset(image, start, &offset)) {
                starts[k] = start;
                ret_offsets[k] = offset;
            }
        }
    }
}

void function_find_all(const struct elf_image *image, const char *const *names, size_t count,
                       bool by_prefix, uint64_t *ret_offsets)
{
    struct span wanted[FUNCTIONS_MAX];

    for (size_t k = 0; k < count && k < FUNCTIONS_MAX; k++)
        wanted[k] = span_of(names[k]);
    find_all(image, wanted, MIN(count, (size_t)FUNCTIONS_MAX), by_prefix, ret_offsets);
}

/* Compares @symbol's readable name with @name. Returns 1 if equal, 0 if different, -EAGAIN if the
 * readable name is not known yet. */
static int is_called(struct namer *namer, uint64_t owner, struct span symbol, struct span name)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(SYMBOL_NAME_MAX + DEMANGLED_NAME_MAX);

    if (namer_name(namer, owner, symbol, &text) != 0)
        return namer ? -EAGAIN : 0;
    return span_eq(buf_span(&text), name);
}

int function_find(const struct elf_image *image, struct namer *namer, uint64_t owner,
                  struct span name, struct function_found *ret)
{
    const struct symbol_table *t = &image->symbols;
    struct span last = last_part(name), symbol;
    bool mangled = false, several = false, coming = false;
    uint64_t start, offset, first = 0;
    _cleanup_free_ uint64_t *order = NULL;
    size_t tried = 0;
    int is;

    find_all(image, &name, 1, /* by_prefix= */ false, &ret->offset);
    if (ret->offset)
        return 0;
    order = order_by_name(t);
    for (size_t i = 0; order && last.n && i < t->count + t->alias_count; i++) {
        symbol = symbol_at(t, (uint32_t)order[i], &start);
        if ((mangled && start == first) || !may_be_mangled(symbol, last) ||
            !file_offset(image, start, &offset))
            continue;
        if (++tried > FUNCTION_SYMBOLS_MAX)
            return -E2BIG;
        is = is_called(namer, owner, symbol, name);
        coming |= is < 0;
        if (is <= 0)
            continue;
        several |= mangled;
        mangled = true;
        first = start;
        ret->offset = offset;
        span_copy(symbol, ret->symbol, sizeof(ret->symbol));
    }
    if (coming)
        return -EAGAIN;
    return several ? -ENOTUNIQ : mangled ? 0 : -ENOENT;
}
