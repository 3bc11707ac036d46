/* SPDX-License-Identifier: Apache-2.0 */
/* What JVMs did as a whole during a profile, as JSON and as lines of text. */
#pragma once

#include "base/buf.h"
#include "profile/profile.h"

/* Appends `,"moments":[...]` with the first @max of them, and how many are left out; nothing where
 * there are none. Times are from the profile's start on. */
void render_add_moments(const struct profile *p, size_t max, struct buf *out);
