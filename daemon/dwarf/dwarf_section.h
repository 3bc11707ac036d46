/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads bytes of a file's debug sections, by offset. The bytes are read in chunks on demand,
 * unpacked if the section is compressed, and cached up to a limit. Sections have hundreds of
 * megabytes, but a look-up reads few. Thread: any, one at a time per struct.
 */
#pragma once

#include "base/span.h"
#include "dwarf/dwarf_unpack.h"

#define DWARF_CHUNK_BYTES ((size_t)1 << 20)
#define DWARF_CHUNKS_MAX 64 /* chunks in memory at a time, of all sections of a file */
#define DWARF_SECTION_MAX_BYTES ((uint64_t)2 << 30) /* unpacked */
/* Unpacking can start at points this many chunks apart; with zstd only at the beginning. */
#define DWARF_RESTART_CHUNKS 4
#define DWARF_BUDGET_STEPS 4096 /* steps between two reads of the clock */

/* The remaining CPU time of a look-up, on its thread. */
struct dwarf_budget {
    uint64_t until_ns; /* CLOCK_THREAD_CPUTIME_ID */
    uint32_t steps;
    bool spent;
};

/* Begins a budget of @cpu_ns of this thread's CPU time. */
void dwarf_budget_begin(struct dwarf_budget *b, uint64_t cpu_ns);
/* Spends @steps steps of some ten nanoseconds each. Return: false if the budget is spent. */
bool dwarf_budget_take(struct dwarf_budget *b, uint32_t steps);

struct dwarf_chunk;
struct dwarf_restart;

/* State shared by all sections of a file. */
struct dwarf_chunks {
    struct dwarf_chunk *newest, *oldest; /* owned list */
    size_t count;
    struct dwarf_budget budget;
};

/* Unpacking in progress: it continues if the next chunks are read in order. */
struct dwarf_live {
    struct dwarf_unpacker *stream; /* owned; NULL: none */
    struct span in;                /* bytes read, not yet unpacked; only during unpacking */
    uint64_t at;                   /* offset in the packed bytes, behind @in */
    size_t next;                   /* index of the next chunk */
};

struct dwarf_section {
    int fd; /* borrowed */
    struct dwarf_chunks *chunks;
    uint64_t file_offset, file_bytes; /* range in the file, without the compression header */
    uint64_t bytes;                   /* unpacked; 0: no such section */
    enum dwarf_packing packing;
    struct dwarf_chunk **chunk;     /* owned, [chunk_count]: chunks in memory, else NULL */
    struct dwarf_restart **restart; /* owned, [chunk_count / DWARF_RESTART_CHUNKS + 1] */
    size_t chunk_count;
    struct dwarf_live live;
};

/* Describes the section of @bytes bytes at @offset of @fd, as its section header claims.
 * @compressed: it begins with a compression header. Return: false if the section is too large, has
 * an unknown compression, or memory ran out; @s is then empty. */
bool dwarf_section_init(struct dwarf_section *s, struct dwarf_chunks *chunks, int fd,
                        uint64_t offset, uint64_t bytes, bool compressed);
void dwarf_section_deinit(struct dwarf_section *s);
/* Frees all chunks. */
void dwarf_chunks_clear(struct dwarf_chunks *c);

/* Copies @n bytes from @offset. Return: false if any is missing or unreadable, or the budget is
 * spent. */
bool dwarf_section_copy(struct dwarf_section *s, uint64_t offset, void *to, size_t n);
/* Copies up to @max bytes from @offset. Returns how many were available. */
size_t dwarf_section_some(struct dwarf_section *s, uint64_t offset, void *to, size_t max);
