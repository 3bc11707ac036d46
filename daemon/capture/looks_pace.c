/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/looks_pace.h"

#include "base/macros.h"

void looks_pace_init(struct looks_pace *p)
{
    *p = (struct looks_pace){ .budget_ns = (double)LOOKS_WALKS_AT_ONCE_NS };
}

double looks_pace_walks(struct looks_pace *p, uint64_t since_ns)
{
    double walks = LOOKS_WALKS_MAX;

    p->budget_ns =
        MIN(p->budget_ns + (double)since_ns / LOOKS_WALKS_SHARE, (double)LOOKS_WALKS_AT_ONCE_NS);
    if (p->walk_ns > 0)
        walks = MAX(MIN(walks, (double)LOOKS_WALKS_NS / p->walk_ns), 1.0);
    if (p->walk_cpu_ns > 0)
        walks = MIN(walks, p->budget_ns / p->walk_cpu_ns);
    if (walks < 1) /* no budget can be larger */
        return p->budget_ns >= (double)LOOKS_WALKS_AT_ONCE_NS;
    return walks;
}

/* Returns the mean of the last values, the newest being @last. @mean: the mean before, or 0. */
static double mean_of_last(double mean, double last)
{
    return mean > 0 ? mean * 0.75 + last * 0.25 : last;
}

void looks_pace_learn(struct looks_pace *p, const struct looks_work *work)
{
    double walks_ns = (double)(work->walks_own_ns + work->walks_readers_ns);

    p->pass_ns = mean_of_last(p->pass_ns, (double)work->own_ns);
    p->budget_ns = MAX(p->budget_ns - walks_ns, -(double)LOOKS_WALKS_OWED_NS);
    if (!work->walks)
        return;
    p->walk_ns = mean_of_last(p->walk_ns, (double)work->ns / (double)work->walks);
    p->walk_cpu_ns = mean_of_last(p->walk_cpu_ns, walks_ns / (double)work->walks);
}

uint64_t looks_pace_next(const struct looks_pace *p, uint64_t chance)
{
    uint64_t mean_ns =
        CLAMP((uint64_t)(p->pass_ns * LOOKS_PASS_SHARE), LOOKS_MEAN_MIN_NS, LOOKS_MEAN_MAX_NS);

    return mean_ns / 2 + chance % mean_ns;
}
