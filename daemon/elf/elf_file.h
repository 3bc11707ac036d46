/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the names of code from an ELF file. The file's owner may be hostile and may change it while
 * it is read. So it is read by pread(2) into our memory, symbols and strings in pieces of 256 KiB.
 * Every size and count is bounded, and entries beyond a limit are left out.
 * Needs no process and no broker. Thread: any, one at a time per struct.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "base/siphash.h"
#include "elf/symbol_table.h"

#define ELF_FILE_MAX_BYTES ((uint64_t)2 << 30)
#define ELF_SEGMENTS_MAX 64                         /* PT_LOAD segments that are kept */
#define ELF_NOTES_MAX_BYTES ((uint64_t)1 << 20)     /* bytes of one PT_NOTE or section */
#define ELF_SYMBOLS_MAX ((size_t)4 << 20)           /* symbols of one file */
#define ELF_SYMTAB_MAX_BYTES (ELF_SYMBOLS_MAX * 24) /* of one section */
#define ELF_STRTAB_MAX_BYTES ((size_t)128 << 20)    /* of one section */
#define ELF_MINI_PACKED_MAX_BYTES ((size_t)8 << 20) /* .gnu_debugdata in the file */
#define ELF_MINI_MAX_BYTES ((size_t)16 << 20)       /* the same, unpacked */
#define ELF_XZ_MEMORY_MAX_BYTES ((uint64_t)16 << 20)
#define ELF_BUILD_ID_MAX 20
#define ELF_DEBUGLINK_NAME_MAX 255

struct elf_segment {
    uint64_t offset, file_size, vaddr;
    bool exec;
};

struct elf_file;

/* Reads the headers of @fd, which is borrowed until elf_file_close(). Returns 0; -ENOEXEC: not an
 * ELF file; -EFBIG; -ENOMEM; or why the file cannot be read. Sets @err. */
int elf_file_open(int fd, struct elf_file **ret, struct error *err);
/* Reads the headers of the content @bytes, as elf_file_open(). Takes @bytes over in every case. */
int elf_file_open_memory(struct buf *bytes, struct elf_file **ret, struct error *err);
struct elf_file *elf_file_close(struct elf_file *f);
CLEANUP_FUNCTION(elf_file_closep, elf_file, elf_file_close)

/* Returns whether the file was made by GraalVM's native-image. */
bool elf_file_is_native_image(const struct elf_file *f);
/* Returns whether the file has a symbol table beside the dynamic one. */
bool elf_file_has_symtab(const struct elf_file *f);
/* Returns the bytes of the build-id; empty: none. Points into @f. */
struct span elf_file_build_id(const struct elf_file *f);
/* Returns the PT_LOAD segments in file order. Points into @f. */
const struct elf_segment *elf_file_segments(const struct elf_file *f, size_t *ret_count);
/* Gets the address of the byte at @offset in the file's own numbering. Prefers an executable
 * segment if two hold it. Return: false if none does. */
bool elf_segments_vaddr(const struct elf_segment *segments, size_t count, uint64_t offset,
                        uint64_t *ret);
/* Starts a hash of the file's content, keyed with @key. It begins with the segments, the build-id
 * and the sections of code. */
void elf_file_begin_print(struct elf_file *f, const struct fingerprint_key *key);
/* Returns the hash. It also covers all bytes that elf_file_symbols() and elf_file_starts() have
 * read since. Each byte is read once. So the hash is of the same bytes as the entries, even if the
 * file changes. */
uint64_t elf_file_print(const struct elf_file *f);

/* Adds the functions of .symtab and .dynsym to @b, and the linkage tables as "[plt]". Skips broken
 * tables. Returns 0; -EDQUOT: @b is full; -ENOMEM. */
int elf_file_symbols(struct elf_file *f, struct symbol_builder *b);
/* Adds the start of each function of a file without .symtab to @b, named "+0x" and its address. In
 * a native image the code itself shows further functions (elf/image_code.h). Skips a broken table.
 * Returns 0; -EDQUOT: @b is full; -ENOMEM. */
int elf_file_starts(struct elf_file *f, struct symbol_builder *b);

/* Gets the separate debug file in .gnu_debuglink: a bare file name. Return: false if there is
 * none. */
bool elf_file_debuglink(struct elf_file *f, char ret_name[ELF_DEBUGLINK_NAME_MAX + 1],
                        uint32_t *ret_crc);
/* Reads the whole file @fd and returns whether its checksum is @crc. */
bool elf_crc_matches(int fd, uint32_t crc);
/* Unpacks MiniDebugInfo, the small ELF file in .gnu_debugdata. Returns 0 and *ret, owned by the
 * caller; 1: the file has none that is readable; -ENOMEM. */
int elf_file_mini(struct elf_file *f, struct elf_file **ret);
