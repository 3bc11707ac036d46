/* SPDX-License-Identifier: Apache-2.0 */
/* What the owners of a lock did when threads waited for it: a single look shows one moment only.
 * Pure. */
#pragma once

#include "profile/waits_now.h"

#define LOCK_DEEDS 6                     /* kept actions of owners; a new one replaces the rarest */
#define LOCK_HALF_LIFE_S 120.0           /* the weight of a look halves in this time */
#define LOCK_REST_NS (60 * NSEC_PER_SEC) /* waits this long ago are dropped */
#define LOCK_DEED_AHEAD 1.25             /* factor by which another action must be more frequent */

struct lock_readings {
    struct lock_deed {
        struct waits_lock lock; /* from the last look that showed this action */
        bool several;           /* the looks showed different owners */
        double looks;
    } all[LOCK_DEEDS];
    size_t shown;     /* index in `all` */
    uint64_t time_ns; /* time of the last look */
};

/* Adds @lock, seen at @now_ns (monotonic). Writes into *ret the last reading that shows what owners
 * of locks of this class did most often since threads began to wait. The shown action changes only
 * when another one is clearly more frequent. *ret names the owner if all looks with this action had
 * the same owner. *ret is @lock if no action is known. */
void lock_readings_note(struct lock_readings *r, const struct waits_lock *lock, uint64_t now_ns,
                        struct waits_lock *ret);
