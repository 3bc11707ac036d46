/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a target is asked again, and what is given up: the rules of OTLP over HTTP, and two of our
 * own. What says that the engine is not there, or not for us (401, 403, 404), keeps the body, until
 * the spool's bounds. A body that the engine fails at three times (500) is given up. Pure; times
 * are the caller's.
 */
#pragma once

#include "push/pusher_abi.h"

#define RETRY_FIRST_NS (1 * NSEC_PER_SEC)
#define RETRY_MAX_NS (120 * NSEC_PER_SEC)
#define RETRY_AFTER_MAX_NS (3600 * NSEC_PER_SEC)
#define RETRY_ANSWER_NS (120 * NSEC_PER_SEC) /* flamed-push gives up before */
#define RETRY_BAD_TRIES 3                    /* of a body that an engine fails at */

enum retry_verdict {
    RETRY_SENT,     /* the engine took the body, or a part of it */
    RETRY_LATER,    /* at retry.next_ns */
    RETRY_REJECTED, /* the engine will never take it */
};

struct retry {
    uint64_t next_ns;   /* CLOCK_MONOTONIC: nothing is sent before */
    unsigned failures;  /* in a row */
    unsigned bad_tries; /* of the body at hand */
};

/* Judges an answer at @now_ns. @spread, any number that differs by node, moves the time of the next
 * try by up to a quarter. So a thousand nodes do not come back at once. */
enum retry_verdict retry_judge(struct retry *r, const struct pusher_answer *a, uint64_t now_ns,
                               uint64_t spread);
/* Returns whether an error at @error_ns is old: older than two times @every_ns and an answer. Then
 * it says nothing of a target to which nothing was sent since. Times are CLOCK_REALTIME. */
bool retry_is_over(uint64_t error_ns, uint64_t every_ns, uint64_t now_ns);
