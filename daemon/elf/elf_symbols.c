/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol tables of an ELF file: which entries are code, and which of several names is the best.
 */
#include "elf/elf_impl.h"

#include "base/cleanup.h"

struct span elf_section_bytes(Elf_Scn *section, size_t max)
{
    GElf_Shdr h;
    Elf_Data *data;

    if (!section || !gelf_getshdr(section, &h) || h.sh_size > max || (h.sh_flags & SHF_COMPRESSED))
        return SPAN_NULL;
    data = elf_rawdata(section, NULL);
    return data && data->d_buf ? (struct span){ data->d_buf, data->d_size } : SPAN_NULL;
}

bool elf_symbols_load(struct elf_file *f, Elf_Scn *section, struct elf_symbols *ret)
{
    GElf_Shdr h;
    struct elf_symbols s = { 0 };

    if (!section || !gelf_getshdr(section, &h) || h.sh_size > ELF_SYMTAB_MAX_BYTES ||
        (h.sh_flags & SHF_COMPRESSED))
        return false;
    s.names = elf_section_bytes(elf_getscn(f->elf, h.sh_link), ELF_STRTAB_MAX_BYTES);
    s.data = elf_getdata(section, NULL);
    if (!s.names.n || !s.data || !s.data->d_buf || s.data->d_type != ELF_T_SYM)
        return false;
    s.count = MIN(s.data->d_size / gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT), ELF_SYMBOLS_MAX);
    *ret = s;
    return true;
}

bool elf_code_section(struct elf_file *f, size_t index, size_t names, struct elf_code *ret)
{
    Elf_Scn *section = elf_getscn(f->elf, index);
    const char *name;
    GElf_Shdr h;

    if (!section || !gelf_getshdr(section, &h) || !(h.sh_flags & SHF_EXECINSTR) ||
        h.sh_size > UINT64_MAX - h.sh_addr)
        return false;
    name = elf_strptr(f->elf, names, h.sh_name);
    *ret =
        (struct elf_code){ .index = index,
                           .start = h.sh_addr,
                           .end = h.sh_addr + h.sh_size,
                           .plt = h.sh_type == SHT_PROGBITS && name &&
                                  (strcmp(name, ".plt") == 0 || strncmp(name, ".plt.", 5) == 0) };
    return true;
}

/* End of the section that each symbol lies in, looked up once per section. */
struct section_ends {
    uint64_t *end; /* [count]; 0: no executable section */
    size_t count;
};

/* Reads the ends, and adds the linker's jumps into other files, which have no symbols of their own.
 */
static int section_ends_read(struct elf_file *f, struct symbol_builder *b, struct section_ends *ret)
{
    size_t count, names = 0;
    int r = 0;

    if (elf_getshdrnum(f->elf, &count) < 0 || elf_getshdrstrndx(f->elf, &names) < 0)
        count = 0;
    ret->count = MIN(count, (size_t)ELF_SECTIONS_MAX);
    ret->end = calloc(MAX(ret->count, (size_t)1), sizeof(*ret->end));
    if (!ret->end)
        return -ENOMEM;
    for (size_t i = 1; i < ret->count && r == 0; i++) {
        struct symbol_entry plt = { .limit = UINT64_MAX, .class = SYMBOL_LABEL };
        struct elf_code code;

        if (!elf_code_section(f, i, names, &code))
            continue;
        ret->end[i] = code.end;
        plt.start = code.start;
        plt.size = code.end - code.start;
        if (code.plt && plt.size)
            r = symbol_builder_add(b, &plt, SPAN("[plt]"));
    }
    return r;
}

/*
 * Of several names of one address: those that are exported (global or weak: `write` is a weak name
 * of the global `__write`) over local ones, then the one with the fewest leading underscores,
 * global over weak, one with a size over one without, and the shorter one (`_ZN3FooC1Ev` over
 * `_ZN3FooC2Ev` by chance of order).
 */
static uint16_t symbol_rank(const GElf_Sym *sym, struct span name)
{
    unsigned bind = GELF_ST_BIND(sym->st_info), rank;
    size_t underscores = 0;

    while (underscores < 3 && underscores < name.n && name.p[underscores] == '_')
        underscores++;
    rank = bind != STB_LOCAL;
    rank = rank << 2 | (unsigned)(3 - underscores);
    rank = rank << 1 | (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE);
    rank = rank << 1 | (sym->st_size > 0);
    rank = rank << 8 | (unsigned)(255 - MIN(name.n, (size_t)255));
    return (uint16_t)rank;
}

static struct span symbol_text(const struct elf_symbols *s, uint64_t offset)
{
    struct span name;

    if (offset >= s->names.n)
        return SPAN_NULL;
    name = span_from(s->names, (size_t)offset);
    name.n = strnlen(name.p, MIN(name.n, (size_t)SYMBOL_NAME_MAX));
    name.n = span_find(name, '@'); /* "memcpy@@GLIBC_2.14" */
    return name;
}

/* "$x", "$d.3": marks of the ARM ABI, no names. */
static bool is_mapping_mark(struct span name)
{
    return name.n >= 2 && name.p[0] == '$' && strchr("adtx", name.p[1]) &&
           (name.n == 2 || name.p[2] == '.');
}

static int add_symbol(const struct elf_symbols *s, const struct section_ends *ends,
                      const GElf_Sym *sym, struct symbol_builder *b)
{
    unsigned type = GELF_ST_TYPE(sym->st_info);
    struct span name = symbol_text(s, sym->st_name);
    struct symbol_entry e = {
        .start = sym->st_value,
        .size = sym->st_size,
        .limit = UINT64_MAX,
        .class = type == STT_NOTYPE ? SYMBOL_LABEL : SYMBOL_FUNCTION,
    };

    if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
        sym->st_shndx == SHN_UNDEF || !name.n || is_mapping_mark(name))
        return 0;
    if (sym->st_shndx < ends->count && ends->end[sym->st_shndx])
        e.limit = ends->end[sym->st_shndx];
    else if (type == STT_NOTYPE)
        return 0;
    if (!e.size && e.limit == UINT64_MAX)
        return 0; /* of an unknown section: it would cover whatever follows */
    e.rank = symbol_rank(sym, name);
    return symbol_builder_add(b, &e, name);
}

int elf_file_symbols(struct elf_file *f, struct symbol_builder *b)
{
    _cleanup_free_ uint64_t *end = NULL;
    Elf_Scn *const sections[] = { f->symtab, f->dynsym };
    struct section_ends ends = { 0 };
    int r = section_ends_read(f, b, &ends);

    end = ends.end; /* NOLINT(clang-analyzer-deadcode.DeadStores): freed at the end */
    for (size_t i = 0; i < ARRAY_SIZE(sections) && r == 0; i++) {
        struct elf_symbols s;

        if (!elf_symbols_load(f, sections[i], &s))
            continue;
        for (size_t n = 1; n < s.count && r == 0; n++) {
            GElf_Sym sym;

            if (gelf_getsym(s.data, (int)n, &sym))
                r = add_symbol(&s, &ends, &sym, b);
        }
    }
    return r;
}
