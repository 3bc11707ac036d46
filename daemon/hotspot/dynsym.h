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

struct dynsym {
    struct hotspot_memory *m;      /* borrowed */
    uint64_t bias;                 /* added to addresses of the file */
    uint64_t start, end;           /* of the image in memory */
    uint64_t data_start, data_end; /* of the image; equal: no writable part */
    uint64_t symtab, strtab;       /* addresses */
    uint64_t strtab_bytes;
    uint64_t hash, gnu_hash; /* addresses, 0: absent */
    bool aarch64;            /* the object's processor */
};

/* Reads the headers of the object that has file offset 0 mapped at @base. 0; -ENOEXEC with @err: no
 * 64-bit little-endian shared object. -EBADMSG with @err: no symbol table, or not yet. Else the
 * error of memory_read(). */
int dynsym_open(struct hotspot_memory *m, uint64_t base, struct dynsym *ret, struct error *err);
/* Gets the address of the exported symbol @name. 0; -ENOENT; or the error of memory_read(). */
int dynsym_find(const struct dynsym *d, const char *name, uint64_t *ret);
