/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file's headers, segments and build-id. */
#include "elf/elf_impl.h"

#include "base/cleanup.h"
#include "elf/image_code.h"

#include <sys/stat.h>

/* Reads the build-id from notes, if there is one. */
static void read_build_id(struct elf_file *f, Elf_Data *data)
{
    size_t at = 0, name, desc, next;
    GElf_Nhdr note;

    while (data && (next = gelf_getnote(data, at, &note, &name, &desc)) > at) {
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
            note.n_descsz && note.n_descsz <= ELF_BUILD_ID_MAX &&
            memcmp((char *)data->d_buf + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
            f->build_id_n = note.n_descsz;
            memcpy(f->build_id, (char *)data->d_buf + desc, f->build_id_n);
            return;
        }
        at = next;
    }
}

static bool read_segments(struct elf_file *f)
{
    size_t count;

    if (elf_getphdrnum(f->elf, &count) < 0)
        return false;
    for (size_t i = 0; i < MIN(count, (size_t)ELF_PROGRAM_HEADERS_MAX); i++) {
        GElf_Phdr h;

        if (!gelf_getphdr(f->elf, (int)i, &h))
            continue;
        if (h.p_type == PT_LOAD && f->segment_count < ELF_SEGMENTS_MAX) {
            f->segments[f->segment_count++] = (struct elf_segment){
                .offset = h.p_offset,
                .file_size = h.p_filesz,
                .vaddr = h.p_vaddr,
                .exec = h.p_flags & PF_X,
            };
        } else if (h.p_type == PT_NOTE && !f->build_id_n && h.p_filesz <= ELF_NOTES_MAX_BYTES &&
                   h.p_offset <= ELF_FILE_MAX_BYTES) {
            read_build_id(f, elf_getdata_rawchunk(f->elf, (int64_t)h.p_offset, (size_t)h.p_filesz,
                                                  ELF_T_NHDR));
        }
    }
    return true;
}

const char *elf_section_name(struct elf_file *f, size_t names, size_t offset)
{
    Elf_Scn *section = elf_getscn(f->elf, names);
    const char *name = NULL;
    GElf_Shdr h;

    /* libelf reads the whole section. */
    if (section && gelf_getshdr(section, &h) && h.sh_size <= ELF_SECTION_NAMES_MAX_BYTES &&
        !(h.sh_flags & SHF_COMPRESSED))
        name = elf_strptr(f->elf, names, offset);
    return name ? name : "";
}

struct span elf_section_bytes(Elf_Scn *section, size_t max)
{
    GElf_Shdr h;
    Elf_Data *data;

    if (!section || !gelf_getshdr(section, &h) || h.sh_size > max || (h.sh_flags & SHF_COMPRESSED))
        return SPAN_NULL;
    data = elf_rawdata(section, NULL);
    return data && data->d_buf ? (struct span){ data->d_buf, data->d_size } : SPAN_NULL;
}

static void read_sections(struct elf_file *f)
{
    size_t count, names;

    if (elf_getshdrnum(f->elf, &count) < 0 || elf_getshdrstrndx(f->elf, &names) < 0)
        return;
    for (size_t i = 1; i < MIN(count, (size_t)ELF_SECTIONS_MAX); i++) {
        Elf_Scn *section = elf_getscn(f->elf, i);
        GElf_Shdr h;
        const char *name;

        if (!section || !gelf_getshdr(section, &h) || h.sh_type == SHT_NOBITS)
            continue;
        if (h.sh_type == SHT_SYMTAB && !f->symtab) {
            f->symtab = section;
        } else if (h.sh_type == SHT_DYNSYM && !f->dynsym) {
            f->dynsym = section;
        } else if (h.sh_type == SHT_PROGBITS) {
            name = elf_section_name(f, names, h.sh_name);
            if (strcmp(name, ".gnu_debuglink") == 0)
                f->debuglink = section;
            else if (strcmp(name, ".gnu_debugdata") == 0)
                f->debugdata = section;
            else if (strcmp(name, IMAGE_CODE_SECTION) == 0)
                f->image_code = h;
            f->native_image |= strcmp(name, IMAGE_SECTION) == 0;
        } else if (h.sh_type == SHT_NOTE && !f->build_id_n && h.sh_size <= ELF_NOTES_MAX_BYTES) {
            read_build_id(
                f, elf_getdata(section, NULL)); /* in a debug file the segments may be empty */
        }
    }
}

static int open_elf(struct elf_file *f, struct error *err)
{
    if (!f->elf)
        return error_set(err, -EIO, "the file cannot be read: %s", elf_errmsg(-1));
    if (elf_kind(f->elf) != ELF_K_ELF || !gelf_getehdr(f->elf, &f->header))
        return error_set(err, -ENOEXEC, "not an ELF file");
    if (!read_segments(f))
        return error_set(err, -ENOEXEC, "its program headers are broken");
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
    elf_version(EV_CURRENT);
    f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->fd = fd;
    f->elf =
        elf_begin(fd, ELF_C_READ, NULL); /* not _MMAP: a truncated file would kill us by SIGBUS */
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
    f->fd = -1;
    f->memory_n = n;
    elf_version(EV_CURRENT);
    f->elf = elf_memory(f->memory, n);
    r = open_elf(f, err);
    if (r == 0)
        *ret = TAKE_PTR(f);
    return r;
}

struct elf_file *elf_file_close(struct elf_file *f)
{
    if (!f)
        return NULL;
    elf_end(f->elf);
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
    size_t count, names = 0;

    f->key = *key;
    f->print = 0;
    elf_print_add(f, f->segments, f->segment_count * sizeof(f->segments[0]));
    elf_print_add(f, f->build_id, f->build_id_n);
    if (elf_getshdrnum(f->elf, &count) < 0 || elf_getshdrstrndx(f->elf, &names) < 0)
        return;
    for (size_t i = 1; i < MIN(count, (size_t)ELF_SECTIONS_MAX); i++) {
        struct elf_code code;

        if (elf_code_section(f, i, names, &code))
            elf_print_add(f, &code, sizeof(code));
    }
}

uint64_t elf_file_print(const struct elf_file *f)
{
    return f->print;
}
