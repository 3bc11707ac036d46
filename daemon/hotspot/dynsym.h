/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exported symbols of a shared object that the dynamic linker has loaded in another process. Reads
 * ELF header, program headers, dynamic section, hash table and symbols from its memory, all
 * bounded. Knows no HotSpot. Thread: the owner's.
 */
#pragma once

#include "base/error.h"
#include "hotspot/memory.h"

#define DYNSYM_NAME_MAX 128
#define DYNSYM_IMAGE_MAX ((uint64_t)1 << 30) /* bytes of a loaded image */
#define DYNSYM_CHAIN_MAX 4096                /* symbols tried in one hash chain */

struct dynsym_range {
    uint64_t at, bytes; /* at 0: none */
};

/* The segment of thread-local data, as in the file. */
struct dynsym_tls {
    uint64_t address, bytes, align; /* bytes 0: none */
};

struct dynsym {
    struct hotspot_memory *m;      /* borrowed */
    uint64_t bias;                 /* added to addresses of the file */
    uint64_t start, end;           /* bounds of the image in memory */
    uint64_t data_start, data_end; /* writable part of the image; equal: none */
    uint64_t symtab, strtab;       /* addresses */
    uint64_t strtab_bytes;
    uint64_t hash, gnu_hash; /* addresses of the hash tables; 0: absent */
    /* rela: the relocations; jmprel: the relocations of calls. relative: number of entries at the
     * start of rela that have no symbol. */
    struct dynsym_range rela, jmprel;
    uint64_t relative;
    struct dynsym_tls tls;
    bool has_interpreter; /* the object is a program */
    bool aarch64;         /* the object's processor */
};

/* Reads the headers of the object that has file offset 0 mapped at @base. Return: 0. -ENOEXEC with
 * @err: no 64-bit little-endian shared object. -EBADMSG with @err: no symbol table, or not yet.
 * Else the error of memory_read(). */
int dynsym_open(struct hotspot_memory *m, uint64_t base, struct dynsym *ret, struct error *err);
/* Gets the exported thread-local symbol @name: its number among the symbols, and its offset in the
 * object's thread-local data. Return: 0; -ENOENT; the error of memory_read(). */
int dynsym_find_tls(const struct dynsym *d, const char *name, uint32_t *ret_index,
                    uint64_t *ret_offset);
/* Gets the address of the exported symbol @name. Return: 0; -ENOENT; the error of memory_read(). */
int dynsym_find(const struct dynsym *d, const char *name, uint64_t *ret);
