/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for events by a part of their name. Pure; thread: any. */
#pragma once

#include "base/span.h"

/* Returns whether @pattern fits @text, whatever the case of letters: it is a part of it, or, with *
 * or ? in it, describes all of it. */
bool event_match(struct span pattern, struct span text);
