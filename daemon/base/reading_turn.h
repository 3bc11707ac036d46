/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads read large files, one file at a time. So only the memory of one reading counts in
 * the sum of all limits (docs/limits.md). No owner is charged for it: while a file is read,
 * captures have less memory (engine/memory_sum.c). Thread: any but the engine's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Memory for one reading: the symbols of a file, or its unwind rules. */
#define READING_MAX_BYTES ((size_t)48 << 20)

/* A file with fewer bytes of unwind rules is read without waiting for a turn, because stacks of its
 * process are cut until then. */
#define READING_SMALL_BYTES ((size_t)4 << 20)

/* Waits for the turn of the calling thread to read. Threads read in the order of these calls. */
void reading_turn_begin(void);
void reading_turn_end(void);
/* Returns whether a thread reads. Thread: any. */
bool reading_turn_taken(void);
