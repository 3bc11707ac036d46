/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/scrape_times.h"

#include "base/macros.h"

void scrape_times_add(struct scrape_times *t, uint64_t now_ns)
{
    if (t->last_ns)
        t->gaps_ns[t->next++ % SCRAPE_GAPS] = now_ns - t->last_ns;
    t->last_ns = now_ns;
}

bool scrape_is_near(const struct scrape_times *t, uint64_t lead_ns, uint64_t now_ns)
{
    uint64_t gap_ns = UINT64_MAX;

    for (unsigned i = 0; i < MIN(t->next, (unsigned)SCRAPE_GAPS); i++)
        gap_ns = MIN(gap_ns, t->gaps_ns[i]);
    return !t->next || now_ns + lead_ns >= t->last_ns + gap_ns;
}
