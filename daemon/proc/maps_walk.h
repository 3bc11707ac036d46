/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the mappings of a process one by one and keeps none. A process may have tens of thousands
 * with names of 4 KB each, so each walk has a limit of processor time. Thread: any.
 */
#pragma once

#include "proc/proc.h"

/* Returns true to end the walk. The path of @m is valid during the call. */
typedef bool (*maps_fn)(const struct mapping *m, void *cookie);

/* Outcomes (> 0) of a walk: @fn ended it, or a limit did. */
#define MAPS_ENDED 1
#define MAPS_LIMIT 2

/* Walks the text of maps file @fd from its present offset: MAPS_MAX_BYTES, MAPS_MAX_LINES and @ns
 * of processor time at most. Skips malformed lines. Return: 0 (all were seen); MAPS_ENDED;
 * MAPS_LIMIT; -errno. Blocks as read(2) of /proc does. */
int maps_walk_text(int fd, uint64_t ns, maps_fn fn, void *cookie);
/* Walks the mappings that match @which (PROCMAP_EXEC and others of proc/procmap.h) by
 * PROCMAP_QUERY. Returns the same; -ENOTTY: the kernel lacks it. */
int maps_walk_query(int fd, unsigned which, uint64_t ns, maps_fn fn, void *cookie);
