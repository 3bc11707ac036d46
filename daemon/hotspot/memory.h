/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded reads of another process's memory. The bytes come from a function, so that tests and the
 * fuzzer put an image there instead of a process. A small cache of pages lives for one public call
 * of the door (memory_begin() empties it): many small reads that stand close together cost one
 * pread(). Nothing here knows HotSpot. Thread: the owner's; blocks as pread() on /proc/PID/mem
 * does.
 */
#pragma once

#include "base/cleanup.h"

#define MEMORY_PAGE ((size_t)4096)
#define MEMORY_LINES 8        /* pages kept during an ordinary call */
#define MEMORY_LINES_BULK 512 /* while tables are walked */
/* No user address lies above it (five-level page tables: 2^56). */
#define MEMORY_ADDRESS_MAX (UINT64_C(1) << 56)

/* Reads up to @n bytes at @address into @buf. The number of bytes, 0 when the process has no memory
 * any more, or -errno (an unmapped first byte is -EIO). */
typedef ssize_t (*memory_read_fn)(void *cookie, uint64_t address, void *buf, size_t n);

struct memory_line;

struct hotspot_memory {
    memory_read_fn read;
    void *cookie;
    struct memory_line *lines; /* owned; [line_count], direct mapped by page number */
    uint8_t *bytes;            /* owned; [line_count * MEMORY_PAGE]: what the lines hold */
    size_t line_count;         /* a power of two */
    uint64_t epoch;            /* of the running call: lines of earlier ones do not count */
};

/* 0 or -ENOMEM. Borrows @cookie. */
int memory_init(struct hotspot_memory *m, memory_read_fn read, void *cookie, size_t lines);
void memory_deinit(struct hotspot_memory *m);
/* Forgets what was read: the target ran on meanwhile. */
void memory_begin(struct hotspot_memory *m);
/* Replaces the cache by one of @lines pages (a power of two). 0 or -ENOMEM (the old cache stays).
 */
int memory_resize(struct hotspot_memory *m, size_t lines);

/* All of [@address, @address + @n) or nothing: 0; -EFAULT not readable (or no user address); -ESRCH
 * the process is gone; another -errno of the read. */
int memory_read(struct hotspot_memory *m, uint64_t address, void *buf, size_t n);
/* As memory_read(), past the cache: for one look that must be fresh, or large. */
int memory_read_direct(struct hotspot_memory *m, uint64_t address, void *buf, size_t n);
/* Little-endian number of @width 1, 2, 4 or 8 bytes, not sign-extended. */
int memory_number(struct hotspot_memory *m, uint64_t address, unsigned width, uint64_t *ret);
int memory_u64(struct hotspot_memory *m, uint64_t address, uint64_t *ret);
int memory_u32(struct hotspot_memory *m, uint64_t address, uint32_t *ret);
/* A C string of at most @size - 1 bytes, cut there; always ends with NUL. Returns its length or
 * -errno. */
ssize_t memory_string(struct hotspot_memory *m, uint64_t address, char *buf, size_t size);
