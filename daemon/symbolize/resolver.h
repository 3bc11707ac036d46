/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of one process image: its mappings, the files behind them and its perf map. For a JVM
 * also the names of its Java code and threads. Keeps answering from what it read when the process
 * is gone. Thread: the engine's.
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
#define RESOLVER_STALE_NS                                                                          \
    (30 * NSEC_PER_SEC) /* maps that were not read for this long are read again */

/* What all resolvers share; borrowed for their lives. */
struct resolver_env {
    const struct symbol_files *files;
    struct frame_table *frames;
    struct elf_cache *elf;
    struct memory_budget *memory;
    struct inlines *inlines;   /* NULL: nobody has asked for them yet */
    struct namer *namer;       /* NULL: symbols stay raw */
    struct worker **perf_maps; /* what reads perf maps; NULL behind it: the engine */
    size_t perf_map_max_bytes;
    size_t *maps_bytes; /* that the mappings of all of them take */
};

struct resolver;

/* @exec_time_ns: of the exec that made the image, 0: long ago. 0 or -ENOMEM. */
int resolver_new(const struct resolver_env *env, const struct proc_id *id, uint64_t exec_time_ns,
                 struct resolver **ret);
struct resolver *resolver_free(struct resolver *r);

/* Returns whose process it is: as proc_owner(). */
uint64_t resolver_owner(struct resolver *r);
/* To be called before the frames of a sample: what is due by time is read again. */
void resolver_tick(struct resolver *r, uint64_t now_ns);
/* Begins to read the symbols of all files that are mapped now. The first time only: false after it.
 */
bool resolver_prepare(struct resolver *r);
/* CLOCK_MONOTONIC of the last time that the file system of one of its files did not answer; 0:
 * never.
 */
uint64_t resolver_unanswered_ns(const struct resolver *r);
/* Returns when code was met last, by CLOCK_MONOTONIC, that is in no entry of a perf map longer than
 * is read; 0: never. */
uint64_t resolver_long_map_ns(const struct resolver *r);
/* Returns when its owner last had no memory left for symbols or lines of its perf map that were
 * needed (base/memory_budget.h). By CLOCK_MONOTONIC; 0: never. */
uint64_t resolver_left_out_ns(const struct resolver *r);
/* Says that such memory is missing at @now_ns for its names. */
void resolver_leave_out(struct resolver *r, uint64_t now_ns);
/* CLOCK_MONOTONIC of when its maps were last due while its owner had no time left
 * (readers_afford()); 0: they have been read since. */
uint64_t resolver_put_off_ns(const struct resolver *r);
/* Returns whether resolver_native() met a file, since the last resolver_tick(), whose symbols are
 * still being read, or a symbol whose readable name is still coming. */
bool resolver_met_reading(const struct resolver *r);
/* Returns whether resolver_native() met code, since the last resolver_tick(), that lies in no file
 * and that no perf map names. */
bool resolver_met_generated(const struct resolver *r);
/* Returns what resolver_native() has met of native images so far. */
enum native_image resolver_native_image(const struct resolver *r);
/* Returns true while resolver_native() would not name @address yet: the symbols of its file are
 * being read, or the name of its symbol is coming. Begins either if it is missing. */
bool resolver_reads(struct resolver *r, uint64_t address, bool perf_map, uint64_t now_ns);
/* Returns the frame of code at @address (of a return address: minus one) that no JVM made.
 * @perf_map: generated code may be named by the process's perf map. */
uint32_t resolver_native(struct resolver *r, uint64_t address, bool perf_map, uint64_t now_ns);
/* Returns where the native code at @address lies: the number of its file in the inlines of its
 * surroundings, and the address in that file. 0: in no known file. */
uint32_t resolver_place(struct resolver *r, uint64_t address, uint64_t now_ns, uint64_t *ret);
/* Finds functions of the executable file that is mapped from address @from on. ret_offsets[i]:
 * where in the file the symbol with @prefixes[i] begins, in bytes; 0: there is none. Of several
 * alike the first. *ret_start, *ret_end: its mapping. Return: 0. -EAGAIN: its symbols are being
 * read. -ENOENT: no such file, or it cannot be read. */
int resolver_functions(struct resolver *r, uint64_t from, const char *const *prefixes, size_t count,
                       uint64_t *ret_offsets, uint64_t *ret_start, uint64_t *ret_end);
/* Finds the function @name of the executable file that is called @file (function_find.h). Reads its
 * maps again if there is none. Return: 0. -EAGAIN: its symbols are being read, or names of them are
 * coming; or its maps could not be read yet (resolver_put_off_ns()), or not in time. -ENXIO: it has
 * mapped no such file. -EIO: that cannot be read. -ENOENT, -ENOTUNIQ, -E2BIG: as function_find().
 */
int resolver_function(struct resolver *r, struct span file, struct span name,
                      struct function_found *ret);
/* Reads the mappings, and hands on what is known of those that are still there. Nothing changes if
 * they cannot be read, or if their owner has no time left. */
void resolver_read_maps(struct resolver *r, uint64_t now_ns);
/* Finds the executable mapping of the file that is mapped from address @from on. Return: 0 and
 * *ret, whose path points into @r. *ret_end: where the code ends; behind ret->end if the mapping is
 * in pieces, because the rights of some pages were changed. -ENOENT: there is none. */
int resolver_mapped(struct resolver *r, uint64_t from, struct mapping *ret, uint64_t *ret_end);
/* Finds the executable file, of those mapped from address @from on, that has the symbol @names[0].
 * ret_offsets[i]: where in the file @names[i] begins; 0: there is none. *ret_start, *ret_end: its
 * mapping. Files that cannot be read are left out. Reads its maps again if there is none behind 0.
 * Return: 0. -EAGAIN: symbols are being read, or its maps could not be yet. -ENOENT: there is
 * none. */
int resolver_library(struct resolver *r, uint64_t from, const char *const *names, size_t count,
                     uint64_t *ret_offsets, uint64_t *ret_start, uint64_t *ret_end);
/* Made at the first call; NULL: no memory. */
struct java_names *resolver_java(struct resolver *r);
struct thread_names *resolver_threads(struct resolver *r);
struct lock_names *resolver_locks(struct resolver *r);
/* Forgets what it knew of the old table: that of its surroundings is another one by now. */
void resolver_use_table(struct resolver *r);
/* Number of Java methods named so far, since the table is this one. */
uint64_t resolver_java_methods(const struct resolver *r);
