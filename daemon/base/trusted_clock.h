/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says whether the wall clock can be trusted for acts that cannot be undone, such as dropping old
 * data. After the first call and each step it has to run for STEADY_AFTER_NS first. Pure: callers
 * pass the time. Thread: the owner's.
 */
#pragma once

#include "base/clock.h"

#define STEADY_JUMP_NS (60 * NSEC_PER_SEC) /* between two calls; slewing is never that fast */
#define STEADY_AFTER_NS (600 * NSEC_PER_SEC)

struct steady {
    uint64_t offset_ns; /* wall clock minus monotonic clock at the last call (wraps) */
    /* Monotonic time at which the wall clock was last set, or of the first call. */
    uint64_t jumped_ns;
    bool looked;
};

/* Returns @real_ns; 0 if the first call was, or the wall clock was set, less than STEADY_AFTER_NS
 * ago. Call it about once a minute. */
uint64_t steady_now(struct steady *s, uint64_t monotonic_ns, uint64_t real_ns);
