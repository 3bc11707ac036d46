/* SPDX-License-Identifier: Apache-2.0 */
/* Excludes from a comparison the times in which a JVM had no probes of recorder_alloc, so that its
 * allocations were not recorded. */
#include "api/past_impl.h"

/* A copy of the engine's list of such times. */
struct rests {
    struct recorded_rest list[RECORDED_RESTS_MAX];
    size_t count;
    bool full; /* earlier times are forgotten */
};

static int call_rests(struct api *api, void *arg)
{
    const struct recorded_allocs *a = &api->engine.captures->recording.allocs;
    struct rests *r = arg;

    r->full = a->rested > RECORDED_RESTS_MAX;
    r->count = (size_t)MIN(a->rested, (uint64_t)RECORDED_RESTS_MAX);
    memcpy(r->list, a->rests, r->count * sizeof(*r->list));
    return 0;
}

static bool is_in(const struct profile *p, const struct proc_id *id)
{
    for (size_t i = 0; i < p->process_count; i++) {
        const struct profile_process *one = &p->processes[i];

        if (one->host_pid == id->host_pid && one->start_ticks == id->start_ticks &&
            one->exec_no == id->exec_no)
            return true;
    }
    return false;
}

int changes_rests(struct api *api, const struct profile *p, struct change_set *set,
                  struct error *err)
{
    uint64_t offset_ns = past_realtime_offset_ns(), oldest_ns = UINT64_MAX;
    _cleanup_free_ struct rests *rests = calloc(1, sizeof(*rests));
    int r = rests ? api_ask(api, call_rests, rests, err) : -ENOMEM;

    if (r != 0)
        return r;
    for (size_t i = 0; i < rests->count; i++) {
        const struct recorded_rest *one = &rests->list[i];

        oldest_ns = MIN(oldest_ns, one->from_ns);
        if (is_in(p, &one->id))
            change_set_skip_allocations(set, one->from_ns + offset_ns, one->to_ns + offset_ns);
    }
    if (rests->full)
        change_set_skip_allocations(set, 0, oldest_ns + offset_ns);
    return 0;
}
