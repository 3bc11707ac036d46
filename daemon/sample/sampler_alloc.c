/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler_alloc_impl.h"

#include "base/cleanup.h"
#include "sample/refusal.h"
#include "sample/task_memory.h"

_Static_assert((ALLOC_CALLS_MAX & (ALLOC_CALLS_MAX - 1)) == 0 && ALLOC_CALLS_MAX <= 1 << 16,
               "the slots of cookies");

static void free_alloc(void *p)
{
    struct sampler_alloc *a = p;

    if (!a)
        return;
    alloc_drop_targets(&a->vms);
    alloc_drop_targets(&a->agents);
    alloc_drop_calls(a, UINT32_MAX);
    alloc_bpf__destroy(a->skel);
    free(a);
}

CLEANUP_FUNCTION(alloc_freep, sampler_alloc, free_alloc)

static int load(const struct sampler_shared *shared, void **ret, struct error *err)
{
    _cleanup_(alloc_freep) struct sampler_alloc *a = calloc(1, sizeof(*a));
    int r;

    if (!a)
        return -ENOMEM;
    r = uprobe_find_way(shared->pins_fd, &a->way, err);
    if (r < 0)
        return r;
    a->hooker = shared->hooker;
    refusal_watch();
    a->skel = alloc_bpf__open();
    if (!a->skel)
        return refusal_explain(-errno, err);
    a->skel->rodata->pid_ns_inum = shared->pid_ns_inum;
    a->skel->rodata->max_words = shared->max_words;
    uprobe_prepare(&a->way, a->skel->progs.alloc_probe);
    uprobe_prepare(&a->way, a->skel->progs.block_probe);
    r = sampler_shared_use(shared, a->skel->obj) ?: alloc_bpf__load(a->skel);
    if (r < 0)
        return refusal_explain(r, err);
    a->vms.map = bpf_map__fd(a->skel->maps.vms);
    a->agents.map = bpf_map__fd(a->skel->maps.agents);
    *ret = TAKE_PTR(a);
    return 0;
}

static void set_period(struct sampler_alloc *a, uint32_t set, uint64_t period)
{
    struct pick_rate rate = { .interval = period };

    if (event_is_paced(period))
        rate = (struct pick_rate){ .interval = 1, .pace_ns = event_period_number(period) };
    rate.start = a->skel->bss->rates[set].start + 1;
    a->skel->bss->rates[set] = rate;
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Starts a set with one record for each @period bytes, or calls, or at a pace. */
static int start(void *p, uint32_t set, const struct sampler_event *event, uint64_t period,
                 struct error *err)
{
    struct sampler_alloc *a = p;
    bool counts = event->info->flags & EVENT_CALLS && event->info->kind != EVENT_NATIVELIVE;
    int r = counts ? 0 : task_memory_check(a->skel->maps.allocators, err);

    if (r < 0)
        return r;
    set_period(a, set, period);
    if (event->info->flags & EVENT_CALLS)
        a->call_sets |= 1U << set;
    if (event->info->kind == EVENT_NATIVELIVE) {
        a->block_sets |= 1U << set;
        __atomic_add_fetch(&a->skel->bss->block_epochs[set], 1, __ATOMIC_RELEASE);
    }
    if (event->info->kind == EVENT_ALLOC && event_is_paced(period)) {
        a->skel->bss->paced_ns = event_period_number(period);
        __atomic_or_fetch(&a->skel->bss->paced_sets, 1U << set, __ATOMIC_RELEASE);
    }
    if (event->info->kind == EVENT_ALLOC)
        __atomic_or_fetch(&a->skel->bss->alloc_sets, 1U << set, __ATOMIC_RELEASE);
    if (event->info->kind == EVENT_LIVE) {
        __atomic_or_fetch(&a->skel->bss->live_sets, 1U << set, __ATOMIC_RELEASE);
        __atomic_or_fetch(&a->skel->bss->agent_sets, 1U << set, __ATOMIC_RELEASE);
    }
    return 0;
}

/* Stops a set. The last set of each kind takes its probes with it. */
static void stop(void *p, uint32_t set)
{
    struct sampler_alloc *a = p;

    a->call_sets &= ~(1U << set);
    alloc_drop_calls(a, 1U << set);
    if (a->block_sets & 1U << set)
        alloc_forget_blocks(a, set, /* pid= */ 0);
    a->block_sets &= ~(1U << set);
    __atomic_and_fetch(&a->skel->bss->live_sets, ~(1U << set), __ATOMIC_RELEASE);
    if (a->skel->bss->agent_sets & 1U << set &&
        !__atomic_and_fetch(&a->skel->bss->agent_sets, ~(1U << set), __ATOMIC_RELEASE))
        alloc_drop_targets(&a->agents);
    if (!(a->skel->bss->alloc_sets & 1U << set))
        return;
    if (!__atomic_and_fetch(&a->skel->bss->alloc_sets, ~(1U << set), __ATOMIC_RELEASE))
        alloc_drop_targets(&a->vms);
    __atomic_and_fetch(&a->skel->bss->paced_sets, ~(1U << set), __ATOMIC_RELEASE);
}

static struct sampler_memory memory(const void *p)
{
    return SAMPLER_MEMORY(((const struct sampler_alloc *)p)->skel);
}

const struct sampler_program sampler_program_alloc = {
    .check = uprobe_check,
    .load = load,
    .free = free_alloc,
    .start = start,
    .stop = stop,
    .memory = memory,
};
