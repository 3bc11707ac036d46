/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/memory_history.h"

#include "base/cleanup.h"

/* The sum of what is known. */
static void add_known(int64_t *sum, int64_t n)
{
    if (n == COUNTERS_UNKNOWN)
        return;
    *sum = (int64_t)MIN((uint64_t)MAX(*sum, 0) + (uint64_t)n, (uint64_t)INT64_MAX);
}

struct memory_point memory_point_of(const struct counters *c, uint64_t at_ns, uint64_t rss_bytes)
{
    struct memory_point p = { .at_ns = at_ns,
                              .rss_bytes = rss_bytes,
                              .heap_used = COUNTERS_UNKNOWN,
                              .heap_committed = COUNTERS_UNKNOWN,
                              .metaspace = c->metaspace.committed,
                              .code_cache = c->code_cache_committed,
                              .allocated = c->allocated,
                              .allocated_ns = c->allocated_ns,
                              .collections = COUNTERS_UNKNOWN,
                              .collection_ns = COUNTERS_UNKNOWN,
                              .threads_live = c->threads_live,
                              .threads_started = c->threads_started };

    for (size_t i = 0; i < COUNTERS_GENERATIONS_MAX; i++) {
        add_known(&p.heap_committed, c->generations[i].whole.committed);
        for (size_t j = 0; j < COUNTERS_SPACES_MAX; j++)
            add_known(&p.heap_used, c->generations[i].spaces[j].used);
    }
    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++) {
        add_known(&p.collections, c->collectors[i].count);
        add_known(&p.collection_ns, c->collectors[i].time_ns);
    }
    return p;
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
