/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file's headers, segments and build-id. */
#include "elf/elf_impl.h"

#include "base/cleanup.h"
#include "elf/image_code.h"

#include <sys/stat.h>

#define ALIGN4(n) (((n) + 3) & ~UINT64_C(3)) /* as notes are padded */

/* Reads the build-id from the @bytes of notes at @at, if there is one. */
static void read_build_id(struct elf_file *f, uint64_t at, uint64_t bytes)
{
    _cleanup_free_ char *notes = NULL;
    size_t n;

    if (f->build_id_n || !bytes || bytes > ELF_NOTES_MAX_BYTES)
        return;
    notes = malloc((size_t)bytes);
    n = notes ? elf_source_read(&f->source, at, notes, (size_t)bytes) : 0;
    for (size_t i = 0; i <= n && n - i >= sizeof(Elf64_Nhdr);) {
        uint64_t name = i + sizeof(Elf64_Nhdr), desc;
        Elf64_Nhdr h;

        memcpy(&h, notes + i, sizeof(h));
        desc = name + ALIGN4((uint64_t)h.n_namesz);
        if (desc > n || h.n_descsz > n - desc)
            return;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == sizeof(ELF_NOTE_GNU) && h.n_descsz &&
            h.n_descsz <= ELF_BUILD_ID_MAX &&
            memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
            f->build_id_n = h.n_descsz;
            memcpy(f->build_id, notes + desc, f->build_id_n);
            return;
        }
        i = desc + ALIGN4((uint64_t)h.n_descsz);
    }
}

static void read_segments(struct elf_file *f)
{
    for (size_t i = 0; i < f->layout.program_count; i++) {
        const Elf64_Phdr *h = &f->layout.programs[i];

        if (h->p_type == PT_LOAD && f->segment_count < ELF_SEGMENTS_MAX)
            f->segments[f->segment_count++] = (struct elf_segment){
                .offset = h->p_offset,
                .file_size = h->p_filesz,
                .vaddr = h->p_vaddr,
                .exec = h->p_flags & PF_X,
            };
        else if (h->p_type == PT_NOTE)
            read_build_id(f, h->p_offset, h->p_filesz);
    }
}

char *elf_section_bytes(const struct elf_file *f, const Elf64_Shdr *section, size_t max,
                        size_t *ret_n)
{
    bool can = section && section->sh_size && section->sh_size <= max &&
               !(section->sh_flags & SHF_COMPRESSED);
    char *bytes = can ? malloc((size_t)section->sh_size) : NULL;

    *ret_n = bytes
                 ? elf_source_read(&f->source, section->sh_offset, bytes, (size_t)section->sh_size)
                 : 0;
    return bytes;
}

static void read_sections(struct elf_file *f)
{
    for (size_t i = 1; i < f->layout.section_count; i++) {
        const Elf64_Shdr *h = &f->layout.sections[i];
        const char *name = elf_layout_name(&f->layout, i);

        if (h->sh_type == SHT_SYMTAB && !f->symtab) {
            f->symtab = h;
        } else if (h->sh_type == SHT_DYNSYM && !f->dynsym) {
            f->dynsym = h;
        } else if (h->sh_type == SHT_PROGBITS) {
            if (strcmp(name, ".gnu_debuglink") == 0)
                f->debuglink = h;
            else if (strcmp(name, ".gnu_debugdata") == 0)
                f->debugdata = h;
            else if (strcmp(name, IMAGE_CODE_SECTION) == 0)
                f->image_code = *h;
            f->native_image |= strcmp(name, IMAGE_SECTION) == 0;
        } else if (h->sh_type == SHT_NOTE) {
            read_build_id(f, h->sh_offset,
                          h->sh_size); /* in a debug file the segments may be empty */
        }
    }
}

static int open_elf(struct elf_file *f, struct error *err)
{
    int r = elf_layout_read(&f->source, &f->layout);

    if (r == -ENOEXEC)
        return error_set(err, r, "not an ELF file");
    if (r < 0)
        return error_code(err, r, "cannot read the file's headers");
    read_segments(f);
    read_sections(f);
    return 0;
}

int elf_file_open(int fd, struct elf_file **ret, struct error *err)
{
    _cleanup_(elf_file_closep) struct elf_file *f = NULL;
    struct stat st;
    int r;

    if (fstat(fd, &st) < 0)
        return error_errno(err, "cannot stat the file");
    if (!S_ISREG(st.st_mode) || st.st_size <= 0)
        return error_set(err, -ENOEXEC, "not a regular file with content");
    if ((uint64_t)st.st_size > ELF_FILE_MAX_BYTES)
        return error_set(err, -EFBIG, "the file is larger than %llu bytes",
                         (unsigned long long)ELF_FILE_MAX_BYTES);
    f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->source.fd = fd;
    r = open_elf(f, err);
    if (r == 0)
        *ret = TAKE_PTR(f);
    return r;
}

int elf_file_open_memory(struct buf *bytes, struct elf_file **ret, struct error *err)
{
    _cleanup_(elf_file_closep) struct elf_file *f = calloc(1, sizeof(*f));
    size_t n;
    int r;

    if (f)
        f->memory = buf_take(bytes, &n);
    if (!f || !f->memory) {
        buf_deinit(bytes);
        return -ENOMEM;
    }
    f->source = (struct elf_source){ .fd = -1, .memory = { f->memory, n } };
    r = open_elf(f, err);
    if (r == 0)
        *ret = TAKE_PTR(f);
    return r;
}

struct elf_file *elf_file_close(struct elf_file *f)
{
    if (!f)
        return NULL;
    elf_layout_deinit(&f->layout);
    free(f->memory);
    free(f);
    return NULL;
}

bool elf_file_is_native_image(const struct elf_file *f)
{
    return f->native_image;
}

bool elf_file_has_symtab(const struct elf_file *f)
{
    return f->symtab;
}

struct span elf_file_build_id(const struct elf_file *f)
{
    return (struct span){ (const char *)f->build_id, f->build_id_n };
}

const struct elf_segment *elf_file_segments(const struct elf_file *f, size_t *ret_count)
{
    *ret_count = f->segment_count;
    return f->segments;
}

bool elf_segments_vaddr(const struct elf_segment *segments, size_t count, uint64_t offset,
                        uint64_t *ret)
{
    const struct elf_segment *found = NULL;

    /* A page at the boundary of two segments is mapped with both: prefer the executable one. */
    for (size_t i = 0; i < count; i++) {
        const struct elf_segment *s = &segments[i];

        if (offset >= s->offset && offset - s->offset < s->file_size &&
            (!found || s->exec > found->exec))
            found = s;
    }
    if (!found)
        return false;
    *ret = found->vaddr + (offset - found->offset);
    return true;
}

void elf_file_begin_print(struct elf_file *f, const struct fingerprint_key *key)
{
    f->key = *key;
    f->print = 0;
    elf_print_add(f, f->segments, f->segment_count * sizeof(f->segments[0]));
    elf_print_add(f, f->build_id, f->build_id_n);
    for (size_t i = 1; i < f->layout.section_count; i++) {
        struct elf_code code;

        if (elf_code_section(f, i, &code))
            elf_print_add(f, &code, sizeof(code));
    }
}

uint64_t elf_file_print(const struct elf_file *f)
{
    return f->print;
}
