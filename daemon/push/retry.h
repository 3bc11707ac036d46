/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a body is sent again, and when it is given up: the rules of OTLP over HTTP, and two rules of
 * flamed. An engine that cannot be reached, or refuses flamed (401, 403, 404), makes the body wait,
 * within the spool's limits. A body is given up after three failures with status 500. Pure; the
 * caller gives the times.
 */
#pragma once

#include "push/pusher_abi.h"

#define RETRY_FIRST_NS (1 * NSEC_PER_SEC)
#define RETRY_MAX_NS (120 * NSEC_PER_SEC)
#define RETRY_AFTER_MAX_NS (3600 * NSEC_PER_SEC)
#define RETRY_ANSWER_NS (120 * NSEC_PER_SEC) /* for an answer; flamed-push gives up sooner */
#define RETRY_BAD_TRIES 3                    /* tries of a body that gets status 500 */

enum retry_verdict {
    RETRY_SENT,     /* the engine took the body, or a part of it */
    RETRY_LATER,    /* try again at retry.next_ns */
    RETRY_REJECTED, /* the engine will never accept it */
};

struct retry {
    uint64_t next_ns;   /* CLOCK_MONOTONIC: nothing is sent before */
    unsigned failures;  /* successive failures */
    unsigned bad_tries; /* such tries of the current body */
};

/* Judges an answer at @now_ns. @spread, any number that differs by node, moves the time of the next
 * try by up to a quarter. So a thousand nodes do not try again at the same time. */
enum retry_verdict retry_judge(struct retry *r, const struct pusher_answer *a, uint64_t now_ns,
                               uint64_t spread);
/* Returns true if an error at @error_ns is outdated: older than two times @every_ns and the limit
 * for an answer. Without requests since then, it says nothing about the target. Times are
 * CLOCK_REALTIME. */
bool retry_is_over(uint64_t error_ns, uint64_t every_ns, uint64_t now_ns);
