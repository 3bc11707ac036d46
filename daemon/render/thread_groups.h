/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a dump by their stacks. */
#pragma once

#include "profile/thread_dump.h"

#define THREAD_GROUP_NAMES 10

struct thread_group {
    uint32_t stack; /* string of the dump; 0: those without one */
    size_t count, virtuals;
    size_t states[DUMPED_STATES];
    const struct dumped_thread *some[THREAD_GROUP_NAMES]; /* the first ones */
};

/* Gets the groups, the largest first, and last those without a stack, by the reason. Owned by the
 * caller. 0 or -ENOMEM. */
int thread_groups(const struct thread_dump *d, struct thread_group **ret, size_t *ret_count);
