/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules looks for a JVM: at the start of a process, and again while it may become one. */
#include "discover/table.h"

#include "base/clock.h"

void jvm_schedule(struct discover *d, struct image *im)
{
    uint64_t start_ns = monotonic_of_ticks(d, im->p.id.start_ticks);
    uint64_t now_ns = clock_monotonic_ns();

    if (im->p.exec_time_ns) {
        im->look.due_ns = im->p.exec_time_ns + DISCOVER_FIRST_LOOK_NS;
        im->look.timer_ns = im->p.exec_time_ns + DISCOVER_SECOND_LOOK_NS;
    } else if (start_ns && now_ns < start_ns + DISCOVER_SECOND_LOOK_NS) {
        /* The process was forked, but has not made an exec yet. It may share the memory of a JVM
         * that is starting a child. */
        im->look.due_ns = im->look.timer_ns = start_ns + DISCOVER_SECOND_LOOK_NS;
    } else {
        im->look.due_ns = 0;
        im->look.timer_ns = UINT64_MAX;
    }
}
