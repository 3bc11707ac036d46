/* SPDX-License-Identifier: Apache-2.0 */
/* What the elf_*.c files share; for nobody else. */
#pragma once

#include "elf/elf_file.h"

#include <gelf.h>

struct elf_file {
    Elf *elf;
    char *memory; /* owned; NULL when read from an fd */
    GElf_Ehdr header;
    struct elf_segment segments[ELF_SEGMENTS_MAX];
    size_t segment_count;
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_n;
    Elf_Scn *symtab, *dynsym, *debuglink, *debugdata; /* NULL: none */
};

/* Takes the build-id from notes, if there is one. */
void elf_read_build_id(struct elf_file *f, Elf_Data *data);

/* A symbol table with its names, read into libelf's memory. */
struct elf_symbols {
    Elf_Data *data;
    struct span names;
    size_t count;
};
/* False: no such section, too large or broken. */
bool elf_symbols_load(struct elf_file *f, Elf_Scn *section, struct elf_symbols *ret);
/* Returns the table of where functions begin, and its address; empty where the file has symbols. */
struct span elf_starts_bytes(struct elf_file *f, uint64_t *ret_vaddr);
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
