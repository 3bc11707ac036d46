/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps requests from taking the memory that sampling needs. Tables, arrays and texts of a guarded
 * thread do not grow while the process has more memory than a limit: its request fails with
 * -ENOMEM. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Default limit. The first MEMORY_GUARD_FREE bytes of a request are not compared with it, so that
 * small requests are answered whatever others take; then each MEMORY_GUARD_PIECE is. */
#define MEMORY_GUARD_BYTES (UINT64_C(304) << 20)
#define MEMORY_GUARD_FREE ((size_t)12 << 20)
#define MEMORY_GUARD_PIECE ((size_t)1 << 20)

/* Sets the limit. Called before other threads run; without it nothing is limited. 0 or -errno. */
int memory_guard_open(uint64_t limit_bytes);
/* Guards the calling thread from now on, for a new request; or no longer. */
void memory_guard_thread(bool guards);
/* Returns whether the calling thread may take @more bytes. */
bool memory_guard_admits(size_t more);
/* Returns whether the guard has refused bytes since memory_guard_thread(): anything that the thread
 * has made since then may lack a part. */
bool memory_guard_refused(void);
