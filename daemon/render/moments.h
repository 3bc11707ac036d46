/* SPDX-License-Identifier: Apache-2.0 */
/* What JVMs did as a whole during a profile, as JSON and as lines of text. */
#pragma once

#include "base/buf.h"
#include "profile/profile.h"

/* Appends `,"moments":[...]` with at most @max of them; nothing where there are none. If there are
 * more, counts of successive times are added up, and the shortest single ones are left out. Pauses
 * go last. Then it says how many are left out, and how many of these are pauses. Times are from the
 * profile's start on. */
void render_add_moments(const struct profile *p, size_t max, struct buf *out);
