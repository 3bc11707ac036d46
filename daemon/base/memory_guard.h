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

/* Default limit. Small requests are answered even above it: the first MEMORY_GUARD_FREE bytes of a
 * request are not compared with it. After that, each MEMORY_GUARD_PIECE is compared. */
#define MEMORY_GUARD_BYTES (UINT64_C(304) << 20)
#define MEMORY_GUARD_FREE ((size_t)12 << 20)
#define MEMORY_GUARD_PIECE ((size_t)1 << 20)

/* Sets the limit. Call it before other threads run. Without this call nothing is limited. Returns 0
 * or -errno. */
int memory_guard_open(uint64_t limit_bytes);
/* Begins to guard the calling thread, for a new request, or ends that. */
void memory_guard_thread(bool guards);
/* Returns whether the calling thread may take @more bytes. */
bool memory_guard_admits(size_t more);
/* Returns whether the guard has refused bytes since memory_guard_thread(). If so, a part may be
 * missing in anything that the thread has made since then. */
bool memory_guard_refused(void);
