/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inlined functions and lines at addresses of files, for captures that want them. Stores the
 * requested addresses, and reads the answers on a separate thread (dwarf/dwarf.h). Everything is
 * freed if no capture holds it, a minute after the last request. Thread: the engine's.
 */
#pragma once

#include "base/clock.h"
#include "base/memory_budget.h"
#include "dwarf/dwarf.h"
#include "namer/namer.h"
#include "symbolize/elf_reading.h"

#define INLINES_FILES_MAX 32
#define INLINES_ADDRESSES_MAX (1u << 16)            /* addresses of one file */
#define INLINES_FRAMES_MAX ((size_t)1 << 19)        /* frames at all addresses of one file */
#define INLINES_STRINGS_MAX_BYTES ((size_t)8 << 20) /* bytes of strings of one file */
#define INLINES_READING_NS NSEC_PER_SEC             /* CPU time of one reading */
#define INLINES_FILE_NS (10 * NSEC_PER_SEC)         /* CPU time of all readings of a file */
#define INLINES_NAMES_NS (2 * NSEC_PER_SEC)         /* wait for readable names */
#define INLINES_PAUSE_NS (200 * NSEC_PER_MSEC)      /* between two readings of a file */
#define INLINES_IDLE_NS (60 * NSEC_PER_SEC)

struct inlines;

/* Makes an empty set. @files and @wake_fd: as for elf_cache_new(). @namer: borrowed; NULL: symbols
 * stay raw. @memory: borrowed. A file is charged to the owner that requested it first. It gets no
 * further answers once that owner's share is used up. The first reading starts the thread. Returns
 * 0 or -ENOMEM. */
int inlines_new(const struct symbol_files *files, struct namer *namer, bool background, int wake_fd,
                struct memory_budget *memory, struct inlines **ret);
struct inlines *inlines_free(struct inlines *n);
/* Keep the files for a capture, however long it requests nothing. */
void inlines_hold(struct inlines *n);
void inlines_release(struct inlines *n);

/* Returns the number of the file behind the mapping @start to @end of @id, with the headers @h. The
 * number is never used for another file. Returns 0 if the file is not available. Asks the broker.
 */
uint32_t inlines_file(struct inlines *n, const struct proc_id *id, uint64_t start, uint64_t end,
                      const struct elf_headers *h, uint64_t now_ns);
/* Returns the owner that is charged for @file; 0 if the file is no longer known. */
uint64_t inlines_owner(const struct inlines *n, uint32_t file);
/* Returns true if @file is still known. */
bool inlines_knows(const struct inlines *n, uint32_t file);
/* Requests @address of @file. */
void inlines_want(struct inlines *n, uint32_t file, uint64_t address, uint64_t now_ns);
/* Stores answers that were read, and begins readings that are due. Returns true if a reading has
 * ended. Does not block. */
bool inlines_poll(struct inlines *n, uint64_t now_ns);
/* Returns true if requested answers may still come. */
bool inlines_reads(const struct inlines *n);

struct inlines_frame {
    struct span name,
        file; /* readable text; empty: unknown; points into the answers until the next poll */
    uint32_t line;
};
/* Gets the answer for an address: *count frames in @ret, innermost first. Returns its state as in
 * struct dwarf_answer. */
enum dwarf_state inlines_get(const struct inlines *n, uint32_t file, uint64_t address,
                             struct inlines_frame ret[DWARF_FRAMES_MAX], size_t *count);
/* Returns true if @file has debug information that flamed can read. */
bool inlines_has_any(const struct inlines *n, uint32_t file);
/* Returns true if @file was dropped, and may have such debug information. */
bool inlines_lost(const struct inlines *n, uint32_t file);
/* Returns true if names of @file are in a file that it shares with other files (dwz), and that
 * shared file is missing. */
bool inlines_lacks_shared(const struct inlines *n, uint32_t file);
