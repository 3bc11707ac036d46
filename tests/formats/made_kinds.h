/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of each kind of event, always the same. */
#pragma once

#include "profile/profile.h"

#define MADE_KINDS_PERIOD UINT64_C(1000000)
#define MADE_DEEP_FRAMES 6000u

/* Makes the profile of the event @name, with what its stacks have at their leaves; "every" has
 * eight events, "deep" a stack of MADE_DEEP_FRAMES, and
 * "numbers" has names that end in some. Returns NULL if there is no such event. Exits
 * on errors. */
struct profile *made_kinds(const char *name);
