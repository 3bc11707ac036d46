/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong passwords and tokens of each caller: some at once, and a few a minute in the long run.
 * Thread: one at a time.
 */
#pragma once

#include "base/clock.h"
#include "request/caller.h"

#define ATTEMPTS_AT_ONCE 10
#define ATTEMPT_NS (6 * NSEC_PER_SEC) /* for one more */
#define ATTEMPTS_CALLERS_MAX 512      /* the one that has tried least recently is forgotten */

struct attempts {
    struct attempts_of {
        struct caller caller;
        uint64_t
            used_ns; /* as of `at_ns`: what its attempts cost, less what time gave back; 0: free */
        uint64_t at_ns;
    } of[ATTEMPTS_CALLERS_MAX];
};

/* Whether @c may try once more. False: *ret_retry_s says when. */
bool attempts_left(struct attempts *a, const struct caller *c, uint64_t now_ns,
                   unsigned *ret_retry_s);
/* What @c has shown was wrong. */
void attempts_charge(struct attempts *a, const struct caller *c, uint64_t now_ns);
