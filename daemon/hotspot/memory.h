/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded reads of another process's memory. A function supplies the bytes, so that tests and the
 * fuzzer can supply an image instead of a process. Each thread has a cache of pages. A page is
 * valid for one public call (until memory_begin()), or for one moment (memory_moment()). So many
 * small reads close together cost one pread(). This file does not know HotSpot. Thread: the
 * owner's; blocks as pread() on /proc/PID/mem does.
 */
#pragma once

#include "base/cleanup.h"
#include "base/clock.h"

#define MEMORY_PAGE ((size_t)4096)
#define MEMORY_LINES 512 /* cached pages of a thread; a power of two */
#define MEMORY_WAYS 4    /* lines that a page may be cached in */
#define MEMORY_MOMENT_NS (2 * NSEC_PER_MSEC)
/* Upper bound of user addresses (five-level page tables: 2^56). */
#define MEMORY_ADDRESS_MAX (UINT64_C(1) << 56)

/* Reads up to @n bytes at @address into @buf. Return: the number of bytes; 0: the process has no
 * memory any more; -EIO: the first byte is unmapped; another -errno. */
typedef ssize_t (*memory_read_fn)(void *cookie, uint64_t address, void *buf, size_t n);

struct memory_cache;

struct hotspot_memory {
    memory_read_fn read;
    void *cookie;
    struct memory_cache *cache; /* borrowed, from the thread that read last; NULL: none has */
    uint64_t epoch; /* of the running call: pages of other epochs are invalid. No two memories have
                       the same epoch */
    uint64_t moment_ns; /* begin of the epoch if a moment began it; else 0 */
    bool in_moment;     /* memory_continue() keeps the pages */
    uint64_t refused;   /* reads that failed, but not because of their address: they came late, or
                           were not allowed at that moment */
    bool only_kept, missed; /* only_kept: no reads; an uncached page gives -EAGAIN and sets @missed.
                               The thread of @cache must not read in this mode */
};

/* Initializes @m. Borrows @cookie. */
void memory_init(struct hotspot_memory *m, memory_read_fn read, void *cookie);
/* Empties the cache, as the target has run since. */
void memory_begin(struct hotspot_memory *m);
/* Empties the cache, unless a moment is running. */
void memory_continue(struct hotspot_memory *m);
/* Begins a moment at @now_ns for questions about time @at_ns: the cache stays if it was read after
 * @at_ns and not long ago. @at_ns 0 ends the moment. */
void memory_moment(struct hotspot_memory *m, uint64_t at_ns, uint64_t now_ns);

/* Reads all of [@address, @address + @n) or nothing. -EFAULT: not readable, or no user address.
 * -ESRCH: the process is gone. -ETIMEDOUT: this thread is an abandoned reader. Return: 0; one of
 * these; another -errno of the read. */
int memory_read(struct hotspot_memory *m, uint64_t address, void *buf, size_t n);
/* Does the same without the cache, for a read that must be fresh or is large. */
int memory_read_direct(struct hotspot_memory *m, uint64_t address, void *buf, size_t n);
/* Reads a little-endian number of @width 1, 2, 4 or 8 bytes, not sign-extended. */
int memory_number(struct hotspot_memory *m, uint64_t address, unsigned width, uint64_t *ret);
int memory_u64(struct hotspot_memory *m, uint64_t address, uint64_t *ret);
int memory_u32(struct hotspot_memory *m, uint64_t address, uint32_t *ret);
/* Reads a C string, cut to @size - 1 bytes, always with a NUL at the end. Returns its length or
 * -errno. */
ssize_t memory_string(struct hotspot_memory *m, uint64_t address, char *buf, size_t size);
