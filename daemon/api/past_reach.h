/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the time that a request asks for an answer about the past has. Pure; thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct past_reach {
    uint64_t from_ns, to_ns;   /* CLOCK_REALTIME: what was asked for; from_ns 0: all */
    bool store_asked;          /* stored captures were looked for, */
    bool store_closed;         /* but the store is not open */
    uint64_t recorded_ns;      /* CLOCK_REALTIME: the recorder has all since; 0: not used */
    uint64_t recorder_keep_ns; /* recorder_seconds */
    uint64_t kept_ns;          /* CLOCK_REALTIME: the history begins then; 0: not used */
    bool recorder_full;        /* its memory did not suffice for that */
    size_t captures;           /* stored ones that are in the answer, */
    uint64_t captured_ns;      /* and the time that they cover together */
};

/* Writes that the answer has less than was asked for, and why. Returns false, and "", if it has
 * all. */
#define PAST_REACH_BYTES 320
bool past_reach_text(const struct past_reach *r, char ret[PAST_REACH_BYTES]);
/* Writes @realtime_ns as RFC 3339, in seconds. "" without one. */
#define PAST_TIME_BYTES 40
void past_time_text(uint64_t realtime_ns, char ret[PAST_TIME_BYTES]);
