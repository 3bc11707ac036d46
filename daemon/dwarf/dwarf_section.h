/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of the debug sections of a file, by offset. They are read in chunks on demand, unpacked if
 * the section is compressed, and kept up to a limit. Sections are hundreds of megabytes, and a
 * look-up needs few of them. Thread: any, one at a time per struct.
 */
#pragma once

#include "base/span.h"
#include "dwarf/dwarf_unpack.h"

#define DWARF_CHUNK_BYTES ((size_t)1 << 20)
#define DWARF_CHUNKS_MAX 64 /* in memory at a time, of all sections of a file */
#define DWARF_SECTION_MAX_BYTES ((uint64_t)2 << 30) /* unpacked */
/* Unpacking begins at one of these points, so many chunks apart; of zstd, at the start. */
#define DWARF_RESTART_CHUNKS 4
#define DWARF_BUDGET_STEPS 4096 /* between two looks at the clock */

/* How much longer a look-up may take: CPU time of the thread. */
struct dwarf_budget {
    uint64_t until_ns; /* CLOCK_THREAD_CPUTIME_ID */
    uint32_t steps;
    bool spent;
};

/* Begins a budget of @cpu_ns of this thread's CPU time. */
void dwarf_budget_begin(struct dwarf_budget *b, uint64_t cpu_ns);
/* Counts @steps, each some ten nanoseconds. False: there is nothing left. */
bool dwarf_budget_take(struct dwarf_budget *b, uint32_t steps);

struct dwarf_chunk;
struct dwarf_restart;

/* What the sections of a file share. */
struct dwarf_chunks {
    struct dwarf_chunk *newest, *oldest; /* owned list */
    size_t count;
    struct dwarf_budget budget;
};

/* Unpacking under way: where sections are read from front to back, it goes on. */
struct dwarf_live {
    struct dwarf_unpacker *stream; /* owned; NULL: none */
    struct span in;                /* read, not yet unpacked; only while a chunk is unpacked */
    uint64_t at;                   /* in the packed bytes: behind @in */
    size_t next;                   /* chunk */
};

struct dwarf_section {
    int fd; /* borrowed */
    struct dwarf_chunks *chunks;
    uint64_t file_offset, file_bytes; /* as it lies in the file, behind its header */
    uint64_t bytes;                   /* unpacked; 0: there is none */
    enum dwarf_packing packing;
    struct dwarf_chunk **chunk;     /* owned, [chunk_count]: those in memory */
    struct dwarf_restart **restart; /* owned, [chunk_count / DWARF_RESTART_CHUNKS + 1] */
    size_t chunk_count;
    struct dwarf_live live;
};

/* Describes the section of @bytes at @offset of @fd, which the kernel or libelf says are there.
 * @compressed: they begin with a header that says how. False: it cannot be read (too large, another
 * packing, no memory), and is empty. */
bool dwarf_section_init(struct dwarf_section *s, struct dwarf_chunks *chunks, int fd,
                        uint64_t offset, uint64_t bytes, bool compressed);
void dwarf_section_deinit(struct dwarf_section *s);
/* Drops all chunks. */
void dwarf_chunks_clear(struct dwarf_chunks *c);

/* Copies @n bytes from @offset. False: they are not all there, cannot be read, or the budget is
 * spent. */
bool dwarf_section_copy(struct dwarf_section *s, uint64_t offset, void *to, size_t n);
/* Copies up to @max bytes, as many as there are; 0: none. */
size_t dwarf_section_some(struct dwarf_section *s, uint64_t offset, void *to, size_t max);
