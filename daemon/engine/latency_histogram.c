/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/latency_histogram.h"

static const uint64_t BOUNDS_NS[DELAYS_BOUNDS] = {
    NSEC_PER_MSEC,       2 * NSEC_PER_MSEC,    5 * NSEC_PER_MSEC,  10 * NSEC_PER_MSEC,
    15 * NSEC_PER_MSEC,  20 * NSEC_PER_MSEC,   50 * NSEC_PER_MSEC, 100 * NSEC_PER_MSEC,
    500 * NSEC_PER_MSEC, 2000 * NSEC_PER_MSEC,
};

void delays_add(struct delays *d, uint64_t ns)
{
    size_t i = 0;

    while (i < DELAYS_BOUNDS && ns > BOUNDS_NS[i])
        i++;
    d->counts[i]++;
    d->sum_ns += ns;
}

void delays_write(const struct delays *d, const char *name, const char *help, struct buf *out)
{
    uint64_t sum = 0;

    buf_printf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (size_t i = 0; i < DELAYS_BOUNDS; i++) {
        sum += d->counts[i];
        buf_printf(out, "%s_bucket{le=\"%g\"} %llu\n", name, (double)BOUNDS_NS[i] / 1e9,
                   (unsigned long long)sum);
    }
    sum += d->counts[DELAYS_BOUNDS];
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9f\n%s_count %llu\n", name,
               (unsigned long long)sum, name, (double)d->sum_ns / 1e9, name,
               (unsigned long long)sum);
}
