/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong passwords and tokens of each caller: some at once, and a few a minute in the long run.
 * Passwords are counted by the name that comes with them, so that guesses at one user's shut out no
 * other. They are also counted for all names together; tokens apart. Thread: one at a time.
 */
#pragma once

#include "base/clock.h"
#include "request/caller.h"

#define ATTEMPTS_AT_ONCE 10           /* of a name, and of tokens */
#define ATTEMPT_NS (6 * NSEC_PER_SEC) /* for one more */
#define ATTEMPTS_ALL_AT_ONCE 30       /* of all names of a caller */
#define ATTEMPT_ALL_NS (2 * NSEC_PER_SEC)
#define ATTEMPTS_COUNTS_MAX 2048 /* the one that was charged least recently is forgotten */

struct attempts {
    struct attempts_count {
        struct caller caller;
        char name[CALLER_NAME_BYTES]; /* that came with a password; else one with a colon */
        uint64_t
            used_ns; /* as of `at_ns`: what its attempts cost, less what time gave back; 0: free */
        uint64_t at_ns;
    } counts[ATTEMPTS_COUNTS_MAX];
};

/* Returns whether @c may try once more: a password for @name, or a token, where @name is NULL.
 * False: *ret_retry_s says when. */
bool attempts_left(struct attempts *a, const struct caller *c, const char *name, uint64_t now_ns,
                   unsigned *ret_retry_s);
/* Counts that what @c has shown was wrong. */
void attempts_charge(struct attempts *a, const struct caller *c, const char *name, uint64_t now_ns);
