/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of each kind of event, always the same. */
#pragma once

#include "profile/profile.h"

#define MADE_KINDS_PERIOD UINT64_C(1000000)

/* Makes the profile of the event @name, with what its stacks have at their leaves; "every" has
 * eight events. Returns NULL if there is no such event. Exits on errors. */
struct profile *made_kinds(const char *name);
