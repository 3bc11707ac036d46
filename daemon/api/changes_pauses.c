/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses of collections in a range of time, for comparisons: from the history by minute, and from
 * the recorder for the time that the history lacks. */
#include "api/past_impl.h"

struct adding {
    struct change_set *set;
    uint64_t recorded_ns; /* from this time on, the recorder has the pauses */
    bool any;
    int failed; /* 0 or -ENOMEM */
};

static void add(struct adding *a, const struct change_pauses *p)
{
    a->any |= p->count || p->ns;
    if (a->failed == 0)
        a->failed = change_set_add_pauses(a->set, p);
}

static void add_minute(void *cookie, int32_t host_pid, uint64_t start_ns,
                       const struct history_stopped *stopped)
{
    struct adding *a = cookie;

    (void)host_pid;
    if (start_ns + HISTORY_MINUTE_NS <= a->recorded_ns)
        add(a, &(struct change_pauses){ start_ns, HISTORY_MINUTE_NS, stopped->pauses,
                                        MIN(stopped->pause_ns, HISTORY_MINUTE_NS) });
}

/* Adds the counts of @p, each of a time of some seconds. */
static void add_counts(struct adding *a, const struct profile *p)
{
    for (size_t i = 0; i < p->moment_count; i++) {
        const struct profile_moment *m = &p->moments[i];
        uint64_t middle_ns = m->start_ns + (m->end_ns - m->start_ns) / 2;

        if (m->kind == MOMENT_COUNTS_COLLECTIONS)
            add(a, &(struct change_pauses){ p->start_realtime_ns + middle_ns - p->start_ns,
                                            m->end_ns - m->start_ns, m->count, m->reach_ns });
    }
}

int changes_pauses(struct api *api, const struct target_selector *t, const struct time_range *range,
                   const struct profile *p, uint64_t recorded_ns, struct change_set *set,
                   bool *ret_any, struct error *err)
{
    struct adding a = { .set = set, .recorded_ns = recorded_ns };
    int r = past_stops(api, t, range, add_minute, &a, err);

    add_counts(&a, p);
    *ret_any = r == 0 && a.any; /* r is 1 if some pauses are unknown */
    return r < 0 ? r : a.failed;
}
