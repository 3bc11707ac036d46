/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.bpf.c, which samples at events of the kernel. It is loaded twice: at the start for perf
 * events, with the maps that all programs share, and later for tracepoints. Most users never need
 * tracepoints, and the kernel's check of that program takes time.
 */
#include "base/cleanup.h"
#include "sample/program.h"
#include "sample/refusal.h"
#include "sample/sampler_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int load_points(const struct sampler_shared *shared, void **ret, struct error *err)
{
    struct cpu_bpf *skel;
    int r;

    refusal_watch();
    skel = cpu_bpf__open();
    if (!skel)
        return refusal_explain(-errno, err);
    skel->rodata->pid_ns_inum = shared->pid_ns_inum;
    skel->rodata->max_words = shared->max_words;
    r = bpf_program__set_autoload(skel->progs.cpu_tick, false) ?:
        sampler_shared_use(shared, skel->obj) ?: cpu_bpf__load(skel);
    if (r < 0) {
        r = refusal_explain(r, err);
        cpu_bpf__destroy(skel);
        return r;
    }
    *ret = skel;
    return 0;
}

static void free_skel(void *p)
{
    cpu_bpf__destroy(p);
}

/* Sets which of the wanted events of set @set are sampled. */
static int start_events(void *p, uint32_t set, const struct sampler_event *event, uint64_t period,
                        struct error *err)
{
    struct cpu_bpf *skel = p;
    struct pick_rate rate = { .interval = 1, .start = skel->bss->rates[set].start + 1 };

    (void)err;
    if (event_is_paced(period))
        rate.pace_ns = event->picks ? event_period_number(period) : PICK_PACE_KERNEL;
    else if (event->picks)
        rate.interval = period / event_worth(event->info);
    skel->bss->rates[set] = rate;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return 0;
}

static int start_points(void *p, uint32_t set, const struct sampler_event *event, uint64_t period,
                        struct error *err)
{
    const struct cpu_bpf *skel = p;
    _cleanup_free_ struct point_filter *filter = NULL;
    int r = sampler_translate_filter(event, &filter, err);

    if (r == 0 &&
        bpf_map_update_elem(bpf_map__fd(skel->maps.point_filters), &set, filter, BPF_ANY) < 0)
        r = error_errno(err, "cannot set the filter of %s", event->name);
    return r < 0 ? r : start_events(p, set, event, period, err);
}

static struct bpf_program *cpu_tick(void *p)
{
    return ((struct cpu_bpf *)p)->progs.cpu_tick;
}

static struct bpf_program *point_tick(void *p)
{
    return ((struct cpu_bpf *)p)->progs.point_tick;
}

static uint64_t cookie(const void *p, uint32_t set)
{
    return PICK_COOKIE(set, ((const struct cpu_bpf *)p)->bss->rates[set].start);
}

static struct sampler_memory memory(const void *p)
{
    return SAMPLER_MEMORY((const struct cpu_bpf *)p);
}

const struct sampler_program sampler_program_cpu = {
    .free = free_skel,
    .start = start_events,
    .tick = cpu_tick,
    .cookie = cookie,
    .memory = memory,
};

const struct sampler_program sampler_program_points = {
    .load = load_points,
    .free = free_skel,
    .start = start_points,
    .tick = point_tick,
    .cookie = cookie,
    .memory = memory,
};
