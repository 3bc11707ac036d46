/* SPDX-License-Identifier: Apache-2.0 */
/* What to say of an event that has no samples in a capture. Pure; thread: any. */
#pragma once

#include "event/events.h"

#define EMPTY_TEXT_BYTES (EVENT_NAME_BYTES + 256)

/* Writes why there may be none of event @name, and what to try. @period: as of struct wanted_event.
 * @by_agent: an agent told what was allocated. Return: @buf. */
const char *empty_text(const struct event_info *info, const char *name, uint64_t period,
                       bool by_agent, char buf[EMPTY_TEXT_BYTES]);
