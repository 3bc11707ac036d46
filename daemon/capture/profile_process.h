/* SPDX-License-Identifier: Apache-2.0 */
/* A process as profiles note it. Thread: the engine's. */
#pragma once

#include "discover/discover.h"
#include "profile/profile.h"

/* Writes what a profile notes of @p, with its strings in @frames; without the owner. */
void profile_process_of(struct frame_table *frames, const struct process *p,
                        struct profile_process *ret);
