/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the symbol tables of an ELF file: selects the entries of code, and the best of several
 * names. Each table is read once, from beginning to end. Then its entries are sorted by their
 * strings, and the strings are read. Tables may lie in any order in the file.
 */
#include "elf/elf_impl.h"

#include "base/cleanup.h"
#include "elf/symbol_sort.h"

/* Bits of a rank. */
#define EXPORTED (1u << 12)
#define UNDERSCORES_SHIFT 10
#define GLOBAL (1u << 9)
#define SIZED (1u << 8)
#define LENGTH_MASK 255u
#define NAME_RANK_MASK (3u << UNDERSCORES_SHIFT | LENGTH_MASK)
_Static_assert(EXPORTED * 2 - 1 <= SYMBOL_RANK_MAX, "a rank fits");

bool elf_code_section(const struct elf_file *f, size_t index, struct elf_code *ret)
{
    const Elf64_Shdr *h = &f->layout.sections[index];
    const char *name = elf_layout_name(&f->layout, index);

    if (!(h->sh_flags & SHF_EXECINSTR) || h->sh_size > UINT64_MAX - h->sh_addr)
        return false;
    *ret =
        (struct elf_code){ .index = index,
                           .start = h->sh_addr,
                           .end = h->sh_addr + h->sh_size,
                           .plt = h->sh_type == SHT_PROGBITS &&
                                  (strcmp(name, ".plt") == 0 || strncmp(name, ".plt.", 5) == 0) };
    return true;
}

/* The end of each section of code, looked up once for all symbols. */
struct section_ends {
    uint64_t *end; /* [count]; 0: no executable section */
    size_t count;
};

/* Reads the ends, and adds the linkage tables, which have no symbols of their own. */
static int section_ends_read(struct elf_file *f, struct symbol_builder *b, struct section_ends *ret)
{
    int r = 0;

    ret->count = f->layout.section_count;
    ret->end = calloc(MAX(ret->count, (size_t)1), sizeof(*ret->end));
    if (!ret->end)
        return -ENOMEM;
    for (size_t i = 1; i < ret->count && r == 0; i++) {
        struct symbol_entry plt = { .limit = UINT64_MAX, .class = SYMBOL_LABEL };
        struct elf_code code;

        if (!elf_code_section(f, i, &code))
            continue;
        ret->end[i] = code.end;
        plt.start = code.start;
        plt.size = code.end - code.start;
        if (code.plt && plt.size)
            r = symbol_builder_add(b, &plt, SPAN("[plt]"));
    }
    return r;
}

/* ---- the table ---- */

/* Adds @sym if it is code. Until its string is read, the item's name is the string's offset. */
static int add_symbol(const struct section_ends *ends, const Elf64_Sym *sym,
                      struct symbol_builder *b)
{
    unsigned type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
    struct symbol_entry e = {
        .start = sym->st_value,
        .size = sym->st_size,
        .limit = UINT64_MAX,
        .class = type == STT_NOTYPE ? SYMBOL_LABEL : SYMBOL_FUNCTION,
        .rank = (uint16_t)((bind != STB_LOCAL ? EXPORTED : 0) |
                           (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? GLOBAL : 0) |
                           (sym->st_size > 0 ? SIZED : 0)),
    };
    struct symbol_item item;

    if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
        sym->st_shndx == SHN_UNDEF)
        return 0;
    if (sym->st_shndx < ends->count && ends->end[sym->st_shndx])
        e.limit = ends->end[sym->st_shndx];
    else if (type == STT_NOTYPE)
        return 0;
    if (!e.size && e.limit == UINT64_MAX)
        return 0; /* the section is unknown, so the symbol would cover all addresses that follow */
    if (b->count == b->max) {
        b->dropped++;
        return 0;
    }
    item = symbol_item_of(&e);
    item.name = sym->st_name;
    return symbol_builder_add_item(b, &item);
}

static Elf64_Sym symbol_64(const char *p)
{
    Elf64_Sym s;

    memcpy(&s, p, sizeof(s));
    return s;
}

static Elf64_Sym symbol_32(const char *p)
{
    Elf32_Sym s;

    memcpy(&s, p, sizeof(s));
    return (Elf64_Sym){ s.st_name, s.st_info, s.st_other, s.st_shndx, s.st_value, s.st_size };
}

static int read_table(struct elf_file *f, const Elf64_Shdr *h, const struct section_ends *ends,
                      struct symbol_builder *b)
{
    bool wide = f->layout.head.e_ident[EI_CLASS] == ELFCLASS64;
    size_t each = wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), used = 0;
    _cleanup_(elf_window_close) struct elf_window w = { 0 };
    bool first = true; /* the first entry is no symbol */
    int r = elf_window_open(f, h->sh_offset, h->sh_size, &w);

    while (r == 0 && elf_window_next(&w, w.n - used)) {
        for (used = 0; used + each <= w.n && r == 0; used += each) {
            Elf64_Sym sym = wide ? symbol_64(w.bytes + used) : symbol_32(w.bytes + used);

            if (!first)
                r = add_symbol(ends, &sym, b);
            first = false;
        }
    }
    return r;
}

/* ---- its strings ---- */

