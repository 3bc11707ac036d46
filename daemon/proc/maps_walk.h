/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the mappings of a process one by one and keeps none. A process may have tens of thousands
 * with names of 4 KB each, so each walk has a limit of processor time. Thread: any.
 */
#pragma once

#include "proc/proc.h"

/* Takes one mapping. Returns true to end the walk. The path of @m is valid during the call. */
typedef bool (*maps_fn)(const struct mapping *m, void *cookie);

/* Outcomes (> 0) of a walk: the function or a limit ended it. */
#define MAPS_ENDED 1
#define MAPS_LIMIT 2

/* Walks the text of maps file @fd from its current offset. Reads at most MAPS_MAX_BYTES and
 * MAPS_MAX_LINES, and uses at most @ns of processor time. Skips malformed lines. Returns 0 after
 * the last line, MAPS_ENDED, MAPS_LIMIT, or -errno. Blocks as read(2) of /proc does. */
int maps_walk_text(int fd, uint64_t ns, maps_fn fn, void *cookie);
/* Walks the mappings that match @which (PROCMAP_EXEC and others of proc/procmap.h) by
 * PROCMAP_QUERY. Returns the same, or -ENOTTY if the kernel lacks that call. */
int maps_walk_query(int fd, unsigned which, uint64_t ns, maps_fn fn, void *cookie);
