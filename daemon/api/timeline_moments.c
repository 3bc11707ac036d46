/* SPDX-License-Identifier: Apache-2.0 */
/* When JVMs stopped in a range of time: collections, and safepoints that took long. */
#include "api/api_impl.h"
#include "api/json.h"

#include "base/cleanup.h"

#define TIMELINE_MOMENTS_MAX 500              /* the longest */
#define TIMELINE_LONG_NS (10 * NSEC_PER_MSEC) /* safepoints that took less are left out */

struct stop {
    const struct profile_moment *m;
    uint64_t ns; /* that threads were stopped */
};

/* How long the collections took that the JVM counted in the time of @m, which the same reading
 * told. @p has them by start. */
static uint64_t collected_ns(const struct profile *p, const struct profile_moment *m)
{
    const struct profile_moment *first = m, *end = p->moments + p->moment_count;

    while (first > p->moments && first[-1].start_ns == m->start_ns)
        first--;
    for (; first < end && first->start_ns == m->start_ns; first++) {
        if (first->kind == MOMENT_COUNTS_COLLECTIONS && first->process == m->process &&
            first->end_ns == m->end_ns)
            return first->reach_ns;
    }
    return 0;
}

/* How long @m stopped threads; 0: it is not shown. What collections took of safepoints is theirs.
 */
static uint64_t stopped_ns(const struct profile *p, const struct profile_moment *m)
{
    uint64_t ns = m->end_ns - m->start_ns;

    if (m->kind == MOMENT_IS_GC)
        return MAX(ns, UINT64_C(1));
    if (m->kind == MOMENT_COUNTS_SAFEPOINTS)
        ns = m->reach_ns - MIN(m->reach_ns, collected_ns(p, m));
    else if (m->kind != MOMENT_IS_SAFEPOINT)
        return 0;
    return ns >= TIMELINE_LONG_NS ? ns : 0;
}

static int longest_first(const void *a, const void *b)
{
    uint64_t x = ((const struct stop *)a)->ns, y = ((const struct stop *)b)->ns;

    return x < y ? 1 : x > y ? -1 : 0;
}

static int by_place(const void *a, const void *b)
{
    const struct profile_moment *x = ((const struct stop *)a)->m, *y = ((const struct stop *)b)->m;

    return x < y ? -1 : x > y;
}

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
        json_object_set_new(one, "count", json_integer(m->count));
    return one;
}

json_t *timeline_moments(const struct profile *p, size_t *ret_left_out)
{
    _cleanup_free_ struct stop *stops = calloc(p->moment_count + 1, sizeof(*stops));
    json_t *list = json_array();
    size_t count = 0, kept;

    for (size_t i = 0; stops && i < p->moment_count; i++) {
        stops[count] = (struct stop){ &p->moments[i], stopped_ns(p, &p->moments[i]) };
        count += stops[count].ns > 0;
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
