/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/memory_history.h"

#include "base/cleanup.h"
#include "hotspot/counter_sums.h"

struct memory_point memory_point_of(const struct counters *c, uint64_t at_ns, uint64_t rss_bytes)
{
    struct counter_sums sums;

    counter_sums_of(c, &sums);
    return (struct memory_point){ .at_ns = at_ns,
                                  .rss_bytes = rss_bytes,
                                  .heap_used = sums.heap_used,
                                  .heap_committed = sums.heap_committed,
                                  .metaspace = sums.metaspace_committed,
                                  .code_cache = sums.code_cache_committed,
                                  .allocated = sums.allocated,
                                  .allocated_ns = sums.allocated_ns,
                                  .collections = sums.collections,
                                  .collection_ns = sums.collection_ns,
                                  .threads_live = sums.threads_live,
                                  .threads_started = sums.threads_started };
}

void memory_history_set_rss(struct memory_history *h, uint64_t rss_bytes, uint64_t at_ns)
{
    h->last.rss_bytes = rss_bytes;
    h->rss_ns = at_ns;
}

bool memory_history_due(const struct memory_history *h, uint64_t at_ns)
{
    uint64_t step_ns = h->step_ns ? h->step_ns : MEMORY_HISTORY_STEP_NS;

    return !h->count || at_ns - h->points[h->count - 1].at_ns >= step_ns;
}

static void make_room(struct memory_history *h)
{
    if (h->step_ns >= MEMORY_HISTORY_STEP_MAX_NS) {
        memmove(h->points, h->points + 1, --h->count * sizeof(*h->points));
        return;
    }
    h->step_ns = 2 * (h->step_ns ? h->step_ns : MEMORY_HISTORY_STEP_NS);
    for (size_t i = 0; 2 * i < h->count; i++)
        h->points[i] = h->points[2 * i];
    h->count = (h->count + 1) / 2;
}

void memory_history_add(struct memory_history *h, const struct memory_point *p)
{
    h->last = *p;
    if (!memory_history_due(h, p->at_ns))
        return;
    if (h->count == MEMORY_HISTORY_MAX) {
        make_room(h);
        if (!memory_history_due(h, p->at_ns))
            return;
    }
    if (array_grow(&h->points, &h->room, h->count + 1, 16))
        h->points[h->count++] = *p;
}

bool memory_history_rate(const struct memory_history *h, uint64_t now_ns, double *ret_per_second,
                         double *ret_seconds)
{
    const struct memory_point *last = &h->last, *first = NULL;
    double seconds;

    if (!last->allocated_ns || now_ns - MIN(last->allocated_ns, now_ns) > MEMORY_RATE_MOST_NS)
        return false;
    for (size_t i = h->count; i-- > 0 && !first;) {
        const struct memory_point *p = &h->points[i];

        if (p->allocated_ns && last->allocated_ns - p->allocated_ns >= MEMORY_RATE_LEAST_NS)
            first = p;
    }
    if (!first || last->allocated_ns - first->allocated_ns > MEMORY_RATE_MOST_NS ||
        last->allocated < first->allocated)
        return false;
    seconds = (double)(last->allocated_ns - first->allocated_ns) / (double)NSEC_PER_SEC;
    *ret_per_second = (double)(last->allocated - first->allocated) / seconds;
    *ret_seconds = seconds;
    return true;
}

void memory_history_deinit(struct memory_history *h)
{
    free(h->points);
    *h = (struct memory_history){ .count = 0 };
}
