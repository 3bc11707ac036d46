/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles that are made up, always the same: what tests of the formats read back. */
#pragma once

#include "profile/profile.h"

/* Cases: "mixed" (3,000 samples and more, every kind of frame, two processes in containers),
 * "single" (its first process alone), "hostile" (names made to break out), "empty", "big" (a
 * million samples, 50,000 stacks, 1,000 threads), "requests" (60 samples, 45 of them in three
 * requests), and those of made_kinds(). Exits on errors. */
struct profile *made_profile(const char *name);
