/* SPDX-License-Identifier: Apache-2.0 */
/* ELF in the memory of a process. Every address that flamed follows must lie inside the image. */
#include "hotspot/dynsym.h"

#include <elf.h>

#define DYNSYM_PHDRS_MAX 64
#define DYNSYM_DYNAMICS_MAX 512

/* Returns whether @n bytes at @address lie in the image. */
static bool contains(const struct dynsym *d, uint64_t address, uint64_t n)
{
    return address >= d->start && address <= d->end && n <= d->end - address;
}

/* Relocates an address if needed. glibc writes relocated addresses into the dynamic section; musl
 * leaves the addresses of the file. */
static uint64_t dynsym_relocate(const struct dynsym *d, uint64_t value)
{
    return contains(d, value, 0) ? value : value + d->bias;
}

static int dynsym_read_headers(struct dynsym *d, uint64_t base, uint64_t *ret_dynamic,
                               uint64_t *ret_dynamic_bytes, struct error *err)
{
    uint64_t low = UINT64_MAX, high = 0, data = UINT64_MAX, data_end = 0, first = 0, dynamic = 0,
             dynamic_bytes = 0;
    bool found_first = false;
    Elf64_Ehdr eh;
    int r = memory_read(d->m, base, &eh, sizeof(eh));

    if (r < 0)
        return r;
    if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
        eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_type != ET_DYN ||
        eh.e_phentsize != sizeof(Elf64_Phdr) || eh.e_phnum > DYNSYM_PHDRS_MAX ||
        eh.e_phoff > MEMORY_PAGE)
        return error_set(err, -ENOEXEC, "the file mapped as libjvm is no 64-bit shared object");
    for (unsigned i = 0; i < eh.e_phnum; i++) {
        Elf64_Phdr ph;

        r = memory_read(d->m, base + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph));
        if (r < 0)
            return r;
        if (ph.p_type == PT_LOAD) {
            if (ph.p_memsz > DYNSYM_IMAGE_MAX || ph.p_vaddr > DYNSYM_IMAGE_MAX)
                return error_set(err, -ENOEXEC, "libjvm's program headers are out of bounds");
            low = MIN(low, ph.p_vaddr);
            high = MAX(high, ph.p_vaddr + ph.p_memsz);
            if (ph.p_flags & PF_W) {
                data = MIN(data, ph.p_vaddr);
                data_end = MAX(data_end, ph.p_vaddr + ph.p_memsz);
            }
            if (ph.p_offset == 0 && !found_first) {
                first = ph.p_vaddr;
                found_first = true;
            }
        } else if (ph.p_type == PT_DYNAMIC) {
            dynamic = ph.p_vaddr;
            dynamic_bytes = ph.p_memsz;
        } else if (ph.p_type == PT_TLS) {
            d->tls = (struct dynsym_tls){ ph.p_vaddr, ph.p_memsz, ph.p_align };
        } else if (ph.p_type == PT_INTERP) {
            d->has_interpreter = true;
        }
    }
    if (!found_first || dynamic_bytes == 0 || dynamic > DYNSYM_IMAGE_MAX ||
        high - low > DYNSYM_IMAGE_MAX)
        return error_set(err, -ENOEXEC, "libjvm has no dynamic section");
    d->aarch64 = eh.e_machine == EM_AARCH64;
    d->bias = base - first;
    d->start = d->bias + low;
    d->end = d->bias + high;
    d->data_start = d->bias + MIN(data, data_end);
    d->data_end = d->bias + data_end;
    *ret_dynamic = d->bias + dynamic;
    *ret_dynamic_bytes = dynamic_bytes;
    return 0;
}

/* Stores an entry of the dynamic section. */
static void note(struct dynsym *d, const Elf64_Dyn *dyn)
{
    uint64_t value = dyn->d_un.d_val;

    switch (dyn->d_tag) {
    case DT_SYMTAB:
        d->symtab = dynsym_relocate(d, value);
        break;
    case DT_STRTAB:
        d->strtab = dynsym_relocate(d, value);
        break;
    case DT_STRSZ:
        d->strtab_bytes = value;
        break;
    case DT_HASH:
        d->hash = dynsym_relocate(d, value);
        break;
    case DT_GNU_HASH:
        d->gnu_hash = dynsym_relocate(d, value);
        break;
    case DT_RELA:
        d->rela.at = dynsym_relocate(d, value);
        break;
    case DT_RELASZ:
        d->rela.bytes = value;
        break;
    case DT_RELACOUNT:
        d->relative = value;
        break;
    case DT_JMPREL:
        d->jmprel.at = dynsym_relocate(d, value);
        break;
    case DT_PLTRELSZ:
        d->jmprel.bytes = value;
        break;
    default:
        break;
    }
}

int dynsym_open(struct hotspot_memory *m, uint64_t base, struct dynsym *ret, struct error *err)
{
    struct dynsym d = { .m = m };
    uint64_t dynamic = 0, dynamic_bytes = 0;
    int r;

    if (base < MEMORY_PAGE || base >= MEMORY_ADDRESS_MAX - 2 * DYNSYM_IMAGE_MAX)
        return error_set(err, -ENOEXEC, "libjvm's address is out of bounds");
    r = dynsym_read_headers(&d, base, &dynamic, &dynamic_bytes, err);
    if (r < 0)
        return r;
    for (uint64_t i = 0; i < MIN(dynamic_bytes / sizeof(Elf64_Dyn), (uint64_t)DYNSYM_DYNAMICS_MAX);
         i++) {
        Elf64_Dyn dyn;

        r = memory_read(m, dynamic + i * sizeof(dyn), &dyn, sizeof(dyn));
        if (r < 0)
            return r;
        if (dyn.d_tag == DT_NULL)
            break;
        note(&d, &dyn);
    }
    /* The dynamic linker may not have mapped this part of the file yet. Other bytes of the file lie
     * there until then. */
    if (!contains(&d, d.symtab, sizeof(Elf64_Sym)) || !contains(&d, d.strtab, d.strtab_bytes) ||
        (d.hash && !contains(&d, d.hash, 8)) || (d.gnu_hash && !contains(&d, d.gnu_hash, 16)) ||
        (!d.hash && !d.gnu_hash))
        return error_set(err, -EBADMSG, "libjvm's dynamic section is out of bounds");
    *ret = d;
    return 0;
}

