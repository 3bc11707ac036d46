/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits wrong passwords and tokens of each caller: a burst at once, then a few a minute.
 * Wrong passwords are counted under the name that came with them, so that guessing one user's
 * password locks out no other user. They are also counted for all names together. Tokens have a
 * count of their own. Thread: one at a time.
 */
#pragma once

#include "base/clock.h"
#include "request/caller.h"

#define ATTEMPTS_AT_ONCE 10           /* burst for one name, and for tokens */
#define ATTEMPT_NS (6 * NSEC_PER_SEC) /* time until another attempt is allowed */
#define ATTEMPTS_ALL_AT_ONCE 30       /* burst for all names of one caller */
#define ATTEMPT_ALL_NS (2 * NSEC_PER_SEC)
#define ATTEMPTS_COUNTS_MAX 2048 /* beyond it, the least recently charged entry is forgotten */

struct attempts {
    struct attempts_count {
        struct caller caller;
        char
            name[CALLER_NAME_BYTES]; /* name that came with a password; for tokens NAME_OF_TOKENS */
        uint64_t used_ns; /* cost of attempts, minus what time restored by `at_ns`; 0: unused */
        uint64_t at_ns;
    } counts[ATTEMPTS_COUNTS_MAX];
};

/* Returns whether @c may try once more: a password for @name, or a token where @name is NULL. If
 * not, *ret_retry_s is the number of seconds to wait. */
bool attempts_left(struct attempts *a, const struct caller *c, const char *name, uint64_t now_ns,
                   unsigned *ret_retry_s);
/* Counts a wrong password for @name, or a wrong token where @name is NULL. */
void attempts_charge(struct attempts *a, const struct caller *c, const char *name, uint64_t now_ns);
