/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for events by a part of their name. Pure; thread: any. */
#pragma once

#include "base/span.h"

/* Returns whether @pattern matches @text, whatever the case of letters. It has to be a part of
 * @text, or, if it has * or ?, to match all of it. */
bool event_match(struct span pattern, struct span text);
