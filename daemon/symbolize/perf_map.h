/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /tmp/perf-PID.map: the list of generated code that a runtime writes for perf (Node.js
 * --perf-basic-prof, .NET, Julia, ...) while it runs. Each line is one "START SIZE NAME" in
 * hexadecimal. The file is its owner's. It is read by pread(2) from where the last reading ended.
 * That is once a second, up to a hundred times if code is missing, and at most a twentieth of the
 * time. If entries overlap, the later one wins. A worker reads it: one of 64 MiB takes 0.6 s. In
 * that time it names nothing, and samples wait. Thread: the engine's.
 */
#pragma once

#include "base/cleanup.h"
#include "base/memory_budget.h"
#include "base/worker.h"
#include "elf/symbol_table.h"

#define PERF_MAP_ENTRIES_MAX ((size_t)1 << 20)
#define PERF_MAP_LINE_MAX ((size_t)8 << 10)   /* longer lines are skipped */
#define PERF_MAP_NAME_MAX 1024                /* bytes that are kept */
#define PERF_MAP_CODE_MAX ((uint64_t)1 << 30) /* bytes of code; longer entries are skipped */

/* Adds the complete lines of @text to @b. Returns the bytes used (the last line may be incomplete),
 * or -ENOMEM. Pure. */
ssize_t perf_map_parse(struct span text, struct symbol_builder *b);

struct perf_map;

/* Takes @fd, of the owner @owner by proc_owner(), and reads at most @max_bytes of it later. @memory
 * is borrowed, and counts the map's memory until it is freed; during a reading it counts the most
 * that the map may need. Names beyond the owner's share are left out; the map takes up to a tenth
 * more. 0; -EBUSY: @fd is a copy (base/memfd_copy.h) without room; -ENOMEM; on errors @fd is
 * closed. Nothing is read yet. */
int perf_map_open(int fd, uint64_t owner, size_t max_bytes, struct memory_budget *memory,
                  struct perf_map **ret);
/* Frees the map; if it is being read, at the end of the reading. */
struct perf_map *perf_map_close(struct perf_map *m);
/* Returns true if lines were left out for lack of memory. */
bool perf_map_is_cut(const struct perf_map *m);
/* Returns true if it has more bytes or entries than the limits. */
bool perf_map_is_long(const struct perf_map *m);
CLEANUP_FUNCTION(perf_map_closep, perf_map, perf_map_close)
/* Makes @w read the new lines, if a reading is due; NULL: reads them itself. Returns true if the
 * symbols have changed: ids kept by address are void. */
bool perf_map_refresh(struct perf_map *m, struct worker *w, uint64_t now_ns);
/* Does the same after code without an entry ran: its line may be new. */
bool perf_map_refresh_missed(struct perf_map *m, struct worker *w, uint64_t now_ns);
/* Ends the reading @work, which is of a perf map, and frees a closed map. */
void perf_map_end(struct work *work);
/* Returns true if @m is being read, or waits to be read. */
bool perf_map_comes(const struct perf_map *m);
/* Returns true if it never changes once it is read: later lines are in another copy
 * (base/memfd_copy.h). */
bool perf_map_is_copy(const struct perf_map *m);
/* Returns the entry at @address. Points into @m until the next refresh; NULL: none, or it is being
 * read. */
const struct symbol *perf_map_find(const struct perf_map *m, uint64_t address);
/* Does symbol_table_forget_strings() on its table. */
void perf_map_forget_strings(struct perf_map *m);
/* Returns its table, which is valid until the next refresh. Do not read it while
 * perf_map_comes(). */
struct symbol_table *perf_map_symbols(struct perf_map *m);