struct symbol {
    Elf64_Sym sym;
    uint32_t index;
};

/* Returns whether symbol @index is a defined @name. Return: 1 and *ret; 0; -errno. */
static int dynsym_match(const struct dynsym *d, uint32_t index, const char *name,
                        struct symbol *ret)
{
    uint64_t at = d->symtab + (uint64_t)index * sizeof(Elf64_Sym);
    char text[DYNSYM_NAME_MAX];
    size_t n = strlen(name) + 1;
    Elf64_Sym sym;
    int r;

    if (n > sizeof(text) || !contains(d, at, sizeof(sym)))
        return 0;
    r = memory_read(d->m, at, &sym, sizeof(sym));
    if (r < 0)
        return r;
    if (sym.st_shndx == SHN_UNDEF || sym.st_name >= d->strtab_bytes ||
        n > d->strtab_bytes - sym.st_name)
        return 0;
    r = memory_read(d->m, d->strtab + sym.st_name, text, n);
    if (r < 0)
        return r;
    if (memcmp(text, name, n) != 0 || sym.st_value > DYNSYM_IMAGE_MAX)
        return 0;
    *ret = (struct symbol){ sym, index };
    return 1;
}

static int dynsym_find_gnu(const struct dynsym *d, const char *name, struct symbol *ret)
{
    uint32_t head[4], index, hash = 5381; /* buckets, first symbol, bloom words, shift */
    uint64_t buckets, chains;
    int r = memory_read(d->m, d->gnu_hash, head, sizeof(head));

    if (r < 0)
        return r;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (uint8_t)*c;
    buckets = d->gnu_hash + sizeof(head) + (uint64_t)head[2] * 8;
    chains = buckets + (uint64_t)head[0] * 4;
    if (head[0] == 0 || !contains(d, buckets, (uint64_t)head[0] * 4))
        return -ENOENT;
    r = memory_u32(d->m, buckets + (uint64_t)(hash % head[0]) * 4, &index);
    if (r < 0)
        return r;
    if (index < head[1])
        return -ENOENT;
    for (unsigned i = 0; i < DYNSYM_CHAIN_MAX; i++, index++) {
        uint64_t at = chains + (uint64_t)(index - head[1]) * 4;
        uint32_t h;

        if (!contains(d, at, 4))
            return -ENOENT;
        r = memory_u32(d->m, at, &h);
        if (r < 0)
            return r;
        if ((h | 1) == (hash | 1)) {
            r = dynsym_match(d, index, name, ret);
            if (r != 0)
                return MIN(r, 0);
        }
        if (h & 1)
            break;
    }
    return -ENOENT;
}

static int dynsym_find_sysv(const struct dynsym *d, const char *name, struct symbol *ret)
{
    uint32_t head[2], index, hash = 0; /* buckets, chains */
    int r = memory_read(d->m, d->hash, head, sizeof(head));

    if (r < 0)
        return r;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (uint8_t)*c;
        hash = (hash ^ ((hash & 0xf0000000) >> 24)) & 0x0fffffff;
    }
    if (head[0] == 0 || !contains(d, d->hash + 8, ((uint64_t)head[0] + head[1]) * 4))
        return -ENOENT;
    r = memory_u32(d->m, d->hash + 8 + (uint64_t)(hash % head[0]) * 4, &index);
    for (unsigned i = 0; r == 0 && index != STN_UNDEF && i < DYNSYM_CHAIN_MAX; i++) {
        if (index >= head[1])
            return -ENOENT;
        r = dynsym_match(d, index, name, ret);
        if (r != 0)
            return MIN(r, 0);
        r = memory_u32(d->m, d->hash + 8 + ((uint64_t)head[0] + index) * 4, &index);
    }
    return r < 0 ? r : -ENOENT;
}

static int find(const struct dynsym *d, const char *name, struct symbol *ret)
{
    return d->gnu_hash ? dynsym_find_gnu(d, name, ret) : dynsym_find_sysv(d, name, ret);
}

int dynsym_find(const struct dynsym *d, const char *name, uint64_t *ret)
{
    struct symbol s;
    int r = find(d, name, &s);

    if (r < 0)
        return r;
    if (!contains(d, d->bias + s.sym.st_value, 1))
        return -ENOENT;
    *ret = d->bias + s.sym.st_value;
    return 0;
}

int dynsym_find_tls(const struct dynsym *d, const char *name, uint32_t *ret_index,
                    uint64_t *ret_offset)
{
    struct symbol s;
    int r = find(d, name, &s);

    if (r < 0)
        return r;
    if (ELF64_ST_TYPE(s.sym.st_info) != STT_TLS || !d->tls.bytes || s.sym.st_value > d->tls.bytes)
        return -ENOENT;
    *ret_index = s.index;
    *ret_offset = s.sym.st_value;
    return 0;
}
