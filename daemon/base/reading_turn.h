/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads read large files, one file at a time. So the memory of one reading counts in the
 * sum of all limits (docs/limits.md). It is charged to no owner: while a file is read, captures
 * have less (engine/memory_sum.c). Thread: any but the engine's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Memory for a reading: of the symbols of a file, or of its rules to unwind. */
#define READING_MAX_BYTES ((size_t)48 << 20)

/* A file with fewer bytes of rules is read at once: stacks of its process are cut until then. */
#define READING_SMALL_BYTES ((size_t)4 << 20)

/* Waits until no other thread reads, nor has waited for longer. */
void reading_turn_begin(void);
void reading_turn_end(void);
/* Returns whether a thread reads. Thread: any. */
bool reading_turn_taken(void);
