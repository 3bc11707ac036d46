/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which owner may attach next: a few attaches run at a time. An owner is a container, or a
 * user outside of any. No owner gets more than a share of the slots. An attach that waits for an
 * unresponsive JVM makes room for another owner after a while. Pure. Thread: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TURNS_PER_OWNER 2
#define TURNS_FAIR_NS UINT64_C(3000000000) /* minimum time before an attach makes room */

struct turn {
    uint64_t owner; /* 0: the slot is free */
    uint64_t since_ns;
};

/* Decides about a new attach of @owner (not 0). Returns 0 and the slot *ret, in which the caller
 * has to end the current attach first; -EAGAIN if there is no slot now. */
int turns_next(const struct turn *turns, size_t count, uint64_t owner, uint64_t now_ns,
               size_t *ret);
/* Checks whether @owner may start: @interval_ns after its last attach, or after the oldest of
 * @count other owners. Returns 0 and the index *ret at which to record the start, or -EAGAIN. */
int turns_interval(const struct turn *last, size_t count, uint64_t owner, uint64_t interval_ns,
                   uint64_t now_ns, size_t *ret);
