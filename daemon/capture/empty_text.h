/* SPDX-License-Identifier: Apache-2.0 */
/* The warning for an event without samples in a capture. Pure; thread: any. */
#pragma once

#include "event/events.h"

#define EMPTY_TEXT_BYTES (EVENT_NAME_BYTES + 256)

/* How the sentence ends: with the name of the event, or with its period. */
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

/* Writes why event @name may have no samples, and what to try. @period: as in struct wanted_event.
 * Returns @buf. */
const char *empty_text(struct empty_reason reason, const char *name, uint64_t period,
                       char buf[EMPTY_TEXT_BYTES]);
