/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says whether the wall clock can be trusted for acts that cannot be undone, such as dropping old
 * data. After it was set, it has to run for STEADY_AFTER_NS first. Pure: callers pass the time.
 * Thread: the owner's.
 */
#pragma once

#include "base/clock.h"

#define STEADY_JUMP_NS (60 * NSEC_PER_SEC) /* between two looks: no slewing is so fast */
#define STEADY_AFTER_NS (600 * NSEC_PER_SEC)

struct steady {
    uint64_t offset_ns; /* wall clock less monotonic, as last seen (wraps) */
    uint64_t jumped_ns; /* monotonic: when it was last set; 0: not since the first call */
    bool looked;
};

/* Returns @real_ns; 0 if the wall clock was set less than STEADY_AFTER_NS ago. Call it about once a
 * minute. */
uint64_t steady_now(struct steady *s, uint64_t monotonic_ns, uint64_t real_ns);
