/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/counter_sums.h"

#include "hotspot/counters.h"

/* Adds @n to *sum, unless @n is unknown. */
static void add_known(int64_t *sum, int64_t n)
{
    if (n == COUNTERS_UNKNOWN)
        return;
    *sum = (int64_t)MIN((uint64_t)MAX(*sum, 0) + (uint64_t)n, (uint64_t)INT64_MAX);
}

static void add_heap(const struct counters *c, struct counter_sums *s)
{
    for (size_t i = 0; i < COUNTERS_GENERATIONS_MAX; i++) {
        add_known(&s->heap_committed, c->generations[i].whole.committed);
        for (size_t j = 0; j < COUNTERS_SPACES_MAX; j++) {
            const struct counted_pool *space = &c->generations[i].spaces[j];

            add_known(&s->heap_used, space->used);
            if (strcmp(space->name, "eden") != 0)
                add_known(&s->heap_kept, space->used);
        }
    }
}

static void add_collections(const struct counters *c, struct counter_sums *s)
{
    bool one_kind = !c->collectors[1].name[0];

    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++) {
        add_known(&s->collections, c->collectors[i].count);
        add_known(&s->collection_ns, c->collectors[i].time_ns);
        if (i > 0 || one_kind)
            add_known(&s->old_collections, c->collectors[i].count);
    }
}

/* With Serial and Parallel, objects that do not fit in the old generation stay in eden, together
 * with new objects. So only the old generation shows that the heap is full. */
static void add_old(const struct counters *c, struct counter_sums *s)
{
    const struct counted_generation *young = &c->generations[0], *old = &c->generations[1];
    const struct counted_collector *of = c->collectors;

    if (young->whole.max <= 0 || old->whole.max <= 0)
        return;
    s->old_used = old->spaces[0].used;
    s->old_max = old->whole.max;
    if (of[1].exit_ns > 0 && of[1].exit_ns >= of[0].exit_ns)
        s->old_left = s->old_used;
}

void counter_sums_of(const struct counters *c, struct counter_sums *ret)
{
    *ret = (struct counter_sums){ .heap_used = COUNTERS_UNKNOWN,
                                  .heap_committed = COUNTERS_UNKNOWN,
                                  .heap_kept = COUNTERS_UNKNOWN,
                                  .old_used = COUNTERS_UNKNOWN,
                                  .old_max = COUNTERS_UNKNOWN,
                                  .old_left = COUNTERS_UNKNOWN,
                                  .metaspace_used = c->metaspace.used,
                                  .metaspace_committed = c->metaspace.committed,
                                  .code_cache_committed = c->code_cache_committed,
                                  .code_cache_max = c->code_cache_max,
                                  .collections = COUNTERS_UNKNOWN,
                                  .collection_ns = COUNTERS_UNKNOWN,
                                  .old_collections = COUNTERS_UNKNOWN,
                                  .safepoints = c->safepoints,
                                  .safepoint_sync_ns = c->safepoint_sync_ns,
                                  .classes_loaded = c->classes_loaded,
                                  .compiled = c->compiled,
                                  .compile_ns = c->compile_ns,
                                  .threads_live = c->threads_live,
                                  .threads_started = c->threads_started,
                                  .allocated = c->allocated,
                                  .allocated_ns = c->allocated_ns };
    add_heap(c, ret);
    add_old(c, ret);
    add_collections(c, ret);
}
