/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finds .eh_frame in an ELF file by its section header. If section headers are stripped, uses the
 * program header of .eh_frame_hdr, which points at it. Reads by pread(2) into our own memory, so
 * that concurrent changes of the file do no harm.
 */
#include "unwind_tables/ehframe.h"

#include "base/cleanup.h"
#include "base/reading_turn.h"
#include "elf/image_code.h"
#include "unwind_tables/image_rows.h"
#include "unwind_tables/musl_rows.h"

#include <elf.h>

#include <sys/stat.h>

#define ELF_PROGRAM_HEADERS_MAX 256
#define ELF_SECTIONS_MAX 4096
#define ELF_NAMES_MAX ((size_t)1 << 20)
#define EH_FRAME_HDR_SDATA4_PCREL 0x1b
#ifdef __aarch64__
#define MACHINE EM_AARCH64
#define MACHINE_NAME "aarch64"
#else
#define MACHINE EM_X86_64
#define MACHINE_NAME "x86-64"
#endif

struct elf {
    int fd;
    uint64_t bytes;
    Elf64_Ehdr head;
    Elf64_Phdr programs[ELF_PROGRAM_HEADERS_MAX];
    size_t program_count;
};

/* The sections that matter; bytes 0: the file has no such section. */
struct sections {
    struct ehframe_segment frames, image, code, plt;
};

static int read_exact(const void *elf, uint64_t offset, void *p, size_t n)
{
    const struct elf *e = elf;
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
            return -ENOEXEC; /* the file was truncated */
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
        e->head.e_ident[EI_DATA] != ELFDATA2LSB || e->head.e_machine != MACHINE ||
        e->head.e_phentsize != sizeof(Elf64_Phdr) || e->head.e_phnum > ELF_PROGRAM_HEADERS_MAX)
        return -ENOEXEC;
    e->program_count = e->head.e_phnum;
    return read_exact(e, e->head.e_phoff, e->programs, e->program_count * sizeof(Elf64_Phdr));
}

static bool is_called(const char *names, size_t names_bytes, const Elf64_Shdr *h, const char *name)
{
    return h->sh_name < names_bytes &&
           strncmp(names + h->sh_name, name, names_bytes - h->sh_name) == 0;
}

/* Finds sections by the section headers, if the file has any. Returns 0 or -ENOMEM. */
static int find_sections(const struct elf *e, struct sections *ret)
{
    _cleanup_free_ Elf64_Shdr *headers = NULL;
    _cleanup_free_ char *names = NULL;
    size_t count = e->head.e_shnum, names_bytes;

    if (count == 0 || count > ELF_SECTIONS_MAX || e->head.e_shentsize != sizeof(Elf64_Shdr) ||
        e->head.e_shstrndx >= count)
        return 0;
    headers = calloc(count, sizeof(*headers));
    if (!headers)
        return -ENOMEM;
    if (read_exact(e, e->head.e_shoff, headers, count * sizeof(*headers)) < 0)
        return 0;
    names_bytes = headers[e->head.e_shstrndx].sh_size;
    if (names_bytes == 0 || names_bytes > ELF_NAMES_MAX)
        return 0;
    names = malloc(names_bytes);
    if (!names)
        return -ENOMEM;
    if (read_exact(e, headers[e->head.e_shstrndx].sh_offset, names, names_bytes) < 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Shdr *h = &headers[i];
        struct ehframe_segment s = { h->sh_offset, h->sh_addr, h->sh_size };

        if (h->sh_type != SHT_PROGBITS && h->sh_type != SHT_X86_64_UNWIND)
            continue;
        if (!ret->frames.bytes && is_called(names, names_bytes, h, ".eh_frame"))
            ret->frames = s;
        else if (is_called(names, names_bytes, h, IMAGE_SECTION))
            ret->image = s;
        else if (is_called(names, names_bytes, h, IMAGE_CODE_SECTION))
            ret->code = s;
        else if (is_called(names, names_bytes, h, ".plt"))
            ret->plt = s;
    }
    return 0;
}

/* Finds .eh_frame by program headers. Its size is the rest of the segment: a terminator ends the
 * section. */
static void find_by_program(const struct elf *e, struct ehframe_segment *ret)
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
            *ret = (struct ehframe_segment){ load->p_offset + (vaddr - load->p_vaddr), vaddr,
                                             load->p_filesz - (vaddr - load->p_vaddr) };
            return;
        }
    }
}

/* Limits a section to the bytes that the file has. */
static void clamp_section(const struct elf *e, struct ehframe_segment *s)
{
    s->bytes = s->offset > e->bytes ? 0 : MIN(s->bytes, e->bytes - s->offset);
}

static int read_rows(const struct elf *e, const struct ehframe_segment *s, struct ehframe_table *t)
{
    char *bytes;
    int r;

    bytes = malloc(s->bytes + 1);
    if (!bytes)
        return -ENOMEM;
    r = read_exact(e, s->offset, bytes, s->bytes)
            ?: ehframe_parse((struct span){ bytes, s->bytes }, s->vaddr, CFA_HOST, t);
    free(bytes);
    ehframe_tidy(t);
    return r;
}

static int read_frames(const struct elf *e, const struct ehframe_segment *s,
                       struct ehframe_table *t, struct error *err)
{
    bool waits = s->bytes >= READING_SMALL_BYTES;
    int r;

    if (s->bytes > EHFRAME_MAX_BYTES)
        return error_set(err, -EFBIG, "an .eh_frame of %llu bytes is too large",
                         (unsigned long long)s->bytes);
    if (waits)
        reading_turn_begin();
    r = read_rows(e, s, t);
    if (waits)
        reading_turn_end();
    return r < 0 ? error_code(err, r, "cannot read the .eh_frame of an ELF file") : 0;
}

int ehframe_read(int fd, struct ehframe_table *ret, struct error *err)
{
    _cleanup_free_ struct elf *e = calloc(1, sizeof(*e));
    struct ehframe_table t = { 0 };
    struct sections s = { 0 };
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
        return error_set(err, r, "not an ELF file for " MACHINE_NAME);
    for (size_t i = 0; i < e->program_count && t.segment_count < EHFRAME_SEGMENTS_MAX; i++) {
        const Elf64_Phdr *h = &e->programs[i];

        if (h->p_type == PT_LOAD && (h->p_flags & PF_X) && h->p_filesz <= e->bytes &&
            h->p_offset <= e->bytes)
            t.segments[t.segment_count++] =
                (struct ehframe_segment){ h->p_offset, h->p_vaddr, h->p_filesz };
    }
    r = find_sections(e, &s);
    if (r == 0 && !s.frames.bytes)
        find_by_program(e, &s.frames);
    clamp_section(e, &s.frames);
    clamp_section(e, &s.code);
    if (r == 0)
        r = read_frames(e, &s.frames, &t, err);
    if (r == 0 && CFA_HOST == CFA_AARCH64) {
        r = ehframe_add_plt(&s.plt, &t);
        if (r < 0)
            error_code(err, r, "cannot add rules of the PLT");
    }
    if (r == 0 && s.image.bytes && CFA_HOST == CFA_X86_64) {
        r = image_rows_add(read_exact, e, &s.code, &t);
        if (r < 0)
            error_code(err, r, "cannot read the code of a native image");
    }
    if (r == 0 && CFA_HOST == CFA_X86_64) {
        r = musl_rows_add(read_exact, e, &s.code, e->head.e_entry, &t);
        if (r < 0)
            error_code(err, r, "cannot read the code of musl");
    }
    if (r < 0)
        ehframe_deinit(&t);
    else
        *ret = t;
    return r;
}
