/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for events by a part of their name. Pure; thread: any. */
#pragma once

#include "base/span.h"

/* Returns whether @pattern matches @text; the case of letters does not matter. A pattern with * or
 * ? has to match all of @text, any other pattern a part of it. */
bool event_match(struct span pattern, struct span text);
