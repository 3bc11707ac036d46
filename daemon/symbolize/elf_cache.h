/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF files of all processes, each content once: symbols and segments, with the separate debug
 * file's where the file is stripped. What is "the same file" is decided by a keyed hash of all that
 * is kept of it (symbolize/fingerprint.h), not by the build-id alone, which a container may copy
 * from another's file. The least recently used file goes when there are too many or too many bytes.
 * Thread: the engine's.
 */
#pragma once

#include "symbolize/elf_file.h"
#include "symbolize/files.h"

#define ELF_CACHE_MAX_BYTES ((size_t)512 << 20)
#define ELF_CACHE_NAMES_MAX_BYTES ((size_t)256 << 20) /* of one file */

/* One file as it is kept. */
struct elf_image {
    struct elf_segment segments[ELF_SEGMENTS_MAX];
    size_t segment_count;
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_n;
    struct symbol_table symbols;
};

/* Names an image that may have been evicted since. */
struct elf_ref {
    uint32_t slot, serial; /* serial 0: none */
};
#define ELF_REF_NULL ((struct elf_ref){ 0 })

struct elf_cache;

struct elf_cache_stats {
    uint64_t files, bytes, failed, evicted;
};

int elf_cache_new(size_t files_max, struct elf_cache **ret);
struct elf_cache *elf_cache_free(struct elf_cache *c);
/*
 * Reads the file behind the mapping @start-@end of @id. 0 and *ret; a positive outcome of @files
 * (PROC_GONE, BROKER_ABSENT); -errno with @err (not an ELF file, no right, ...). Blocks for as long
 * as reading and sorting takes (libjvm: 50 ms), less when the same content is there.
 */
int elf_cache_load(struct elf_cache *c, const struct symbol_files *files, const struct proc_id *id,
                   uint64_t start, uint64_t end, struct elf_ref *ret, struct error *err);
/* The image, or NULL when it was evicted. Points into @c until the next elf_cache_load(). */
struct elf_image *elf_cache_get(struct elf_cache *c, struct elf_ref ref);
/* What was kept with the symbols of all images is void. */
void elf_cache_forget_strings(struct elf_cache *c);
void elf_cache_stats(const struct elf_cache *c, struct elf_cache_stats *ret);
