/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/sleeps.h"

void sleeps_begin(struct sleeps *s, uint64_t offset_ns)
{
    *s = (struct sleeps){ .offset_ns = offset_ns };
}

void sleeps_look(struct sleeps *s, uint64_t now_ns, uint64_t offset_ns)
{
    int64_t slept_ns = (int64_t)(offset_ns - s->offset_ns);

    if (slept_ns < SLEEPS_LEAST_NS)
        return;
    s->past[s->count++ % SLEEPS_KEPT] = (struct sleep_seen){ now_ns, (uint64_t)slept_ns };
    s->offset_ns = offset_ns;
}

uint64_t sleeps_real_of(const struct sleeps *s, uint64_t at_ns, uint64_t monotonic_ns,
                        uint64_t real_ns)
{
    uint64_t ago_ns = monotonic_ns - MIN(at_ns, monotonic_ns);

    for (size_t i = 0; i < MIN(s->count, (size_t)SLEEPS_KEPT); i++)
        ago_ns += s->past[i].at_ns > at_ns ? s->past[i].slept_ns : 0;
    return real_ns - MIN(ago_ns, real_ns);
}
