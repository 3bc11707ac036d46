/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inlined functions and lines at addresses of files, for captures that want them. Remembers the
 * questions, has a thread of its own read the answers (dwarf/dwarf.h), and keeps them. Without
 * questions it costs nothing: a minute after the last, all is freed. Thread: the engine's.
 */
#pragma once

#include "base/clock.h"
#include "base/memory_budget.h"
#include "dwarf/dwarf.h"
#include "namer/namer.h"
#include "symbolize/elf_reading.h"

#define INLINES_FILES_MAX 32
#define INLINES_ADDRESSES_MAX (1u << 16)            /* of one file */
#define INLINES_FRAMES_MAX ((size_t)1 << 19)        /* at all of them */
#define INLINES_STRINGS_MAX_BYTES ((size_t)8 << 20) /* of one file */
#define INLINES_READING_NS NSEC_PER_SEC             /* CPU time of one reading */
#define INLINES_FILE_NS (10 * NSEC_PER_SEC)         /* and of all of a file */
#define INLINES_NAMES_NS (2 * NSEC_PER_SEC)         /* that a reading waits for readable names */
#define INLINES_PAUSE_NS (200 * NSEC_PER_MSEC)      /* between two readings of a file */
#define INLINES_IDLE_NS (60 * NSEC_PER_SEC)

struct inlines;

/* @files and @wake_fd: as for the cache of ELF files. @namer: borrowed; NULL: symbols stay raw.
 * @memory: borrowed. A file takes the share of the owner who had it read first, and has no further
 * answers where that is used up. No thread is begun before the first file. 0 or -ENOMEM. */
int inlines_new(const struct symbol_files *files, struct namer *namer, bool background, int wake_fd,
                struct memory_budget *memory, struct inlines **ret);
struct inlines *inlines_free(struct inlines *n);

/* Returns the number of the file behind the mapping @start to @end of @id, whose headers are @h.
 * The number is never used again; 0: the file is not available.
 * Asks the broker. */
uint32_t inlines_file(struct inlines *n, const struct proc_id *id, uint64_t start, uint64_t end,
                      const struct elf_headers *h, uint64_t now_ns);
/* Returns whose share @file takes; 0: it is not known any more. */
uint64_t inlines_owner(const struct inlines *n, uint32_t file);
/* Returns whether @file is still known. */
bool inlines_knows(const struct inlines *n, uint32_t file);
/* Has @address of @file looked up. */
void inlines_want(struct inlines *n, uint32_t file, uint64_t address, uint64_t now_ns);
/* Takes in what was read, and has more read. True when something was. Does not block. */
bool inlines_poll(struct inlines *n, uint64_t now_ns);
/* Returns whether something that is wanted may still be answered. */
bool inlines_reads(const struct inlines *n);

struct inlines_frame {
    struct span name,
        file; /* readable; empty: unknown; point into the answers until the next poll */
    uint32_t line;
};
/* Gets what is known of an address, as in dwarf_answer: *count of @ret, innermost first. */
enum dwarf_state inlines_get(const struct inlines *n, uint32_t file, uint64_t address,
                             struct inlines_frame ret[DWARF_FRAMES_MAX], size_t *count);
/* Returns whether @file has debug information that can be read. */
bool inlines_has_any(const struct inlines *n, uint32_t file);
/* Returns whether names of @file are in a file that it shares with others (dwz), which is not
 * there. */
bool inlines_lacks_shared(const struct inlines *n, uint32_t file);
