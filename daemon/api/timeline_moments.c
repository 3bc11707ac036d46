/* SPDX-License-Identifier: Apache-2.0 */
/* Stops of JVMs in a range of time: collections, and long safepoints. */
#include "api/api_impl.h"
#include "api/json.h"

#include "base/array.h"
#include "base/cleanup.h"

#define TIMELINE_MOMENTS_MAX 500              /* the longest stops of an answer */
#define TIMELINE_LONG_NS (10 * NSEC_PER_MSEC) /* shorter safepoints are left out */

struct stop {
    const struct profile_moment *m;
    uint64_t ns;    /* time that threads were stopped */
    uint32_t count; /* for counters: number of stops */
};

ORDER_FUNCTION(by_owner, struct stop,
               COMPARE(x->m->kind, y->m->kind) ?:
                   COMPARE(x->m->process, y->m->process) ?:
                   COMPARE(x->m->start_ns, y->m->start_ns))

/* Returns the stop of @kind during which @m ended; NULL: none. @all is sorted by by_owner(). */
static struct stop *around(struct stop *all, size_t count, uint32_t kind,
                           const struct profile_moment *m)
{
    const struct profile_moment key = { .start_ns = m->end_ns,
                                        .process = m->process,
                                        .kind = kind };
    const struct stop wanted = { .m = &key };
    size_t low = array_first(count, middle, by_owner(&all[middle], &wanted) < 0);

    if (low == 0 || all[low - 1].m->kind != kind || all[low - 1].m->process != m->process ||
        all[low - 1].m->end_ns < m->end_ns)
        return NULL;
    return &all[low - 1];
}

static void take_off(struct stop *from, const struct profile_moment *m)
{
    if (!from)
        return;
    from->ns -= MIN(from->ns, m->end_ns - m->start_ns);
    from->count -= from->count > 0;
}

/* Subtracts from each counter the pauses that also have a moment. A collection runs at a safepoint,
 * and counters count both. Counters may have more pauses: of several collections between two
 * readings, only the last one has a moment. */
static void take_off_moments(struct stop *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct profile_moment *m = all[i].m;

        if (m->kind == MOMENT_IS_GC)
            take_off(around(all, count, MOMENT_IS_SAFEPOINT, m), m);
        if (m->kind == MOMENT_IS_GC || m->kind == MOMENT_IS_SAFEPOINT)
            take_off(around(all, count, MOMENT_COUNTS_SAFEPOINTS, m), m);
    }
}

/* Lists all moments that may have stopped threads. Returns their number. */
static size_t list_stops(const struct profile *p, struct stop *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < p->moment_count; i++) {
        const struct profile_moment *m = &p->moments[i];

        if (m->kind == MOMENT_COUNTS_SAFEPOINTS)
            ret[count++] = (struct stop){ m, m->reach_ns, m->count };
        else if (m->kind == MOMENT_IS_GC || m->kind == MOMENT_IS_SAFEPOINT)
            ret[count++] = (struct stop){ m, m->end_ns - m->start_ns, 0 };
    }
    qsort(ret, count, sizeof(*ret), by_owner);
    take_off_moments(ret, count);
    return count;
}

ORDER_FUNCTION(longest_first, struct stop, COMPARE(y->ns, x->ns))

ORDER_FUNCTION(by_place, struct stop, COMPARE(x->m, y->m))

static json_t *stop_json(const struct profile *p, const struct stop *s)
{
    const struct profile_moment *m = s->m;
    struct span name = intern_get(p->strings, m->name);
    json_t *one =
        json_pack("{s:s, s:i, s:o, s:f, s:f}", "kind", profile_moment_kind_name(m->kind), "pid",
                  p->processes[m->process].host_pid, "at",
                  json_time(p->start_realtime_ns + m->start_ns - p->start_ns), "seconds",
                  (double)(m->end_ns - m->start_ns) / 1e9, "stopped_seconds", (double)s->ns / 1e9);

    if (name.n)
        json_object_set_new(one, "name", json_stringn(name.p, name.n));
    if (profile_moment_counts(m->kind))
        json_object_set_new(one, "count", json_integer(s->count));
    return one;
}

json_t *timeline_moments(const struct profile *p, size_t *ret_left_out)
{
    _cleanup_free_ struct stop *stops = calloc(p->moment_count + 1, sizeof(*stops));
    json_t *list = json_array();
    size_t all = 0, count = 0, kept;

    if (stops)
        all = list_stops(p, stops);
    for (size_t i = 0; i < all; i++) {
        if (stops[i].m->kind == MOMENT_IS_GC || stops[i].ns >= TIMELINE_LONG_NS)
            stops[count++] = stops[i];
    }
    kept = MIN(count, (size_t)TIMELINE_MOMENTS_MAX);
    if (kept < count)
        qsort(stops, count, sizeof(*stops), longest_first);
    qsort(stops, kept, sizeof(*stops), by_place);
    for (size_t i = 0; i < kept; i++)
        json_array_append_new(list, stop_json(p, &stops[i]));
    *ret_left_out = count - kept;
    return list;
}
