/* SPDX-License-Identifier: Apache-2.0 */
/* Detects the root of Go stacks, which the unwinder cannot know. Thread: the engine's. */
#pragma once

#include "profile/frame.h"

/* Returns true if @frames[0..n) (leaf first) end where goroutines begin. Go has no .eh_frame, so
 * only the name of the last frame shows it. */
bool stack_ends_in_go(const struct frame_table *t, const uint32_t *frames, size_t n);
