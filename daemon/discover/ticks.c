/* SPDX-License-Identifier: Apache-2.0 */
/* Converts start times between ticks since boot, as in /proc, and CLOCK_MONOTONIC. */
#include "discover/table.h"

#include "base/clock.h"

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
