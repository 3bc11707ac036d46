/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where a VM says that its collector moves objects while no thread runs Java
 * (unwind/context_steps.h): in CollectedHeap, and in the counters of the collector that compacts.
 */
#include "hotspot/hsperfdata.h"
#include "hotspot/vm.h"

/* Collector 1 compacts: a full collection of G1, Parallel, Serial and Shenandoah. */
#define COMPACT_FROM "sun.gc.collector.1.lastEntryTime"
#define COMPACT_TO "sun.gc.collector.1.lastExitTime"

struct search {
    uint64_t start, from, to; /* addresses: of the counters, and of those two */
};

static bool see_counter(void *cookie, const struct hsperfdata_entry *e)
{
    struct search *s = cookie;

    if (!e->text.p && span_eq_str(e->name, COMPACT_FROM))
        s->from = s->start + e->value_at;
    else if (!e->text.p && span_eq_str(e->name, COMPACT_TO))
        s->to = s->start + e->value_at;
    return !s->from || !s->to;
}

/* A VM without counters (-XX:-UsePerfData) has none of these: each collection may compact. */
static int find_counters(struct hotspot_vm *vm, struct unwind_pauses *ret)
{
    _cleanup_free_ char *bytes = NULL;
    struct search s = { 0 };
    size_t n = 0;
    int r = counters_memory(vm, &s.start, &bytes, &n);

    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    (void)hsperfdata_each((struct span){ bytes, n }, see_counter, &s);
    if (s.from && s.to) {
        ret->compact_from = s.from;
        ret->compact_to = s.to;
    }
    return 0;
}

int pauses_find(struct hotspot_vm *vm, struct unwind_pauses *ret)
{
    const struct hotspot_layout *l = &vm->layout;

    if (!l->collected_heap_at || !layout_has(l->heap_collections) || !layout_has(l->heap_collects))
        return -ENOENT;
    ret->collections = vm_heap_field(vm, l->heap_collections);
    ret->collects = vm_heap_field(vm, l->heap_collects);
    if (!ret->collections || !ret->collects)
        return -EAGAIN;
    return find_counters(vm, ret);
}
