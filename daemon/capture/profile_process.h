/* SPDX-License-Identifier: Apache-2.0 */
/* Makes profile_process of a process. Thread: the engine's. */
#pragma once

#include "discover/discover.h"
#include "profile/profile.h"

/* Fills in *ret from @p, with strings in @frames, but for the owner. */
void profile_process_of(struct frame_table *frames, const struct process *p,
                        struct profile_process *ret);