/*
 * Returns the part of the rank that depends on the name. Of several names of an address the best is
 * exported (global or weak: `write` is a weak name of the global `__write`). Among exported names,
 * the best has the fewest leading underscores, then is global rather than weak, then has a size,
 * then is shorter. (`_ZN3FooC1Ev` wins over `_ZN3FooC2Ev` by chance of order.)
 */
static unsigned name_rank(struct span name)
{
    size_t underscores = 0;

    while (underscores < 3 && underscores < name.n && name.p[underscores] == '_')
        underscores++;
    return (unsigned)(3 - underscores) << UNDERSCORES_SHIFT |
           (unsigned)(LENGTH_MASK - MIN(name.n, (size_t)LENGTH_MASK));
}

/* Returns whether @name is a mapping symbol of the ARM ABI ("$x", "$d.3"), which names no code. */
static bool is_mapping_mark(struct span name)
{
    return name.n >= 2 && name.p[0] == '$' && strchr("adtx", name.p[1]) &&
           (name.n == 2 || name.p[2] == '.');
}

static bool lies_before(const struct symbol_item *a, const struct symbol_item *b)
{
    return a->name != b->name ? a->name < b->name : a->start < b->start;
}

/* Names @item by its string at @at of @w. Returns 0; 1: it gets no name; -EDQUOT; -ENOMEM. */
static int read_name(const struct elf_window *w, size_t at, struct symbol_builder *b,
                     struct symbol_item *item)
{
    struct span name = { w->bytes + at, MIN(w->n - at, (size_t)SYMBOL_NAME_MAX) };
    int r;

    name.n = strnlen(name.p, name.n);
    name.n = span_find(name, '@'); /* "memcpy@@GLIBC_2.14" */
    if (!name.n || is_mapping_mark(name))
        return 1;
    item->rank = (item->rank | name_rank(name)) & SYMBOL_RANK_MAX;
    r = symbol_builder_name(b, item, name);
    b->dropped += r > 0;
    return r;
}

/* Gives @item the name of @from: both have the same string. */
static void take_name(const struct symbol_item *from, struct symbol_item *item)
{
    item->name = from->name;
    item->name_n = from->name_n;
    item->name_hash = from->name_hash;
    item->rank = (item->rank & ~NAME_RANK_MASK) | (from->rank & NAME_RANK_MASK);
}

/* Names the entries from @first on, and drops those without a name. */
static int read_strings(struct elf_file *f, const Elf64_Shdr *h, size_t first,
                        struct symbol_builder *b)
{
    _cleanup_(elf_window_close) struct elf_window w = { 0 };
    size_t at = first, kept = first;
    uint64_t before = UINT64_MAX; /* offset of the previous entry's string */
    int last = 1, r = 0;

    if (b->count == first)
        return 0; /* no entries: b->items may be NULL */
    r = elf_window_open(f, h->sh_offset, h->sh_size, &w);
    symbol_sort(b->items + first, b->count - first, lies_before);
    while (r == 0 && elf_window_next(&w, SYMBOL_NAME_MAX)) {
        /* A string that may be cut off at the end of this piece is read with the next piece. */
        uint64_t end = w.at + w.n - (w.left ? SYMBOL_NAME_MAX : 0);

        for (; at < b->count && b->items[at].name < end && r >= 0; at++) {
            struct symbol_item item = b->items[at];

            if (item.name != before)
                r = last = read_name(&w, (size_t)(item.name - w.at), b, &item);
            else if (last == 0)
                take_name(&b->items[kept - 1], &item);
            before = b->items[at].name;
            if (last == 0)
                b->items[kept++] = item;
        }
        r = MIN(r, 0);
    }
    b->count = kept;
    return r;
}

/* ---- both ---- */

/* Returns the section of the strings of @table; NULL if either is missing or too large. */
static const Elf64_Shdr *strings_of(const struct elf_file *f, const Elf64_Shdr *table)
{
    const Elf64_Shdr *strings;

    if (!table || table->sh_size > ELF_SYMTAB_MAX_BYTES || table->sh_flags & SHF_COMPRESSED ||
        table->sh_link >= f->layout.section_count)
        return NULL;
    strings = &f->layout.sections[table->sh_link];
    return strings->sh_size && strings->sh_size <= ELF_STRTAB_MAX_BYTES &&
                   strings->sh_type != SHT_NOBITS && !(strings->sh_flags & SHF_COMPRESSED)
               ? strings
               : NULL;
}

int elf_file_symbols(struct elf_file *f, struct symbol_builder *b)
{
    _cleanup_free_ uint64_t *end = NULL;
    const Elf64_Shdr *const tables[] = { f->symtab, f->dynsym };
    struct section_ends ends = { 0 };
    int r = section_ends_read(f, b, &ends);

    end = ends.end; /* NOLINT(clang-analyzer-deadcode.DeadStores): freed at the end */
    for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++) {
        const Elf64_Shdr *strings = strings_of(f, tables[i]);
        size_t first = b->count;

        if (!strings)
            continue;
        r = read_table(f, tables[i], &ends, b) ?: read_strings(f, strings, first, b);
        if (r == -EBADMSG) { /* the table or its strings lie outside of the file */
            b->count = first;
            r = 0;
        }
    }
    return r;
}
