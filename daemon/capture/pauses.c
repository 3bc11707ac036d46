/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/pauses.h"

#define QUIET_LOOKS 5 /* after this many looks without a change, open safepoints are over */

const uint64_t PAUSES_BOUNDS_NS[PAUSES_BOUNDS] = {
    NSEC_PER_MSEC / 10, 3 * NSEC_PER_MSEC / 10, NSEC_PER_MSEC,       3 * NSEC_PER_MSEC,
    10 * NSEC_PER_MSEC, 30 * NSEC_PER_MSEC,     100 * NSEC_PER_MSEC, 300 * NSEC_PER_MSEC,
    NSEC_PER_SEC,       3 * NSEC_PER_SEC,       10 * NSEC_PER_SEC,
};

/* Moves @n open safepoints to the bucket of their mean, with all of their time. */
static void close_some(struct pause_histogram *h, uint64_t n)
{
    uint64_t mean_ns = h->open_ns / n;
    size_t i = 0;

    while (i < PAUSES_BOUNDS && mean_ns > PAUSES_BOUNDS_NS[i])
        i++;
    h->counts[i] += n;
    h->sum_ns += h->open_ns;
    h->open -= n;
    h->open_ns = 0;
    h->ended = false;
    h->quiet_looks = 0;
}

/* Adds @begun safepoints and @ns of time; @ended: some have ended. The JVM counts a safepoint as it
 * begins, and its time as it ends. So the last of several safepoints may still run, and be far
 * longer than the others. Only the next look shows that. */
static void add(struct pause_histogram *h, uint64_t begun, bool ended, uint64_t ns)
{
    if (h->open > 1 && h->ended) {
        if (!begun && !ended && ++h->quiet_looks < QUIET_LOOKS) {
            h->open_ns += ns;
            return;
        }
        close_some(h, !begun && ended ? h->open - 1 : h->open);
    }
    h->open += begun;
    h->open_ns += ns;
    h->ended |= ended;
    if (h->open == 1 && h->ended)
        close_some(h, 1);
    if (!h->open) { /* the last safepoint got its bucket before its time was known */
        h->sum_ns += h->open_ns;
        h->open_ns = 0;
        h->ended = false;
    }
}

void pauses_add(struct pauses *p, const struct counters *before, const struct counters *now,
                int jdk)
{
    uint64_t begun = counters_risen(before->safepoints, now->safepoints);
    uint64_t sync_ns = counters_risen(before->safepoint_sync_ns, now->safepoint_sync_ns);

    add(&p->reach, begun, sync_ns > 0, sync_ns);
    add(&p->whole, begun, counters_risen(before->safepoint_ns, now->safepoint_ns) > 0,
        counters_risen(counters_pause_ns(before, jdk), counters_pause_ns(now, jdk)));
}
