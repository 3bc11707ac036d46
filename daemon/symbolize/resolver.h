/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of one process image: its mappings, the files behind them and its perf map. For a JVM
 * also the names of its Java code and threads. After the process has ended, answers come from
 * earlier readings. Thread: the engine's.
 */
#pragma once

#include "discover/discover.h"
#include "namer/namer.h"
#include "profile/frame.h"
#include "symbolize/elf_cache.h"
#include "symbolize/function_find.h"
#include "symbolize/inlines.h"
#include "symbolize/java.h"
#include "symbolize/lock_names.h"
#include "symbolize/perf_map.h"
#include "symbolize/threads.h"

#define RESOLVER_MISS_NS (100 * NSEC_PER_MSEC) /* between two readings of the maps for a miss */
#define RESOLVER_STALE_NS (30 * NSEC_PER_SEC)  /* age after which maps are read again */

/* Shared by all resolvers; borrowed for their lives. */
struct resolver_env {
    const struct symbol_files *files;
    struct frame_table *frames;
    struct elf_cache *elf;
    struct memory_budget *memory;
    struct inlines *inlines;   /* NULL: not needed so far */
    struct namer *namer;       /* NULL: symbols stay raw */
    struct worker **perf_maps; /* reads perf maps; pointer to NULL: the engine does */
    size_t perf_map_max_bytes;
    size_t *maps_bytes; /* memory of the mappings of all resolvers */
};

/* Reasons for missing names: the last time of each, by CLOCK_MONOTONIC; 0: never. */
struct naming_gaps {
    uint64_t unanswered_ns; /* a file system of its files did not answer */
    uint64_t long_map_ns;   /* code has no entry in a perf map beyond its limit of size */
    uint64_t left_out_ns;   /* its owner lacked memory for symbols or lines of a perf map
                             * (base/memory_budget.h) */
    uint64_t unread_ns;     /* the memory of its JVM was not read, for lack of time */
    uint64_t put_off_ns;    /* its maps were due while its owner had no time left
                             * (readers_afford()); 0 also if they were read since */
};

struct resolver;

/* Makes a resolver. @exec_time_ns: of the exec that made the image, 0: long ago. 0 or -ENOMEM. */
int resolver_new(const struct resolver_env *env, const struct proc_id *id, uint64_t exec_time_ns,
                 struct resolver **ret);
struct resolver *resolver_free(struct resolver *r);

/* Returns the owner of the process, as proc_owner(). */
uint64_t resolver_owner(struct resolver *r);
/* Reads again maps and files that are due. Call it before the frames of a sample. */
void resolver_tick(struct resolver *r, uint64_t now_ns);
/* Begins to read the symbols of all files mapped now, at the first call only. Returns false at
 * later calls. */
bool resolver_prepare(struct resolver *r);
/* Returns why its names are missing. Borrowed. */
const struct naming_gaps *resolver_gaps(const struct resolver *r);
/* Notes that memory was missing at @now_ns for its names. */
void resolver_leave_out(struct resolver *r, uint64_t now_ns);
/* Notes that the memory of its JVM was not read at @now_ns. */
void resolver_leave_unread(struct resolver *r, uint64_t now_ns);
/* Returns true if symbols or a readable name were still coming at a call of resolver_native() since
 * the last resolver_tick(). */
bool resolver_met_reading(const struct resolver *r);
/* Returns true if resolver_native() met code since the last resolver_tick() that has neither a file
 * nor an entry in a perf map. */
bool resolver_met_generated(const struct resolver *r);
/* Returns what resolver_native() has found out about native images so far. */
enum native_image resolver_native_image(const struct resolver *r);
/* Returns true while resolver_native() cannot name @address yet: the symbols of its file, or the
 * name of its symbol, are coming. Begins to read either if it is missing. */
bool resolver_reads(struct resolver *r, uint64_t address, bool perf_map, uint64_t now_ns);
/* Returns the frame of code at @address (of a return address: minus one) that no JVM made.
 * @perf_map: generated code may be named by the process's perf map. */
uint32_t resolver_native(struct resolver *r, uint64_t address, bool perf_map, uint64_t now_ns);
/* Finds the place of the native code at @address. Returns the number of its file in the inlines of
 * its environment; 0: in no known file. *ret gets the address in that file. */
uint32_t resolver_place(struct resolver *r, uint64_t address, uint64_t now_ns, uint64_t *ret);
/* Finds functions of the executable file mapped at or after address @from. ret_offsets[i]: offset
 * in the file of the first symbol with @prefixes[i], in bytes; 0: none. *ret_start, *ret_end: its
 * mapping. Return: 0; -EAGAIN: its symbols are being read; -ENOENT: no such file, or it cannot be
 * read. */
int resolver_functions(struct resolver *r, uint64_t from, const char *const *prefixes, size_t count,
                       uint64_t *ret_offsets, uint64_t *ret_start, uint64_t *ret_end);
/* Finds the function @name of the executable file that is called @file (function_find.h). Reads its
 * maps again if there is none. Return: 0. -EAGAIN: its symbols are being read, names of them are
 * coming, or its maps were not read in time (struct naming_gaps). -ENXIO: it has
 * mapped no such file. -EIO: that cannot be read. -ENOENT, -ENOTUNIQ, -E2BIG: as function_find().
 */
int resolver_function(struct resolver *r, struct span file, struct span name,
                      struct function_found *ret);
/* Reads the mappings, and keeps the facts of mappings that still exist. Nothing changes if they
 * cannot be read, or if their owner has no time left. */
void resolver_read_maps(struct resolver *r, uint64_t now_ns);
/* Finds the executable mapping of the file that is mapped from address @from on. Return: 0 and
 * *ret, with a path that points into @r. *ret_end: where the code ends; behind ret->end if the
 * mapping is in pieces, because the rights of some pages were changed. -ENOENT: there is none. */
int resolver_mapped(struct resolver *r, uint64_t from, struct mapping *ret, uint64_t *ret_end);
/* Finds the executable file, of those mapped from address @from on, that has the symbol @names[0].
 * ret_offsets[i]: where in the file @names[i] begins; 0: there is none. *ret_start, *ret_end: its
 * mapping. Files that cannot be read are left out. Reads its maps again if there is none behind 0.
 * Return: 0. -EAGAIN: symbols are being read, or its maps could not be yet. -ENOENT: there is
 * none. */
int resolver_library(struct resolver *r, uint64_t from, const char *const *names, size_t count,
                     uint64_t *ret_offsets, uint64_t *ret_start, uint64_t *ret_end);
/* Return an object made at the first call; NULL: no memory. */
struct java_names *resolver_java(struct resolver *r);
struct thread_names *resolver_threads(struct resolver *r);
struct lock_names *resolver_locks(struct resolver *r);
/* Forgets all ids of the old table; its environment has the new one. */
void resolver_use_table(struct resolver *r);
/* Returns the number of Java methods named with this table. */
uint64_t resolver_java_methods(const struct resolver *r);
