/* SPDX-License-Identifier: Apache-2.0 */
/* Special rules for the outermost frames of stacks. Thread: the engine's. */
#pragma once

#include "profile/frame.h"

/* Returns true if @frames[0..n) (leaf first) end where goroutines begin. Go has no .eh_frame, so
 * only the name of the last frame shows it. */
bool stack_ends_in_go(const struct frame_table *t, const uint32_t *frames, size_t n);

/* Names the two outermost of @frames[0..n) (leaf first), if neither has a name and both are in
 * glibc. @frames must be the whole stack of a thread other than the first. A stripped glibc has no
 * symbols for these two functions. Returns the number of frames named. */
size_t stack_name_thread_start(struct frame_table *t, uint32_t *frames, size_t n);
