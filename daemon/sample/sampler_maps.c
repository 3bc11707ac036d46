/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the maps of the programs: filters, the unwinder's tables; and reads their counters. */
#include "base/cleanup.h"
#include "sample/sampler_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int sampler_filter_process(struct sampler *s, int32_t pid, uint32_t sets)
{
    int map = bpf_map__fd(s->skel->maps.filters), r;
    uint32_t key = (uint32_t)pid, before = 0;

    if (pid <= 0 || sets >= 1U << SAMPLER_SETS_MAX)
        return -EINVAL;
    if (s->off)
        bpf_map_lookup_elem(map, &key, &before);
    if (sets)
        r = bpf_map_update_elem(map, &key, &sets, BPF_ANY);
    else
        r = bpf_map_delete_elem(map, &key);
    if (s->off && r == 0)
        sampler_off_filter_process(s->off, pid, before, sets);
    return r == -ENOENT && !sets ? 0 : r;
}

void sampler_budget(struct sampler *s, uint64_t ns)
{
    __atomic_store_n(&s->skel->data->budget_ns, ns, __ATOMIC_RELEASE);
    if (s->points)
        __atomic_store_n(&s->points->skel->data->budget_ns, ns, __ATOMIC_RELEASE);
}

int sampler_filter_all(struct sampler *s, uint32_t sets)
{
    if (sets >= 1U << SAMPLER_SETS_MAX)
        return -EINVAL;
    __atomic_store_n(&s->skel->bss->filter_all, sets, __ATOMIC_RELEASE);
    if (s->points)
        __atomic_store_n(&s->points->skel->bss->filter_all, sets, __ATOMIC_RELEASE);
    if (s->off)
        sampler_off_filter_all(s->off, sets);
    if (s->alloc)
        sampler_alloc_filter_all(s->alloc, sets);
    if (s->moments)
        sampler_moments_filter_all(s->moments, sets);
    return 0;
}

int sampler_put_rows(struct sampler *s, uint32_t first, const struct unwind_row *rows,
                     uint32_t count)
{
    if (first > SAMPLER_ROWS_MAX || count > SAMPLER_ROWS_MAX - first)
        return -EINVAL;
    memcpy(s->rows + first, rows, count * sizeof(*rows));
    return 0;
}

/* Stubs and native code are remembered without a look whether they still are there: what was
 * remembered of a slot must not outlive the process whose slot it was. */
static void forget_known(struct cpu_bpf *skel)
{
    for (size_t i = 0; i < UNWIND_KNOWN_COUNT; i++)
        __atomic_store_n(&skel->bss->known[i].key, 0, __ATOMIC_RELAXED);
}

int sampler_put_process(struct sampler *s, int32_t pid, const struct unwind_process *p)
{
    int map = bpf_map__fd(s->skel->maps.processes), r;
    uint32_t key = (uint32_t)pid;

    if (pid <= 0)
        return -EINVAL;
    if (p) {
        if (p->slot < s->last_slot) {
            forget_known(s->skel);
            if (s->points)
                forget_known(s->points->skel);
            if (s->off)
                sampler_off_forget(s->off);
            if (s->alloc)
                sampler_alloc_forget(s->alloc);
            if (s->moments)
                sampler_moments_forget(s->moments);
        }
        s->last_slot = p->slot;
        return bpf_map_update_elem(map, &key, p, BPF_ANY);
    }
    r = bpf_map_delete_elem(map, &key);
    return r == -ENOENT ? 0 : r;
}

int sampler_put_thread(struct sampler *s, int32_t pid, int32_t tid, uint64_t java_thread)
{
    uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;

    if (pid <= 0 || tid <= 0)
        return -EINVAL;
    return bpf_map_update_elem(bpf_map__fd(s->skel->maps.threads), &key, &java_thread, BPF_ANY);
}

void sampler_stats(const struct sampler *s, struct sampler_stats *ret)
{
    _cleanup_free_ uint64_t *per_cpu = calloc((size_t)s->possible_cpus, sizeof(*per_cpu));
    uint64_t sums[CPU_COUNTERS] = { 0 };

    for (uint32_t c = 0; per_cpu && c < CPU_COUNTERS; c++) {
        if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.counters), &c, per_cpu) < 0)
            continue;
        for (int i = 0; i < s->possible_cpus; i++)
            sums[c] += per_cpu[i];
    }
    *ret = (struct sampler_stats){
        .samples = sums[CPU_SAMPLES],
        .lost_ring = sums[CPU_LOST_RING],
        .lost_budget = sums[CPU_LOST_BUDGET],
        .lost_other = sums[CPU_LOST_BUG],
        .hidden = sums[CPU_HIDDEN],
        .time_ns = sums[CPU_TIME_NS],
        .runs = sums[CPU_RUNS],
    };
    if (s->off) {
        struct sampler_off_stats off;

        sampler_off_stats(s->off, &off);
        ret->samples += off.samples;
        ret->lost_ring += off.lost_ring;
        ret->lost_other += off.lost_other;
        ret->time_ns += off.time_ns;
    }
    if (s->alloc) {
        struct sampler_alloc_stats alloc;

        sampler_alloc_stats(s->alloc, &alloc);
        ret->samples += alloc.samples;
        ret->lost_ring += alloc.lost_ring;
        ret->lost_budget += alloc.lost_budget;
        ret->lost_other += alloc.lost_other;
        ret->time_ns += alloc.time_ns;
    }
    if (s->moments) {
        struct sampler_moments_stats moments;

        sampler_moments_stats(s->moments, &moments);
        ret->samples += moments.samples;
        ret->lost_ring += moments.lost_ring;
        ret->lost_budget += moments.lost_budget;
        ret->lost_other += moments.lost_other;
        ret->time_ns += moments.time_ns;
    }
}
