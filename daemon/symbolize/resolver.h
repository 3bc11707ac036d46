/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of one process image: its mappings, the files behind them, its perf map, and the names
 * of Java code and threads. After the process has ended, answers come from earlier readings.
 * Thread: the engine's.
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

#define RESOLVER_MISS_NS (100 * NSEC_PER_MSEC) /* between readings for an unknown address */
#define RESOLVER_STALE_NS (30 * NSEC_PER_SEC)  /* age after which maps are read again */

/* Shared by all resolvers; borrowed for their lives. */
struct resolver_env {
    const struct symbol_files *files;
    struct frame_table *frames;
    struct elf_cache *elf;
    struct memory_budget *memory;
    struct inlines *inlines;   /* NULL: not needed yet */
    struct namer *namer;       /* NULL: symbols stay raw */
    struct worker **perf_maps; /* reads perf maps; pointer to NULL: the engine reads them */
    size_t perf_map_max_bytes;
    size_t *maps_bytes; /* memory of the mappings of all resolvers */
};

/* Reasons for missing names, each with the time when it last applied (CLOCK_MONOTONIC; 0: never).
 */
struct naming_gaps {
    uint64_t unanswered_ns; /* a file system of the process's files did not answer */
    uint64_t long_map_ns;   /* code had no entry in a perf map that exceeds its limit of size */
    uint64_t left_out_ns;   /* the owner lacked memory for symbols or lines of a perf map
                             * (base/memory_budget.h) */
    uint64_t unread_ns;     /* the JVM's memory was not read, for lack of time */
    uint64_t put_off_ns;    /* its maps were due while its owner had no time left
                             * (readers_afford()); 0 if they were read since */
};

struct resolver;

/* Makes a resolver. @exec_time_ns: time of the exec that made the image; 0: long ago. Returns 0 or
 * -ENOMEM. */
int resolver_new(const struct resolver_env *env, const struct proc_id *id, uint64_t exec_time_ns,
                 struct resolver **ret);
struct resolver *resolver_free(struct resolver *r);

/* Returns the owner of the process, by proc_owner(). */
uint64_t resolver_owner(struct resolver *r);
/* Reads maps and files again that are due. Call it before you request the frames of a sample. */
void resolver_tick(struct resolver *r, uint64_t now_ns);
/* Begins to read the symbols of all files that are mapped now. Only the first call does that, and
 * returns true. */
bool resolver_prepare(struct resolver *r);
/* Returns the reasons for missing names. Borrowed. */
const struct naming_gaps *resolver_gaps(const struct resolver *r);
/* Records that memory for names was short at @now_ns. */
void resolver_leave_out(struct resolver *r, uint64_t now_ns);
/* Records that the JVM's memory was not read at @now_ns. */
void resolver_leave_unread(struct resolver *r, uint64_t now_ns);
/* Returns true if resolver_native() met code since the last resolver_tick() with symbols or a
 * readable name that were not ready. */
bool resolver_met_reading(const struct resolver *r);
/* Returns true if resolver_native() met code since the last resolver_tick() that has neither a file
 * nor an entry in a perf map. */
bool resolver_met_generated(const struct resolver *r);
/* Returns the kind of native images that resolver_native() has met so far. */
enum native_image resolver_native_image(const struct resolver *r);
/* Returns true while resolver_native() cannot name @address yet: the symbols of its file, or the
 * readable name of its symbol, are not ready. Begins to read what is missing. */
bool resolver_reads(struct resolver *r, uint64_t address, bool perf_map, uint64_t now_ns);
/* Returns the frame of code at @address that no JVM made. For a return address, pass the address
 * minus one. @perf_map: the process's perf map may name generated code. */
uint32_t resolver_native(struct resolver *r, uint64_t address, bool perf_map, uint64_t now_ns);
/* Finds the place of the native code at @address. Returns the number of its file in env->inlines; 0
 * if it is in no known file. *ret gets the address in that file. */
uint32_t resolver_place(struct resolver *r, uint64_t address, uint64_t now_ns, uint64_t *ret);
/* Finds functions of the executable file mapped at or after address @from. ret_offsets[i]: offset
 * in the file of the first symbol with @prefixes[i], in bytes; 0: none. *ret_start, *ret_end: its
 * mapping. Returns 0, -EAGAIN while its symbols are being read, or -ENOENT if there is no such file
 * or it cannot be read. */
int resolver_functions(struct resolver *r, uint64_t from, const char *const *prefixes, size_t count,
                       uint64_t *ret_offsets, uint64_t *ret_start, uint64_t *ret_end);
/* Finds the function @name of the executable file that is called @file (function_find.h). Reads the
 * maps again if no mapped file matches. Returns 0, or an error of function_find(). -EAGAIN: symbols
 * are being read, their readable names are not ready, or the maps were not read in time (struct
 * naming_gaps). -ENXIO: the process maps no such file. -EIO: the file cannot be read. */
int resolver_function(struct resolver *r, struct span file, struct span name,
                      struct function_found *ret);
/* Reads the mappings, and keeps the facts about mappings that still exist. Changes nothing if they
 * cannot be read, or if their owner has no time left. */
void resolver_read_maps(struct resolver *r, uint64_t now_ns);
/* Finds the executable mapping of the libjvm.so that is mapped from address @from on. Returns 0 and
 * *ret, with a path that points into @r; -ENOENT if the mappings, as last read, have none there.
 * *ret_end: the end of the code. It is behind ret->end if the mapping is in pieces, because the
 * rights of some pages were changed. */
int resolver_libjvm(struct resolver *r, uint64_t from, struct mapping *ret, uint64_t *ret_end);
/* Finds the executable file, of those mapped from address @from on, that has the symbol @names[0].
 * ret_offsets[i]: offset in the file of @names[i]; 0: none. *ret_start, *ret_end: the file's
 * mapping. Leaves out files that cannot be read. With @from 0, reads the maps again if there is no
 * such file. Returns 0; -EAGAIN if symbols are being read or the maps are not read yet; -ENOENT if
 * there is no such file. */
int resolver_library(struct resolver *r, uint64_t from, const char *const *names, size_t count,
                     uint64_t *ret_offsets, uint64_t *ret_start, uint64_t *ret_end);
/* Return an object that the first call makes; NULL: no memory. */
struct java_names *resolver_java(struct resolver *r);
struct thread_names *resolver_threads(struct resolver *r);
struct lock_names *resolver_locks(struct resolver *r);
/* Drops all ids of the previous frame table. The environment already has the new table. */
void resolver_use_table(struct resolver *r);
/* Returns the number of Java methods named with the current frame table. */
uint64_t resolver_java_methods(const struct resolver *r);
