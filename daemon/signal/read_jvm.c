/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/read.h"

#include "discover/memory_history.h"
#include "hotspot/counter_sums.h"

#define COUNTERS_NEW_NS (5 * NSEC_PER_SEC) /* younger counters are not read again */
#define UNLIMITED (UINT64_C(1) << 46)      /* bytes; without a limit the flag is near 2^64 */

static void put(struct number_reading *r, enum number which, int64_t v)
{
    if (v >= 0)
        r->v[which] = (double)v;
}

/* Computes the least memory outside of heap, metaspace and code: RSS less all committed memory of
 * these. */
static void take_outside(const struct counter_sums *s, struct number_reading *r)
{
    if (s->heap_committed >= 0 && s->metaspace_committed >= 0 && s->code_cache_committed >= 0)
        r->v[NUMBER_OUTSIDE_BYTES] = r->v[NUMBER_RSS_BYTES] - (double)s->heap_committed -
                                     (double)s->metaspace_committed -
                                     (double)s->code_cache_committed;
}

static void take_counters(const struct counter_sums *s, const struct memory_history *h,
                          struct number_reading *r)
{
    double rate, seconds;

    put(r, NUMBER_COLLECTIONS, s->collections);
    put(r, NUMBER_COLLECTION_NS, s->collection_ns);
    put(r, NUMBER_OLD_COLLECTIONS, s->old_collections);
    put(r, NUMBER_SAFEPOINTS, s->safepoints);
    put(r, NUMBER_SAFEPOINT_SYNC_NS, s->safepoint_sync_ns);
    put(r, NUMBER_HEAP_BYTES, s->heap_kept);
    put(r, NUMBER_OLD_BYTES, s->old_used);
    put(r, NUMBER_OLD_MAX_BYTES, s->old_max);
    put(r, NUMBER_HEAP_COMMITTED_BYTES, s->heap_committed);
    put(r, NUMBER_METASPACE_BYTES, s->metaspace_used);
    put(r, NUMBER_METASPACE_COMMITTED_BYTES, s->metaspace_committed);
    put(r, NUMBER_CODE_CACHE_BYTES, s->code_cache_committed);
    put(r, NUMBER_CODE_CACHE_MAX_BYTES, s->code_cache_max);
    put(r, NUMBER_CLASSES_LOADED, s->classes_loaded);
    put(r, NUMBER_COMPILED, s->compiled);
    put(r, NUMBER_COMPILE_NS, s->compile_ns);
    if (s->old_left >= 0 && s->old_max > 0)
        r->v[NUMBER_OLD_LEFT] = fmin((double)s->old_left / (double)s->old_max, 1);
    take_outside(s, r);
    if (h && memory_history_rate(h, clock_monotonic_ns(), &rate, &seconds))
        r->v[NUMBER_ALLOCATED_PER_SECOND] = rate;
}

void read_jvm(struct discover *d, struct process *p, struct number_reading *r)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct counter_sums sums;

    if (!p->vm)
        return;
    if (p->history && r->v[NUMBER_RSS_BYTES] >= 0) /* RSS was read already */
        memory_history_set_rss(p->history, (uint64_t)r->v[NUMBER_RSS_BYTES], now_ns);
    if ((!p->counters || now_ns - p->counters_ns > COUNTERS_NEW_NS) &&
        (p->counters_off || discover_counters(d, p, /* asked= */ false) != 0))
        return;
    counter_sums_of(p->counters, &sums);
    take_counters(&sums, p->history, r);
}

bool read_fixed(const struct process *p, struct number_reading *r)
{
    enum { HEAP, METASPACE };
    struct hotspot_flag f[] = { [HEAP] = { "MaxHeapSize" }, [METASPACE] = { "MaxMetaspaceSize" } };

    if (!p->vm || hotspot_vm_flags(p->vm, f, ARRAY_SIZE(f)) != 0)
        return false;
    if (f[HEAP].known)
        r->v[NUMBER_HEAP_MAX_BYTES] = (double)f[HEAP].value;
    if (f[METASPACE].known && f[METASPACE].value < UNLIMITED)
        r->v[NUMBER_METASPACE_MAX_BYTES] = (double)f[METASPACE].value;
    return true;
}
