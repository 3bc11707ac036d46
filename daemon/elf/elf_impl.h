/* SPDX-License-Identifier: Apache-2.0 */
/* What the elf_*.c files share; for nobody else. */
#pragma once

#include "elf/elf_file.h"

#include <gelf.h>

struct elf_file {
    Elf *elf;
    int fd;       /* borrowed; -1 where it lies in memory */
    char *memory; /* owned, [memory_n]; NULL when read from an fd */
    size_t memory_n;
    struct fingerprint_key key;
    uint64_t print; /* of what was read of it */
    GElf_Ehdr header;
    struct elf_segment segments[ELF_SEGMENTS_MAX];
    size_t segment_count;
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_n;
    Elf_Scn *symtab, *dynsym, *debuglink, *debugdata; /* NULL: none */
    bool native_image;                                /* of GraalVM, and */
    GElf_Shdr image_code;                             /* the section with its code */
};

/* Takes the build-id from notes, if there is one. */
void elf_read_build_id(struct elf_file *f, Elf_Data *data);

/* A part of the file that is read piece by piece: @n bytes from @at on are in @bytes. */
struct elf_window {
    struct elf_file *f;
    char *bytes; /* owned */
    size_t n;
    uint64_t at;         /* in the part */
    uint64_t next, left; /* in the file, what is read next; how much is left of the part */
};
/* Begins at @at of the file, for @bytes. 0; -EBADMSG: no such place; -ENOMEM. */
int elf_window_open(struct elf_file *f, uint64_t at, uint64_t bytes, struct elf_window *ret);
void elf_window_close(struct elf_window *w);
/* Reads on, after the last @keep bytes of what was there. False: nothing came. */
bool elf_window_next(struct elf_window *w, size_t keep);
/* Adds bytes that were read to the fingerprint of @f. */
void elf_print_add(struct elf_file *f, const void *p, size_t n);

/* Returns the name of a section, at @offset of section @names; "": it has none. */
const char *elf_section_name(struct elf_file *f, size_t names, size_t offset);
/* Returns the bytes of @section as they lie in the file; empty when NULL, broken or larger than
 * @max. */
struct span elf_section_bytes(Elf_Scn *section, size_t max);

/* A section of code. */
struct elf_code {
    uint64_t index, start, end;
    uint64_t plt; /* 1: jumps into other files */
};
/* False: section @index is none. @names: index of the section of names. */
bool elf_code_section(struct elf_file *f, size_t index, size_t names, struct elf_code *ret);
