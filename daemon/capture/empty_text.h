/* SPDX-License-Identifier: Apache-2.0 */
/* What to say of an event that has no samples in a capture. Pure; thread: any. */
#pragma once

#include "event/events.h"

#define EMPTY_TEXT_BYTES (EVENT_NAME_BYTES + 256)

/* How the sentence goes on: with the name of the event, or with its period. */
enum empty_rest {
    EMPTY_IDLE,
    EMPTY_LONGER,
    EMPTY_BY_CHANCE,
    EMPTY_BYTES_BY_CHANCE,
    EMPTY_DRAWN,
    EMPTY_NO_PAGE,
    EMPTY_NO_CALL,
    EMPTY_ONE_IN,
};
struct empty_reason {
    const char *why; /* "no thread of the target waited" */
    enum empty_rest rest;
};

/* Writes why there may be none of event @name, and what to try. @period: as in struct wanted_event.
 * Return: @buf. */
const char *empty_text(struct empty_reason reason, const char *name, uint64_t period,
                       char buf[EMPTY_TEXT_BYTES]);
