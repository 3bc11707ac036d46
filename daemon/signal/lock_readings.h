/* SPDX-License-Identifier: Apache-2.0 */
/* What the owners of a lock did when threads waited for it: one look sees one moment. Values; pure.
 */
#pragma once

#include "profile/waits_now.h"

#define LOCK_READINGS 6                      /* of a minute */
#define LOCK_READINGS_NS (60 * NSEC_PER_SEC) /* older ones do not count */

struct lock_readings {
    struct {
        struct waits_lock lock;
        uint64_t time_ns;
    } all[LOCK_READINGS];
    size_t noted; /* so far; the last ones are kept */
};

/* Notes @lock, seen at @now_ns (monotonic). Writes into *ret the reading of its class with what
 * owners did most often, of equals the newest; without a known one, @lock. */
void lock_readings_note(struct lock_readings *r, const struct waits_lock *lock, uint64_t now_ns,
                        struct waits_lock *ret);
