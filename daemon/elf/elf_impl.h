/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the elf_*.c files only. */
#pragma once

#include "elf/elf_file.h"
#include "elf/elf_layout.h"

struct elf_file {
    struct elf_source source;
    char *memory; /* owned, the memory of @source; NULL if read from an fd */
    struct elf_layout layout;
    struct fingerprint_key key;
    uint64_t print; /* hash of the content read so far */
    struct elf_segment segments[ELF_SEGMENTS_MAX];
    size_t segment_count;
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_n;
    const Elf64_Shdr *symtab, *dynsym, *debuglink, *debugdata; /* in @layout; NULL: none */
    bool native_image;                                         /* made by GraalVM */
    Elf64_Shdr image_code; /* the code section of a native image */
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

/* Reads the bytes of @section. Returns them, owned by the caller, and their number; NULL, 0 if
 * @section is NULL, broken, compressed or larger than @max, or without memory. */
char *elf_section_bytes(const struct elf_file *f, const Elf64_Shdr *section, size_t max,
                        size_t *ret_n);

/* A section of code. */
struct elf_code {
    uint64_t index, start, end;
    uint64_t plt; /* 1: jumps to functions of other files */
};
/* Gets code section @index. Return: false if section @index holds no code. */
bool elf_code_section(const struct elf_file *f, size_t index, struct elf_code *ret);
