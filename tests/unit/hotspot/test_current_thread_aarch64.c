/* SPDX-License-Identifier: Apache-2.0 */
/* The same for threads of aarch64: their thread pointer is behind struct pthread. */
#define UNWIND_AARCH64
#define current_thread_find current_thread_find_aarch64
#include "test_current_thread.c"

#include "hotspot/current_thread.c"
