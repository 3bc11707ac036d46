/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF files of all processes, each content once: symbols and segments. A stripped file also has
 * the symbols of its separate debug file. Two files are the same if a keyed hash of all that is
 * kept of them is equal (base/siphash.h). An equal build-id is not enough: a container may copy it
 * from another container's file. Symbols take memory of the owner that had them read first
 * (base/memory_budget.h). For a new file, files without recent requests, or of an owner that has
 * more, are evicted. If that is not enough, the new file is kept without symbols until there is
 * room.
 * Thread: the engine's; files are read on another, which may take seconds for a large one.
 */
#pragma once

#include "base/memory_budget.h"
#include "symbolize/elf_reading.h"

#define ELF_CACHE_READINGS_MAX 128 /* readings of one owner at a time */
/* Readings of all owners together, who share them (base/shares.h). */
#define ELF_CACHE_READINGS_ALL (2 * ELF_CACHE_READINGS_MAX)

/* Refers to an image, which may have been evicted, or to a file that is still being read. */
struct elf_ref {
    uint32_t slot, serial; /* serial 0: none */
    uint64_t ticket;       /* number of the reading; 0: none */
};
#define ELF_REF_NULL ((struct elf_ref){ 0 })

/* Outcome: the file is being read. */
#define ELF_CACHE_PENDING 16

struct elf_cache;

struct elf_cache_stats {
    uint64_t files, bytes, failed, evicted;
    uint64_t nameless;   /* files kept without symbols for lack of room */
    uint64_t left_out;   /* times that symbols were left out */
    uint64_t reading;    /* files being read or waiting for it */
    uint64_t unanswered; /* times that a file system did not answer; also counted in failed */
};

/* Makes a cache. @background: a thread of its own reads files, and writes to the eventfd @wake_fd
 * (borrowed; <= 0: none) when elf_cache_poll() has work. Else elf_cache_load() reads them. @memory:
 * borrowed. */
int elf_cache_new(size_t files_max, bool background, int wake_fd, struct memory_budget *memory,
                  struct elf_cache **ret);
struct elf_cache *elf_cache_free(struct elf_cache *c);
/*
 * Loads the file behind the mapping @start-@end of @id. Files of one @owner (proc_owner()) delay
 * files of another owner by one file at most. Return: 0 and *ret; ELF_CACHE_PENDING and *ret, for
 * elf_cache_settle(); a positive outcome of @files (PROC_GONE, BROKER_ABSENT). -errno with @err
 * (not an ELF file, no right, ...; -ETIMEDOUT: its file system does not answer). @files is borrowed
 * for the cache's life. Without a thread of its own, the cache blocks while it reads and sorts
 * (libjvm: 50 ms).
 */
int elf_cache_load(struct elf_cache *c, uint64_t owner, const struct symbol_files *files,
                   const struct proc_id *id, uint64_t start, uint64_t end, struct elf_ref *ret,
                   struct error *err);
/* Updates a pending @ref. 0: it refers to an image now; ELF_CACHE_PENDING; -EAGAIN: load it again;
 * another -errno: it cannot be read. */
int elf_cache_settle(const struct elf_cache *c, struct elf_ref *ref);
/* Stores the files read since the last call. Returns true if a reading has ended. Does not
 * block. */
bool elf_cache_poll(struct elf_cache *c);
/* Waits until elf_cache_poll() has work, until @deadline_ns (CLOCK_MONOTONIC) at most. Returns
 * false if there is no work. */
bool elf_cache_wait(struct elf_cache *c, uint64_t deadline_ns);
/* Returns the image, or NULL if it was evicted. Points into @c until the next elf_cache_load() or
 * elf_cache_poll(). */
struct elf_image *elf_cache_get(struct elf_cache *c, struct elf_ref ref);
/* Returns the facts of its file's headers; NULL: it was evicted. Points into @c as
 * elf_cache_get(). */
const struct elf_headers *elf_cache_headers(const struct elf_cache *c, struct elf_ref ref);
/* Forgets the interned strings of all images' symbols. */
void elf_cache_forget_strings(struct elf_cache *c);
void elf_cache_stats(const struct elf_cache *c, struct elf_cache_stats *ret);
