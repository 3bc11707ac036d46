/* SPDX-License-Identifier: Apache-2.0 */
/* What the owners of a lock did when threads waited for it: one look sees one moment. Values; pure.
 */
#pragma once

#include "profile/waits_now.h"

#define LOCK_DEEDS 6                     /* different ones; the rarest gives its place */
#define LOCK_HALF_LIFE_S 120.0           /* a look counts half after this time */
#define LOCK_REST_NS (60 * NSEC_PER_SEC) /* without waits, after which looks count no more */
#define LOCK_DEED_AHEAD 1.25             /* so much more often, and another one is shown */

struct lock_readings {
    struct lock_deed {
        struct waits_lock lock; /* of the last look that showed it */
        bool several;           /* looks had different owners */
        double looks;
    } all[LOCK_DEEDS];
    size_t shown;     /* of `all` */
    uint64_t time_ns; /* of the last look */
};

/* Notes @lock, seen at @now_ns (monotonic). Writes into *ret the last reading of what owners of
 * locks of its class did most often since threads began to wait. What *ret had before stays until
 * another one was clearly seen more often. It names the owner if all looks with it had the same
 * one. *ret is @lock if none is known. */
void lock_readings_note(struct lock_readings *r, const struct waits_lock *lock, uint64_t now_ns,
                        struct waits_lock *ret);
