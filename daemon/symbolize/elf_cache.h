/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF files of all processes, each content once: symbols and segments. A stripped file also has
 * the symbols of its separate debug file. Two files count as the same if a keyed hash of all stored
 * parts is equal (base/siphash.h). An equal build-id is not enough: a container may copy it from
 * another container's file. The owner that requested a file first is charged for its symbols
 * (base/memory_budget.h). A new file evicts files that were not used recently, or files of an owner
 * that has more. If that is not enough, the new file is kept without symbols until there is room.
 * Thread: the engine's; another thread reads the files, which may take seconds for a large one.
 */
#pragma once

#include "base/memory_budget.h"
#include "symbolize/elf_reading.h"

#define ELF_CACHE_READINGS_MAX 128 /* readings of one owner at the same time */
/* Readings of all owners together, which share them (base/shares.h). */
#define ELF_CACHE_READINGS_ALL (2 * ELF_CACHE_READINGS_MAX)

/* Refers to an image, which may have been evicted, or to a reading. */
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
    uint64_t left_out;   /* how often symbols were left out */
    uint64_t reading;    /* readings in work or waiting */
    uint64_t unanswered; /* how often a file system did not answer; `failed` counts these, too */
};

/* Makes a cache. @background: a separate thread reads files, and writes to the eventfd @wake_fd
 * (borrowed; <= 0: none) when elf_cache_poll() has work. Otherwise elf_cache_load() reads them.
 * @memory: borrowed. */
int elf_cache_new(size_t files_max, bool background, int wake_fd, struct memory_budget *memory,
                  struct elf_cache **ret);
struct elf_cache *elf_cache_free(struct elf_cache *c);
/*
 * Loads the file behind the mapping @start-@end of @id. Files of one @owner (proc_owner()) delay
 * files of another owner by one file at most. Returns 0 and *ret, or ELF_CACHE_PENDING and *ret,
 * which is then for elf_cache_settle(). Returns a positive outcome of @files (PROC_GONE,
 * BROKER_ABSENT), or -errno with @err (not an ELF file, no right, ...). -ETIMEDOUT: its file system
 * does not answer. Borrows @files for the cache's life. Without a thread of its own, the cache
 * blocks while it reads and sorts (libjvm: 50 ms).
 */
int elf_cache_load(struct elf_cache *c, uint64_t owner, const struct symbol_files *files,
                   const struct proc_id *id, uint64_t start, uint64_t end, struct elf_ref *ret,
                   struct error *err);
/* Updates a pending @ref. Returns 0 if @ref refers to an image now, or ELF_CACHE_PENDING. Returns
 * -EAGAIN if the file has to be loaded again, or another -errno if it cannot be read. */
int elf_cache_settle(const struct elf_cache *c, struct elf_ref *ref);
/* Stores the files read since the last call. Returns true if a reading has ended. Does not
 * block. */
bool elf_cache_poll(struct elf_cache *c);
/* Waits until elf_cache_poll() has work, at most until @deadline_ns (CLOCK_MONOTONIC). Returns
 * whether it has work. */
bool elf_cache_wait(struct elf_cache *c, uint64_t deadline_ns);
/* Returns the image, or NULL if it was evicted. Points into @c until the next elf_cache_load() or
 * elf_cache_poll(). */
struct elf_image *elf_cache_get(struct elf_cache *c, struct elf_ref ref);
/* Returns the facts of the headers of the image's file; NULL if it was evicted. Valid like the
 * result of elf_cache_get(). */
const struct elf_headers *elf_cache_headers(const struct elf_cache *c, struct elf_ref ref);
/* Drops the interned strings of all images' symbols. */
void elf_cache_forget_strings(struct elf_cache *c);
void elf_cache_stats(const struct elf_cache *c, struct elf_cache_stats *ret);
