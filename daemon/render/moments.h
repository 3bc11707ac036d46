/* SPDX-License-Identifier: Apache-2.0 */
/* Writes moments of JVMs as JSON. */
#pragma once

#include "base/buf.h"
#include "profile/profile.h"

/* Appends `,"moments":[...]` with at most @max moments; nothing if there are none. Beyond @max,
 * counts of successive times are added up, and the shortest single moments are left out, pauses
 * last. Then members with the number of left out moments, and of pauses among them, follow. Times
 * start at the profile's start. */
void render_add_moments(const struct profile *p, size_t max, struct buf *out);
