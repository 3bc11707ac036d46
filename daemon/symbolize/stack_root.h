/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where stacks begin: decides whether a walk that ended without a reason reached the root.
 * Thread: the engine's.
 */
#pragma once

#include "profile/frame.h"

/* Returns true when @frames[0..n) (leaf first) end at the start of a thread or program. That is a
 * function that is known to be one, or nameless code of the C library that no other code of it
 * called. (The library's start_thread is a local symbol, which a stripped file lacks.) */
bool stack_is_whole(const struct frame_table *t, const uint32_t *frames, size_t n);
/* Returns whether a walk that found no rule for its last frame ended where goroutines begin. Go has
 * no .eh_frame: only the name shows it. */
bool stack_ends_in_go(const struct frame_table *t, const uint32_t *frames, size_t n);
