/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions that a compiler inlined at addresses of an ELF file, from its DWARF 3 to 5.
 * The file's owner may be hostile. It is read by pread(2) in chunks. Every offset is checked, every
 * count has a limit, and a whole look-up has a budget of CPU time. The reader is our own: elfutils'
 * loads and unpacks whole sections (libjvm's are 300 MB) and trusts them. Knows no process and no
 * broker. Thread: any, one at a time per struct.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "base/intern.h"

#define DWARF_UNITS_MAX ((size_t)1 << 18)
#define DWARF_UNIT_MAX_BYTES ((size_t)64 << 20)
#define DWARF_RANGES_MAX ((size_t)1 << 20)       /* ranges of code with their units, in one file */
#define DWARF_RANGE_LIST_MAX 65536               /* ranges of one function */
#define DWARF_DEPTH_MAX 256                      /* levels of nested entries */
#define DWARF_FRAMES_MAX 60                      /* frames at one address */
#define DWARF_ORIGINS_MAX 8                      /* steps from an inlined function to its name */
#define DWARF_ABBREV_MAX_BYTES ((size_t)4 << 20) /* of one unit */
#define DWARF_ABBREVS_KEPT 64                    /* cached tables; drops the least recently used */
#define DWARF_ABBREVS_MAX_BYTES ((size_t)16 << 20) /* of all cached tables */
#define DWARF_NAME_MAX 4096
#define DWARF_LINES_MAX_BYTES ((size_t)16 << 20) /* of one unit */
#define DWARF_LINE_FILES_MAX 65536
#define DWARF_STRINGS_MAX_BYTES ((size_t)32 << 20) /* bytes of strings of one look-up */
#define DWARF_ALT_NAME_MAX 255
#define DWARF_BUILD_ID_MAX 64

struct dwarf;

/* A function at an address. */
struct dwarf_frame {
    uint32_t name; /* string of the answers: the linkage name, else the source name; 0: none */
    uint32_t file; /* string of the answers: the file of the line; 0: unknown */
    uint32_t line; /* innermost frame: the executed line; others: that of the call; 0: unknown */
};

/* Not read: the budget was spent before. Split: the information is in a .dwo or .dwp file, which is
 * not read. Beyond: it is broken, of another version, or beyond a limit. */
enum dwarf_state { DWARF_NOT_READ, DWARF_NONE, DWARF_FOUND, DWARF_SPLIT, DWARF_BEYOND };

/* The result for an address. */
struct dwarf_answer {
    uint32_t first; /* index in the frames: innermost first; the last is not inlined */
    uint16_t count;
    uint8_t state; /* enum dwarf_state */
};

struct dwarf_answers {
    struct dwarf_answer *of; /* owned, [count]: in the order of the addresses passed */
    size_t count;
    struct dwarf_frame *frames; /* owned, [frame_count] */
    size_t frame_count, frame_cap;
    struct intern *strings; /* owned */
    uint64_t skipped;       /* units and tables that were broken or beyond a limit */
};

/* Opens the DWARF sections of @fd, which is borrowed until dwarf_close(). Returns 0; -ENOENT: the
 * file has none; -ENOEXEC: not a 64-bit little-endian ELF file, or too large; -ENOMEM; or
 * why the file cannot be read. */
int dwarf_open(int fd, struct dwarf **ret);
struct dwarf *dwarf_close(struct dwarf *d);
CLEANUP_FUNCTION(dwarf_closep, dwarf, dwarf_close)
/* Returns the build-id of the supplementary file (dwz), with content shared by several files; at
 * most DWARF_BUILD_ID_MAX bytes. Empty: none. Points into @d. */
struct span dwarf_alt_build_id(const struct dwarf *d);
/* Returns the supplementary file's name below the folder .dwz, at most DWARF_ALT_NAME_MAX bytes;
 * empty: its path has no such folder. Points into @d. */
struct span dwarf_alt_name(const struct dwarf *d);
/* Sets the supplementary file; borrowed for the life of @d. */
void dwarf_set_alt(struct dwarf *d, struct dwarf *alt);

/* Looks up @addresses, in the file's own numbering, within @cpu_ns of this thread's CPU time.
 * Returns 0 and *ret, to be freed by dwarf_answers_deinit(), or -ENOMEM. */
int dwarf_look_up(struct dwarf *d, const uint64_t *addresses, size_t count, uint64_t cpu_ns,
                  struct dwarf_answers *ret);
void dwarf_answers_deinit(struct dwarf_answers *a);
/* Frees the cached chunks and tables. The next look-up reads them again. */
void dwarf_rest(struct dwarf *d);
size_t dwarf_bytes(const struct dwarf *d); /* bytes of memory without the cached chunks */
