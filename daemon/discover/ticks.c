/* SPDX-License-Identifier: Apache-2.0 */
/* Converts start times between ticks since boot, as in /proc, and CLOCK_MONOTONIC. */
#include "discover/age.h"
#include "discover/table.h"

#include "base/clock.h"

#define START_MOVES_NS NSEC_PER_SEC /* from this difference on the wall clock was set */

/* Returns the current difference of CLOCK_BOOTTIME, as /proc shows it, and CLOCK_MONOTONIC, as
 * in side-band records and samples. */
static int64_t boot_minus_monotonic(void)
{
    return (int64_t)clock_ns(CLOCK_BOOTTIME) - (int64_t)clock_ns(CLOCK_MONOTONIC);
}

uint64_t ticks_of_boottime(const struct discover *d, uint64_t boottime_ns)
{
    return (uint64_t)((int64_t)boottime_ns + d->timens_ns) / DISCOVER_NS_PER_TICK;
}

uint64_t ticks_of_monotonic(const struct discover *d, uint64_t time_ns)
{
    (void)d;
    return (uint64_t)((int64_t)time_ns + boot_minus_monotonic()) / DISCOVER_NS_PER_TICK;
}

uint64_t monotonic_of_ticks(const struct discover *d, uint64_t ticks)
{
    int64_t ns = (int64_t)(ticks * DISCOVER_NS_PER_TICK) - boot_minus_monotonic();

    (void)d;
    return ticks && ns > 0 ? (uint64_t)ns : 0;
}

uint64_t process_age_ns(const struct process *p)
{
    int64_t ns = (int64_t)(clock_ns(CLOCK_BOOTTIME) - p->id.start_ticks * DISCOVER_NS_PER_TICK);

    return ns > 0 ? (uint64_t)ns : 0;
}

void image_note_start(struct image *im)
{
    uint64_t start_ns = clock_realtime_ns() - clock_ns(CLOCK_BOOTTIME) +
                        im->p.id.start_ticks * DISCOVER_NS_PER_TICK;

    if (MAX(start_ns, im->p.start_realtime_ns) - MIN(start_ns, im->p.start_realtime_ns) >=
        START_MOVES_NS)
        im->p.start_realtime_ns = start_ns;
}
