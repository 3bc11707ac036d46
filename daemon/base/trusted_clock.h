/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the wall clock can be trusted with what cannot be undone, such as dropping what is old. A
 * clock that was set has to run on for a while first. Pure: callers pass the time. Thread: the
 * owner's.
 */
#pragma once

#include "base/clock.h"

#define STEADY_JUMP_NS (60 * NSEC_PER_SEC) /* between two looks: no slewing is so fast */
#define STEADY_AFTER_NS (600 * NSEC_PER_SEC)

struct steady {
    uint64_t offset_ns; /* wall clock less monotonic, as last seen (wraps) */
    uint64_t jumped_ns; /* monotonic: when it was last set; 0: not since the first look */
    bool looked;
};

/* Returns the wall clock at a moment; 0 when it was set less than STEADY_AFTER_NS ago. To be asked
 * every minute or so. */
uint64_t steady_now(struct steady *s, uint64_t monotonic_ns, uint64_t real_ns);
