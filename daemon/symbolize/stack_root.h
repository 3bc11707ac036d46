/* SPDX-License-Identifier: Apache-2.0 */
/* The outermost frames of stacks that need a rule of their own. Thread: the engine's. */
#pragma once

#include "profile/frame.h"

/* Returns true if @frames[0..n) (leaf first) end where goroutines begin. Go has no .eh_frame, so
 * only the name of the last frame shows it. */
bool stack_ends_in_go(const struct frame_table *t, const uint32_t *frames, size_t n);

/* Names the two outermost of @frames[0..n) (leaf first), if neither has a name and both are in
 * glibc. @frames must be the whole stack of another thread than the first. The symbols for linking,
 * which a stripped glibc keeps, do not include them. Returns the number of frames named. */
size_t stack_name_thread_start(struct frame_table *t, uint32_t *frames, size_t n);
