/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names what native code waits for at a futex: a mutex, a condition variable ..., by the functions
 * of the C library on the stack. Thread: the engine's.
 */
#pragma once

#include "symbolize/lock_names.h"

/* Makes the frames of a wait for the futex at @address: the address, and the way of waiting.
 * @frames: the @n frames below them, leaf first. Returns false if the wait is one of Java's
 * (monitors, parks, sleeps), which end in futexes, too. Sets *ret in every case. */
bool native_lock_get(struct frame_table *t, uint64_t address, const uint32_t *frames, size_t n,
                     struct lock_frames *ret);
