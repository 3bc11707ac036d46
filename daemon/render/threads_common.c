/* SPDX-License-Identifier: Apache-2.0 */
#include "render/threads_common.h"

const char *thread_state_name(unsigned state)
{
    static const char *const NAMES[DUMPED_STATES] = {
        "UNKNOWN", "NEW", "RUNNABLE", "BLOCKED", "WAITING", "TIMED_WAITING", "TERMINATED",
    };

    return NAMES[state < DUMPED_STATES ? state : DUMPED_UNKNOWN];
}

const char *thread_lock_name(unsigned lock)
{
    static const char *const NAMES[THREAD_LOCKS] = {
        NULL, "monitor", "notify", "lock", "condition", "park",
    };

    return NAMES[lock < THREAD_LOCKS ? lock : THREAD_LOCK_NONE];
}

const char *thread_stack_name(unsigned why)
{
    static const char *const NAMES[THREAD_STACKS] = { "whole", "cut", "none", "running",
                                                      "changed" };

    return NAMES[why < THREAD_STACKS ? why : THREAD_STACK_CHANGED];
}

void thread_counts(const struct thread_dump *d, struct thread_counts *ret)
{
    *ret = (struct thread_counts){ 0 };
    for (size_t i = 0; i < d->count; i++) {
        const struct dumped_thread *t = &d->threads[i];

        ret->platform += !t->is_virtual;
        ret->virtuals += t->is_virtual;
        ret->mounted += t->is_mounted;
        ret->without += t->why == THREAD_STACK_RUNNING || t->why == THREAD_STACK_CHANGED;
        ret->states[t->state < DUMPED_STATES ? t->state : DUMPED_UNKNOWN]++;
    }
}
