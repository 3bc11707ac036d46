/* SPDX-License-Identifier: Apache-2.0 */
/* Describes how much of the requested time an answer about the past covers. Pure; thread: any. */
#pragma once

#include "base/utc_text.h"
#include "request/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct past_reach {
    uint64_t from_ns, to_ns;   /* CLOCK_REALTIME: the requested range; from_ns 0: from the
                                * beginning */
    bool store_asked;          /* stored captures were read */
    bool store_closed;         /* the store is not open */
    uint64_t recorded_ns;      /* CLOCK_REALTIME: from then on the recorder has all samples; 0: not
                                * used */
    uint64_t recorder_keep_ns; /* recorder_seconds */
    uint64_t kept_ns;          /* CLOCK_REALTIME: the history begins then; 0: not used */
    bool recorder_full;        /* its memory was too small for recorder_keep_ns */
    size_t captures;           /* stored captures in the answer */
    uint64_t captured_ns;      /* the time that these captures cover together */
    size_t damaged;            /* stored captures that are damaged and left out */
    char damaged_id[CAPTURE_ID_BYTES]; /* the last of them */
};

/* Writes that the answer covers less than the request, and why. Writes "" and returns false if
 * nothing is missing. */
#define PAST_REACH_BYTES 320
bool past_reach_text(const struct past_reach *r, char ret[PAST_REACH_BYTES]);
/* Writes @realtime_ns as RFC 3339, in seconds; "" for 0. */
#define PAST_TIME_BYTES UTC_TEXT_BYTES
void past_time_text(uint64_t realtime_ns, char ret[PAST_TIME_BYTES]);
