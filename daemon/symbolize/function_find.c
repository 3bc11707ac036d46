/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/function_find.h"

#include "base/cleanup.h"
#include "symbolize/demangle.h"

bool function_file_matches(struct span path, struct span file, bool *ret_exact)
{
    struct span base = span_base_name(path);

    *ret_exact = span_eq(base, file);
    return *ret_exact ||
           (base.n > file.n && memcmp(base.p, file.p, file.n) == 0 && base.p[file.n] == '.');
}

/* Where in the file the code at @address lies. */
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

/* The symbol number @i of both lists, and where it begins. */
static struct span symbol_at(const struct symbol_table *t, size_t i, uint64_t *ret_start)
{
    if (i < t->count) {
        *ret_start = t->symbols[i].start;
        return symbol_name(t, &t->symbols[i]);
    }
    *ret_start = t->aliases[i - t->count].start;
    return symbol_alias_name(t, &t->aliases[i - t->count]);
}

/* Whether @symbol is the mangled name of @name, and no part that a compiler cut off. @last: what
 * stands behind the last "::" of @name, which is in each such symbol. */
static bool is_mangled_name(struct span symbol, struct span name, struct span last)
{
    _cleanup_buf_ struct buf text = BUF_NULL;

    if (!span_starts_with(symbol, "_") || span_find(symbol, '.') < symbol.n ||
        !memmem(symbol.p, symbol.n, last.p, last.n))
        return false;
    buf_init(&text, DEMANGLE_OUTPUT_MAX);
    demangle(symbol, &text);
    return span_eq(buf_span(&text), name);
}

static struct span last_part(struct span name)
{
    size_t colon = span_rfind(name, ':');
    struct span last = colon < name.n ? span_from(name, colon + 1) : name;

    span_take_char(&last, '~');
    return last;
}

bool function_find_symbol(const struct elf_image *image, struct span symbol, uint64_t *ret)
{
    const struct symbol_table *t = &image->symbols;
    uint64_t start;

    for (size_t i = 0; i < t->count + t->alias_count; i++) {
        if (span_eq(symbol_at(t, i, &start), symbol) && file_offset(image, start, ret))
            return true;
    }
    return false;
}

int function_find(const struct elf_image *image, struct span name, struct function_found *ret)
{
    const struct symbol_table *t = &image->symbols;
    struct span last = last_part(name), symbol;
    bool mangled = false;
    uint64_t start, offset, first = 0;

    if (function_find_symbol(image, name, &ret->offset))
        return 0;
    for (size_t i = 0; last.n && i < t->count + t->alias_count; i++) {
        symbol = symbol_at(t, i, &start);
        if ((mangled && start == first) || !is_mangled_name(symbol, name, last) ||
            !file_offset(image, start, &offset))
            continue;
        if (mangled)
            return -ENOTUNIQ;
        mangled = true;
        first = start;
        ret->offset = offset;
        span_copy(symbol, ret->symbol, sizeof(ret->symbol));
    }
    return mangled ? 0 : -ENOENT;
}
