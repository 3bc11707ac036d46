/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exported symbols of a shared object as the dynamic linker left it in another process. Reads ELF
 * header, program headers, dynamic section, hash table and symbols from its memory, all bounded.
 * Knows no HotSpot. Thread: the owner's.
 */
#pragma once

#include "base/error.h"
#include "hotspot/memory.h"

#define DYNSYM_NAME_MAX 128
#define DYNSYM_IMAGE_MAX ((uint64_t)1 << 30) /* bytes of a loaded image */
#define DYNSYM_CHAIN_MAX 4096                /* symbols tried in one hash chain */

struct dynsym {
    struct hotspot_memory *m;      /* borrowed */
    uint64_t bias;                 /* what is added to addresses of the file */
    uint64_t start, end;           /* of the image in memory */
    uint64_t data_start, data_end; /* its writable part; equal: none */
    uint64_t symtab, strtab;       /* addresses */
    uint64_t strtab_bytes;
    uint64_t hash, gnu_hash; /* addresses, 0: not there */
};

/* Reads the headers of the object whose file offset 0 is mapped at @base. 0; -ENOEXEC with @err
 * when this is no 64-bit little-endian shared object. -EBADMSG with @err when it has no symbol
 * table, or none yet. Else what memory_read() returned. */
int dynsym_open(struct hotspot_memory *m, uint64_t base, struct dynsym *ret, struct error *err);
/* Gets the address of the exported symbol @name. 0; -ENOENT; or what memory_read() returned. */
int dynsym_find(const struct dynsym *d, const char *name, uint64_t *ret);
