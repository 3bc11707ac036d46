/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /tmp/perf-PID.map: the list of generated code that a runtime writes for perf (Node.js
 * --perf-basic-prof, .NET, Julia, ...) while it runs. Each line is "START SIZE NAME", with numbers
 * in hexadecimal. A reading begins by pread(2) where the last one ended. There is one a second, up
 * to a hundred a second if code is missing. Readings take at most a twentieth of the time. If
 * entries overlap, the later one wins. A worker reads the file: 64 MiB take 0.6 s. During a reading
 * the map names no code, and samples wait. Thread: the engine's.
 */
#pragma once

#include "base/cleanup.h"
#include "base/memory_budget.h"
#include "base/worker.h"
#include "elf/symbol_table.h"

#define PERF_MAP_ENTRIES_MAX ((size_t)1 << 20)
#define PERF_MAP_LINE_MAX ((size_t)8 << 10)   /* longer lines are skipped */
#define PERF_MAP_NAME_MAX 1024                /* longer names are cut */
#define PERF_MAP_CODE_MAX ((uint64_t)1 << 30) /* bytes of code; longer entries are skipped */

/* Adds the complete lines of @text to @b. Returns the number of bytes used, which excludes an
 * incomplete last line, or -ENOMEM. Pure. */
ssize_t perf_map_parse(struct span text, struct symbol_builder *b);

struct perf_map;

/* Takes @fd, a file of @owner (proc_owner()). Later reads at most @max_bytes of it. Borrows
 * @memory, which counts the map's memory until the map is freed. During a reading it counts the
 * most that the map may need. Names beyond the owner's share are left out; the map takes up to a
 * tenth more. Returns 0, -ENOMEM, or -EBUSY if @fd is a copy (base/memfd_copy.h) for which there is
 * no room. Closes @fd on errors. Reads nothing yet. */
int perf_map_open(int fd, uint64_t owner, size_t max_bytes, struct memory_budget *memory,
                  struct perf_map **ret);
/* Frees the map. If it is being read, frees it at the end of the reading. */
struct perf_map *perf_map_close(struct perf_map *m);
/* Returns true if lines were left out for lack of memory. */
bool perf_map_is_cut(const struct perf_map *m);
/* Returns true if the file has more bytes or entries than the limits allow. */
bool perf_map_is_long(const struct perf_map *m);
CLEANUP_FUNCTION(perf_map_closep, perf_map, perf_map_close)
/* Makes @w read the new lines if a reading is due; if @w is NULL, reads them here. Returns true if
 * the symbols have changed: then stored ids are invalid. */
bool perf_map_refresh(struct perf_map *m, struct worker *w, uint64_t now_ns);
/* Does the same sooner, because code without an entry ran: its line may be new. */
bool perf_map_refresh_missed(struct perf_map *m, struct worker *w, uint64_t now_ns);
/* Ends the reading @work of a perf map, and frees the map if it was closed. */
void perf_map_end(struct work *work);
/* Returns true if @m is being read, or waits to be read. */
bool perf_map_comes(const struct perf_map *m);
/* Returns true if the map does not change after it is read: later lines are in another copy
 * (base/memfd_copy.h). */
bool perf_map_is_copy(const struct perf_map *m);
/* Returns the entry at @address, which points into @m until the next refresh. Returns NULL if there
 * is none, or during a reading. */
const struct symbol *perf_map_find(const struct perf_map *m, uint64_t address);
/* Does symbol_table_forget_strings() on the map's table. */
void perf_map_forget_strings(struct perf_map *m);
/* Returns the map's table, which is valid until the next refresh. Do not read it while
 * perf_map_comes() is true. */
struct symbol_table *perf_map_symbols(struct perf_map *m);
