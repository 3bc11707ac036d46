/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the headers of an ELF file of 32 or 64 bits, little-endian. The file's owner may be
 * hostile, and may change it at any time. So each header is read once, by pread(2), into at most 1
 * MiB of our memory. (libelf allocates as much as a file claims to need.) Needs no process and no
 * broker. Thread: any.
 */
#pragma once

#include "base/cleanup.h"
#include "base/span.h"

#include <elf.h>

/* Linked files have some 40 sections, and a dozen program headers. */
#define ELF_SECTIONS_MAX 4096
#define ELF_PROGRAM_HEADERS_MAX 256
#define ELF_SECTION_NAMES_MAX_BYTES ((size_t)256 << 10)

/* The content of a file. */
struct elf_source {
    int fd;             /* borrowed; -1: the content is in memory */
    struct span memory; /* borrowed */
};

/* Reads @n bytes at @at. Returns fewer at the end of the file, and 0 after an error. */
size_t elf_source_read(const struct elf_source *s, uint64_t at, void *p, size_t n);

/* Headers of 32 bits are stored as those of 64 bits. Those that the file lacks, or that are beyond
 * a limit, are left out. */
struct elf_layout {
    Elf64_Ehdr head;
    Elf64_Phdr *programs; /* owned, [program_count] */
    size_t program_count;
    Elf64_Shdr *sections; /* owned, [section_count] */
    size_t section_count;
    char *names; /* owned, [names_n] and a NUL; NULL: no names */
    size_t names_n;
};

/* Reads the headers. Returns 0; -ENOEXEC: not an ELF file of these kinds; -ENOMEM; or the error of
 * pread(2). What could not be read is not taken for what the file lacks. */
int elf_layout_read(const struct elf_source *s, struct elf_layout *ret);
void elf_layout_deinit(struct elf_layout *l);
/* Returns the name of section @i; "": none. */
const char *elf_layout_name(const struct elf_layout *l, size_t i);
