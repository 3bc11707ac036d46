/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/measures.h"

#include "signal/rule.h"

/* Returns @of / @whole; NAN if @whole is 0. */
static double part(double of, double whole)
{
    return whole > 0 ? of / whole : NAN;
}

static double sum(const struct numbers *n, enum number which)
{
    return numbers_sum(n, which, RULE_WINDOW_S);
}

static double mean(const struct numbers *n, enum number which)
{
    return numbers_mean(n, which, RULE_WINDOW_S);
}

void measures_of(const struct numbers *n, double ret[MEASURES])
{
    double limit = numbers_last(n, NUMBER_MEMORY_LIMIT_BYTES);

    ret[MEASURE_CPU] = numbers_share(n, NUMBER_CPU_NS, RULE_WINDOW_S);
    ret[MEASURE_THROTTLED] = part(sum(n, NUMBER_PERIODS_THROTTLED), sum(n, NUMBER_PERIODS));
    ret[MEASURE_GC_SHARE] = numbers_share(n, NUMBER_COLLECTION_NS, RULE_WINDOW_S);
    ret[MEASURE_TTSP] =
        part(sum(n, NUMBER_SAFEPOINT_SYNC_NS), sum(n, NUMBER_SAFEPOINTS)) / NSEC_PER_SEC;
    ret[MEASURE_LOCK_WAIT] = mean(n, NUMBER_LOCK_WAITERS) / fmax(mean(n, NUMBER_BUSY_THREADS), 1);
    ret[MEASURE_ALLOC_RATE] = mean(n, NUMBER_ALLOCATED_PER_SECOND);
    ret[MEASURE_RSS_SHARE] = part(numbers_last(n, NUMBER_RSS_BYTES),
                                  limit > 0 ? limit : numbers_last(n, NUMBER_NODE_MEMORY_BYTES));
}
