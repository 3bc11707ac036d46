/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the elf_*.c files only. */
#pragma once

#include "elf/elf_file.h"

#include <gelf.h>

struct elf_file {
    Elf *elf;
    int fd;       /* borrowed; -1 if the content is in memory */
    char *memory; /* owned, [memory_n]; NULL if read from an fd */
    size_t memory_n;
    struct fingerprint_key key;
    uint64_t print; /* hash of the content read so far */
    GElf_Ehdr header;
    struct elf_segment segments[ELF_SEGMENTS_MAX];
    size_t segment_count;
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_n;
    Elf_Scn *symtab, *dynsym, *debuglink, *debugdata; /* NULL: none */
    bool native_image;                                /* made by GraalVM */
    GElf_Shdr image_code;                             /* the code section of a native image */
};

/* A part of the file that is read piece by piece. @bytes holds @n bytes from offset @at of the part
 * on. */
struct elf_window {
    struct elf_file *f;
    char *bytes; /* owned */
    size_t n;
    uint64_t at;         /* offset in the part */
    uint64_t next, left; /* file offset of the next read; bytes of the part not read yet */
};
/* Opens the part of @bytes bytes at file offset @at. Returns 0; -EBADMSG: no such place;
 * -ENOMEM. */
int elf_window_open(struct elf_file *f, uint64_t at, uint64_t bytes, struct elf_window *ret);
void elf_window_close(struct elf_window *w);
/* Reads the next piece behind the last @keep bytes, which it keeps. Return: false if there is
 * nothing more to read. */
bool elf_window_next(struct elf_window *w, size_t keep);
/* Adds bytes that were read to the hash of @f. */
void elf_print_add(struct elf_file *f, const void *p, size_t n);

/* Returns the name of a section, at @offset of section @names; "": none. */
const char *elf_section_name(struct elf_file *f, size_t names, size_t offset);
/* Returns the bytes of @section as in the file; empty if it is NULL, broken, compressed or larger
 * than @max. */
struct span elf_section_bytes(Elf_Scn *section, size_t max);

/* A section of code. */
struct elf_code {
    uint64_t index, start, end;
    uint64_t plt; /* 1: jumps to functions of other files */
};
/* Gets code section @index. @names: index of the section of names. Return: false if section @index
 * holds no code. */
bool elf_code_section(struct elf_file *f, size_t index, size_t names, struct elf_code *ret);
