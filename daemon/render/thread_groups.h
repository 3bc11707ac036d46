/* SPDX-License-Identifier: Apache-2.0 */
/* Groups the threads of a dump by stack. */
#pragma once

#include "profile/thread_dump.h"

#define THREAD_GROUP_NAMES 10

struct thread_group {
    uint32_t stack; /* string of the dump; 0: threads without a stack */
    size_t count, virtuals;
    size_t states[DUMPED_STATES];
    const struct dumped_thread *some[THREAD_GROUP_NAMES]; /* the first ones */
};

/* Returns the groups in *ret, owned by the caller. The largest come first; those without a stack
 * come last, one per reason. 0 or -ENOMEM. */
int thread_groups(const struct thread_dump *d, struct thread_group **ret, size_t *ret_count);
