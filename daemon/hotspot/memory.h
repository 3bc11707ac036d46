/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded reads of another process's memory. A function supplies the bytes, so that tests and the
 * fuzzer can supply an image instead of a process. A small cache of pages lives for one public call
 * (memory_begin() empties it), or for one moment (memory_moment()). So many small reads close
 * together cost one pread(). Nothing here knows HotSpot. Thread: the owner's; blocks as pread() on
 * /proc/PID/mem does.
 */
#pragma once

#include "base/cleanup.h"
#include "base/clock.h"

#define MEMORY_PAGE ((size_t)4096)
#define MEMORY_LINES 128      /* pages kept during an ordinary call, and a moment */
#define MEMORY_LINES_BULK 512 /* while tables are walked */
#define MEMORY_WAYS 4         /* lines that a page may be cached in */
#define MEMORY_MOMENT_NS (2 * NSEC_PER_MSEC)
/* Upper bound of user addresses (five-level page tables: 2^56). */
#define MEMORY_ADDRESS_MAX (UINT64_C(1) << 56)

/* Reads up to @n bytes at @address into @buf. Return: the number of bytes; 0: the process has no
 * memory any more; -errno (an unmapped first byte: -EIO). */
typedef ssize_t (*memory_read_fn)(void *cookie, uint64_t address, void *buf, size_t n);

struct memory_line;

struct hotspot_memory {
    memory_read_fn read;
    void *cookie;
    struct memory_line *lines; /* owned; [line_count], mapped by page number */
    uint8_t *bytes;            /* owned; [line_count * MEMORY_PAGE]: contents of the lines */
    size_t line_count;         /* a power of two */
    uint64_t epoch;            /* of the running call: lines of earlier epochs are invalid */
    uint64_t moment_ns;        /* begin of the epoch, if a moment began it; else 0 */
    bool in_moment;            /* memory_continue() keeps the cache */
    bool only_kept, missed;    /* only_kept: no reads; an uncached page gives -EAGAIN and sets
                                * @missed */
};

/* Returns 0 or -ENOMEM. Borrows @cookie. */
int memory_init(struct hotspot_memory *m, memory_read_fn read, void *cookie, size_t lines);
void memory_deinit(struct hotspot_memory *m);
/* Empties the cache: the target has run since. */
void memory_begin(struct hotspot_memory *m);
/* Does the same, but keeps the cache in a moment. */
void memory_continue(struct hotspot_memory *m);
/* Begins a moment at @now_ns for questions about time @at_ns: the cache stays if it was read after
 * @at_ns and not long ago. @at_ns 0 ends the moment. */
void memory_moment(struct hotspot_memory *m, uint64_t at_ns, uint64_t now_ns);
/* Replaces the cache by one of @lines pages (a power of two). 0 or -ENOMEM (the old cache stays).
 */
int memory_resize(struct hotspot_memory *m, size_t lines);

/* Reads all of [@address, @address + @n) or nothing. 0; -EFAULT: not readable, or no user address;
 * -ESRCH: the process is gone; another -errno of the read. */
int memory_read(struct hotspot_memory *m, uint64_t address, void *buf, size_t n);
/* Does the same past the cache: for a read that must be fresh, or is large. */
int memory_read_direct(struct hotspot_memory *m, uint64_t address, void *buf, size_t n);
/* Reads a little-endian number of @width 1, 2, 4 or 8 bytes, not sign-extended. */
int memory_number(struct hotspot_memory *m, uint64_t address, unsigned width, uint64_t *ret);
int memory_u64(struct hotspot_memory *m, uint64_t address, uint64_t *ret);
int memory_u32(struct hotspot_memory *m, uint64_t address, uint32_t *ret);
/* Reads a C string, cut to @size - 1 bytes, always with a NUL at the end. Returns its length or
 * -errno. */
ssize_t memory_string(struct hotspot_memory *m, uint64_t address, char *buf, size_t size);
