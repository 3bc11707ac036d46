/* SPDX-License-Identifier: Apache-2.0 */
/* Writes moments of JVMs as JSON. */
#pragma once

#include "base/buf.h"
#include "profile/profile.h"

/* Appends `,"moments":[...]` with at most @max moments; nothing if there are none. If there are
 * more, adds up counts of successive times, and leaves out the shortest single moments, pauses
 * last. Then appends members with the number of left out moments and of left out pauses. Times are
 * relative to the profile's start. */
void render_add_moments(const struct profile *p, size_t max, struct buf *out);
