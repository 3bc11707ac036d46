/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that a compiler inlined at addresses of an ELF file, by its DWARF 3 to 5. The file
 * is its owner's, who may be hostile. It is read by pread(2) in chunks. Every offset is checked,
 * every count has a limit, and a whole look-up has a budget of CPU time. Our own reader, because
 * elfutils' loads and unpacks whole sections (libjvm's are 300 MB) and trusts what it reads. Knows
 * no process and no broker. Thread: any, one at a time per struct.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "base/intern.h"

#define DWARF_UNITS_MAX ((size_t)1 << 18)
#define DWARF_UNIT_MAX_BYTES ((size_t)64 << 20)
#define DWARF_RANGES_MAX ((size_t)1 << 20)       /* of code, by unit, in one file */
#define DWARF_RANGE_LIST_MAX 65536               /* ranges of one function */
#define DWARF_DEPTH_MAX 256                      /* of nested entries */
#define DWARF_FRAMES_MAX 60                      /* at one address */
#define DWARF_ORIGINS_MAX 8                      /* from an inlined function to its name */
#define DWARF_ABBREV_MAX_BYTES ((size_t)4 << 20) /* of one unit */
#define DWARF_ABBREVS_KEPT 64                    /* tables, of the units looked at last */
#define DWARF_NAME_MAX 4096
#define DWARF_LINES_MAX_BYTES ((size_t)16 << 20) /* of one unit */
#define DWARF_LINE_FILES_MAX 65536
#define DWARF_STRINGS_MAX_BYTES ((size_t)32 << 20) /* of one look-up */
#define DWARF_ALT_NAME_MAX 255
#define DWARF_BUILD_ID_MAX 64

struct dwarf;

/* A function at an address. */
struct dwarf_frame {
    uint32_t name; /* string of the answers: as it is linked, else as it is written; 0: none */
    uint32_t file; /* string, 0: unknown: of the line */
    uint32_t line; /* that is executed: of a caller, that of the call; 0: unknown */
};

/* Not read: the budget was spent before it. Split: in a .dwo or .dwp file, which nobody reads.
 * Beyond: broken, of another version, or beyond a limit. */
enum dwarf_state { DWARF_NOT_READ, DWARF_NONE, DWARF_FOUND, DWARF_SPLIT, DWARF_BEYOND };

/* What is known of an address. */
struct dwarf_answer {
    uint32_t first; /* in the frames: innermost first; the last one is not inlined */
    uint16_t count;
    uint8_t state; /* enum dwarf_state */
};

struct dwarf_answers {
    struct dwarf_answer *of; /* owned, [count]: as the addresses were given */
    size_t count;
    struct dwarf_frame *frames; /* owned, [frame_count] */
    size_t frame_count, frame_cap;
    struct intern *strings; /* owned */
    uint64_t skipped;       /* units and tables that are broken or beyond a limit */
};

/* Opens what @fd, borrowed until dwarf_close(), has of DWARF. 0; -ENOENT: nothing; -ENOEXEC: not an
 * ELF file of this machine's kind; -ENOMEM. */
int dwarf_open(int fd, struct dwarf **ret);
struct dwarf *dwarf_close(struct dwarf *d);
CLEANUP_FUNCTION(dwarf_closep, dwarf, dwarf_close)
/* Returns the build-id of the file that holds what it shares with others (dwz), of at most
 * DWARF_BUILD_ID_MAX bytes; empty: there is none. Points into @d. */
struct span dwarf_alt_build_id(const struct dwarf *d);
/* Its name below the folder .dwz that its path goes through, of at most DWARF_ALT_NAME_MAX bytes;
 * empty: the path goes through none. Points into @d. */
struct span dwarf_alt_name(const struct dwarf *d);
/* That file; borrowed for the life of @d. */
void dwarf_set_alt(struct dwarf *d, struct dwarf *alt);

/* Looks up @addresses, as the file itself numbers them, within @cpu_ns of this thread's time. 0 and
 * *ret, to be freed by dwarf_answers_deinit(), or -ENOMEM. */
int dwarf_look_up(struct dwarf *d, const uint64_t *addresses, size_t count, uint64_t cpu_ns,
                  struct dwarf_answers *ret);
void dwarf_answers_deinit(struct dwarf_answers *a);
/* Gives back what only made it faster, until the next look-up. */
void dwarf_rest(struct dwarf *d);
size_t dwarf_bytes(const struct dwarf *d); /* of memory, at rest */
