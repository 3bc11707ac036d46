/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finds .eh_frame in an ELF file: by its section header, or where those are stripped by the program
 * header of .eh_frame_hdr, which points at it. Reads by pread(2) into our own memory, so that a
 * file that changes under us cannot hurt.
 */
#include "unwind_tables/ehframe.h"

#include "base/cleanup.h"

#include <elf.h>

#include <sys/stat.h>

#define ELF_PROGRAM_HEADERS_MAX 256
#define ELF_SECTIONS_MAX 4096
#define ELF_NAMES_MAX ((size_t)1 << 20)
#define EH_FRAME_HDR_SDATA4_PCREL 0x1b

struct elf {
    int fd;
    uint64_t bytes;
    Elf64_Ehdr head;
    Elf64_Phdr programs[ELF_PROGRAM_HEADERS_MAX];
    size_t program_count;
};

struct section {
    uint64_t offset, vaddr, bytes;
};

static int read_exact(const struct elf *e, uint64_t offset, void *p, size_t n)
{
    size_t done = 0;

    if (offset > e->bytes || n > e->bytes - offset)
        return -ENOEXEC;
    while (done < n) {
        ssize_t got = pread(e->fd, (char *)p + done, n - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return -ENOEXEC; /* shorter than it was */
        done += (size_t)got;
    }
    return 0;
}

static int read_head(struct elf *e)
{
    int r = read_exact(e, 0, &e->head, sizeof(e->head));

    if (r < 0)
        return r;
    if (memcmp(e->head.e_ident, ELFMAG, SELFMAG) != 0 || e->head.e_ident[EI_CLASS] != ELFCLASS64 ||
        e->head.e_ident[EI_DATA] != ELFDATA2LSB || e->head.e_machine != EM_X86_64 ||
        e->head.e_phentsize != sizeof(Elf64_Phdr) || e->head.e_phnum > ELF_PROGRAM_HEADERS_MAX)
        return -ENOEXEC;
    e->program_count = e->head.e_phnum;
    return read_exact(e, e->head.e_phoff, e->programs, e->program_count * sizeof(Elf64_Phdr));
}

/* 0, or -ENOENT when the section headers do not tell. */
static int section_by_header(const struct elf *e, struct section *ret)
{
    _cleanup_free_ Elf64_Shdr *headers = NULL;
    _cleanup_free_ char *names = NULL;
    size_t count = e->head.e_shnum, names_bytes;

    if (count == 0 || count > ELF_SECTIONS_MAX || e->head.e_shentsize != sizeof(Elf64_Shdr) ||
        e->head.e_shstrndx >= count)
        return -ENOENT;
    headers = calloc(count, sizeof(*headers));
    if (!headers)
        return -ENOMEM;
    if (read_exact(e, e->head.e_shoff, headers, count * sizeof(*headers)) < 0)
        return -ENOENT;
    names_bytes = headers[e->head.e_shstrndx].sh_size;
    if (names_bytes == 0 || names_bytes > ELF_NAMES_MAX)
        return -ENOENT;
    names = malloc(names_bytes);
    if (!names)
        return -ENOMEM;
    if (read_exact(e, headers[e->head.e_shstrndx].sh_offset, names, names_bytes) < 0)
        return -ENOENT;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Shdr *h = &headers[i];

        if (h->sh_name >= names_bytes || (h->sh_type != SHT_PROGBITS && h->sh_type != 0x70000001) ||
            strncmp(names + h->sh_name, ".eh_frame", names_bytes - h->sh_name) != 0)
            continue;
        *ret = (struct section){ h->sh_offset, h->sh_addr, h->sh_size };
        return 0;
    }
    return -ENOENT;
}

/* 0, or -ENOENT. The size is what is left of the segment: the section ends by itself. */
static int section_by_program(const struct elf *e, struct section *ret)
{
    for (size_t i = 0; i < e->program_count; i++) {
        const Elf64_Phdr *h = &e->programs[i];
        struct {
            uint8_t version, pointer, count, table;
            int32_t offset;
        } hdr;
        uint64_t vaddr;

        if (h->p_type != PT_GNU_EH_FRAME || read_exact(e, h->p_offset, &hdr, sizeof(hdr)) < 0 ||
            hdr.version != 1 || hdr.pointer != EH_FRAME_HDR_SDATA4_PCREL)
            continue;
        vaddr = h->p_vaddr + 4 + (uint64_t)(int64_t)hdr.offset;
        for (size_t j = 0; j < e->program_count; j++) {
            const Elf64_Phdr *load = &e->programs[j];

            if (load->p_type != PT_LOAD || vaddr < load->p_vaddr ||
                vaddr - load->p_vaddr >= load->p_filesz)
                continue;
            *ret = (struct section){ load->p_offset + (vaddr - load->p_vaddr), vaddr,
                                     load->p_filesz - (vaddr - load->p_vaddr) };
            return 0;
        }
    }
    return -ENOENT;
}

int ehframe_read(int fd, struct ehframe_table *ret, struct error *err)
{
    _cleanup_free_ struct elf *e = calloc(1, sizeof(*e));
    _cleanup_free_ char *bytes = NULL;
    struct ehframe_table t = { 0 };
    struct section s = { 0 };
    struct stat st;
    int r;

    if (!e)
        return -ENOMEM;
    if (fstat(fd, &st) < 0)
        return error_errno(err, "cannot read the size of an executable file");
    e->fd = fd;
    e->bytes = (uint64_t)st.st_size;
    r = read_head(e);
    if (r < 0)
        return error_set(err, r, "not an ELF file for x86-64");
    for (size_t i = 0; i < e->program_count && t.segment_count < EHFRAME_SEGMENTS_MAX; i++) {
        const Elf64_Phdr *h = &e->programs[i];

        if (h->p_type == PT_LOAD && (h->p_flags & PF_X) && h->p_filesz <= e->bytes &&
            h->p_offset <= e->bytes)
            t.segments[t.segment_count++] =
                (struct ehframe_segment){ h->p_offset, h->p_vaddr, h->p_filesz };
    }
    r = section_by_header(e, &s);
    if (r == -ENOENT)
        r = section_by_program(e, &s);
    if (r == -ENOENT) { /* code without tables: a file all the same */
        *ret = t;
        return 0;
    }
    if (r < 0)
        return error_code(err, r, "cannot read the sections of an ELF file");
    if (s.offset > e->bytes)
        s.bytes = 0;
    else
        s.bytes = MIN(s.bytes, e->bytes - s.offset);
    if (s.bytes > EHFRAME_MAX_BYTES)
        return error_set(err, -EFBIG, "an .eh_frame of %llu bytes is too large",
                         (unsigned long long)s.bytes);
    bytes = malloc(s.bytes + 1);
    if (!bytes)
        return -ENOMEM;
    r = read_exact(e, s.offset, bytes, s.bytes);
    if (r == 0)
        r = ehframe_parse((struct span){ bytes, s.bytes }, s.vaddr, &t);
    if (r < 0)
        return error_code(err, r, "cannot read the .eh_frame of an ELF file");
    *ret = t;
    return 0;
}
