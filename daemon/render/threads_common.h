/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by both formats of a dump of threads. Private to render/. */
#pragma once

#include "render/formats.h"
#include "render/thread_groups.h"
#include "render/threads.h"

/* Returns "RUNNABLE", a constant of java.lang.Thread.State, or "UNKNOWN". */
const char *thread_state_name(unsigned state);
/* Returns "monitor", "notify", "lock", "condition" or "park"; NULL: none. */
const char *thread_lock_name(unsigned lock);
/* Returns the completeness of a stack: "whole", "cut", "none", "running" or "changed". */
const char *thread_stack_name(unsigned why);

struct thread_counts {
    size_t platform, virtuals, mounted, without;
    size_t states[DUMPED_STATES];
};

/* Counts the threads of @d. without: threads with an unreadable stack. */
void thread_counts(const struct thread_dump *d, struct thread_counts *ret);
