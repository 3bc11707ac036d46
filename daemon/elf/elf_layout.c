/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_layout.h"

#include "base/macros.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(ELF_SECTIONS_MAX * sizeof(Elf64_Shdr) +
                       ELF_PROGRAM_HEADERS_MAX * sizeof(Elf64_Phdr) + ELF_SECTION_NAMES_MAX_BYTES <
                   (size_t)1 << 20,
               "as the header says");

/* Returns how many of @n bytes at @at were read, fewer at the end of the file; or -errno. */
static ssize_t read_at(const struct elf_source *s, uint64_t at, void *p, size_t n)
{
    size_t done = 0;

    if (s->fd < 0) {
        done = at < s->memory.n ? MIN(n, s->memory.n - (size_t)at) : 0;
        if (done)
            memcpy(p, s->memory.p + at, done);
        return (ssize_t)done;
    }
    if (at > INT64_MAX || n > INT64_MAX - at)
        return 0;
    while (done < n) {
        ssize_t got = pread(s->fd, (char *)p + done, n - done, (off_t)(at + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

size_t elf_source_read(const struct elf_source *s, uint64_t at, void *p, size_t n)
{
    ssize_t got = read_at(s, at, p, n);

    return got < 0 ? 0 : (size_t)got;
}

/* ---- headers of 32 bits ---- */

static void widen_head(const void *narrow, void *wide)
{
    Elf64_Ehdr *to = wide;
    Elf32_Ehdr h;

    memcpy(&h, narrow, sizeof(h));
    *to = (Elf64_Ehdr){ .e_type = h.e_type,
                        .e_machine = h.e_machine,
                        .e_entry = h.e_entry,
                        .e_phoff = h.e_phoff,
                        .e_shoff = h.e_shoff,
                        .e_phnum = h.e_phnum,
                        .e_shnum = h.e_shnum,
                        .e_shstrndx = h.e_shstrndx };
    memcpy(to->e_ident, h.e_ident, sizeof(to->e_ident));
}

static void widen_program(const void *narrow, void *wide)
{
    Elf32_Phdr h;

    memcpy(&h, narrow, sizeof(h));
    *(Elf64_Phdr *)wide = (Elf64_Phdr){ h.p_type,  h.p_flags,  h.p_offset, h.p_vaddr,
                                        h.p_paddr, h.p_filesz, h.p_memsz,  h.p_align };
}

static void widen_section(const void *narrow, void *wide)
{
    Elf32_Shdr h;

    memcpy(&h, narrow, sizeof(h));
    *(Elf64_Shdr *)wide =
        (Elf64_Shdr){ h.sh_name, h.sh_type, h.sh_flags, h.sh_addr,      h.sh_offset,
                      h.sh_size, h.sh_link, h.sh_info,  h.sh_addralign, h.sh_entsize };
}

/* A kind of header, in files of 64 and 32 bits. */
struct kind {
    size_t bytes, narrow_bytes;
    void (*widen)(const void *narrow, void *wide);
};

static const struct kind HEAD = { sizeof(Elf64_Ehdr), sizeof(Elf32_Ehdr), widen_head };
static const struct kind PROGRAM = { sizeof(Elf64_Phdr), sizeof(Elf32_Phdr), widen_program };
static const struct kind SECTION = { sizeof(Elf64_Shdr), sizeof(Elf32_Shdr), widen_section };

/* Reads up to *@count headers at @at into @to, as of 64 bits. @class: of the file. Sets *@count to
 * how many the file has. Returns 0 or -errno. */
static int read_headers(const struct elf_source *s, unsigned char class, const struct kind *kind,
                        uint64_t at, void *to, size_t *count)
{
    size_t bytes = class == ELFCLASS64 ? kind->bytes : kind->narrow_bytes;
    ssize_t got = read_at(s, at, to, *count * bytes);

    *count = got < 0 ? 0 : (size_t)got / bytes;
    for (size_t i = class == ELFCLASS64 ? 0 : *count; i-- > 0;) /* backwards: each becomes larger */
        kind->widen((char *)to + i * bytes, (char *)to + i * kind->bytes);
    return got < 0 ? (int)got : 0;
}

/* ---- all headers ---- */

static int read_head(const struct elf_source *s, Elf64_Ehdr *ret)
{
    unsigned char ident[EI_NIDENT] = { 0 };
    ssize_t got = read_at(s, 0, ident, sizeof(ident));
    size_t count = 1;
    int r;

    if (got < 0)
        return (int)got;
    if (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != ELFDATA2LSB ||
        ident[EI_VERSION] != EV_CURRENT ||
        (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32))
        return -ENOEXEC;
    r = read_headers(s, ident[EI_CLASS], &HEAD, 0, ret, &count);
    if (r < 0)
        return r;
    return count && ret->e_ident[EI_CLASS] == ident[EI_CLASS] ? 0 : -ENOEXEC;
}

static int read_programs(const struct elf_source *s, struct elf_layout *l)
{
    size_t count = MIN((size_t)l->head.e_phnum, (size_t)ELF_PROGRAM_HEADERS_MAX);

    if (!count || !l->head.e_phoff)
        return 0;
    l->programs = calloc(count, sizeof(*l->programs));
    if (!l->programs)
        return -ENOMEM;
    l->program_count = count;
    return read_headers(s, l->head.e_ident[EI_CLASS], &PROGRAM, l->head.e_phoff, l->programs,
                        &l->program_count);
}

/* Sets *@ret to the number of sections that the file claims to have. If it has very many, their
 * number is in the first one. */
static int claimed_sections(const struct elf_source *s, const Elf64_Ehdr *head, uint64_t *ret)
{
    Elf64_Shdr first;
    size_t count = 1;
    int r;

    *ret = head->e_shoff ? head->e_shnum : 0;
    if (!head->e_shoff || head->e_shnum)
        return 0;
    r = read_headers(s, head->e_ident[EI_CLASS], &SECTION, head->e_shoff, &first, &count);
    if (count)
        *ret = first.sh_size;
    return r;
}

static int read_sections(const struct elf_source *s, struct elf_layout *l)
{
    uint64_t claimed;
    size_t count;
    int r = claimed_sections(s, &l->head, &claimed);

    count = (size_t)MIN(claimed, (uint64_t)ELF_SECTIONS_MAX);
    if (r < 0 || !count)
        return r;
    l->sections = calloc(count, sizeof(*l->sections));
    if (!l->sections)
        return -ENOMEM;
    l->section_count = count;
    return read_headers(s, l->head.e_ident[EI_CLASS], &SECTION, l->head.e_shoff, l->sections,
                        &l->section_count);
}

static int read_names(const struct elf_source *s, struct elf_layout *l)
{
    size_t index = l->head.e_shstrndx;
    const Elf64_Shdr *h;
    ssize_t got;

    if (index == SHN_XINDEX && l->section_count)
        index = l->sections[0].sh_link;
    if (index == SHN_UNDEF || index >= l->section_count)
        return 0;
    h = &l->sections[index];
    if (h->sh_type != SHT_STRTAB || h->sh_flags & SHF_COMPRESSED ||
        h->sh_size > ELF_SECTION_NAMES_MAX_BYTES)
        return 0;
    l->names = calloc(1, (size_t)h->sh_size + 1);
    if (!l->names)
        return -ENOMEM;
    got = read_at(s, h->sh_offset, l->names, (size_t)h->sh_size);
    l->names_n = got < 0 ? 0 : (size_t)got;
    return got < 0 ? (int)got : 0;
}

int elf_layout_read(const struct elf_source *s, struct elf_layout *ret)
{
    struct elf_layout l = { 0 };
    int r = read_head(s, &l.head) ?: read_programs(s, &l) ?: read_sections(s, &l) ?:
                                                            read_names(s, &l);

    if (r < 0)
        elf_layout_deinit(&l);
    else
        *ret = l;
    return r;
}

void elf_layout_deinit(struct elf_layout *l)
{
    free(l->programs);
    free(l->sections);
    free(l->names);
    *l = (struct elf_layout){ 0 };
}

const char *elf_layout_name(const struct elf_layout *l, size_t i)
{
    uint32_t at = i < l->section_count ? l->sections[i].sh_name : UINT32_MAX;

    return at < l->names_n ? l->names + at : "";
}
