/* SPDX-License-Identifier: Apache-2.0 */
/* The sets of events: arms one event for each CPU, follows CPUs that come and go. */
#include "base/cleanup.h"
#include "sample/program.h"
#include "sample/sampler_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

void sampler_set_disarm(struct sampler_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        bpf_link__destroy(set->links[i].link);
    free(set->links);
    *set = (struct sampler_set){ 0 };
}

/* Arms one CPU. 0 and *ret_link owning the event; -ENODEV when it went offline; -errno. */
static int cpu_arm(struct sampler *s, uint32_t no, uint32_t cpu, struct bpf_link **ret_link,
                   struct error *err)
{
    LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = no);
    const struct sampler_set *set = &s->sets[no];
    enum event_program program = set->event.info->program;
    _cleanup_close_ int fd = sampler_open_event(&set->event, cpu, set->period, err);
    struct bpf_link *link;

    if (fd < 0)
        return fd;
    link = bpf_program__attach_perf_event_opts(sampler_program(program)->tick(s->loaded[program]),
                                               fd, &opts);
    if (!link) {
        int r = -errno;

        error_code(err, r, "cannot attach to the event of CPU %u", cpu);
        error_remedy(err, "run Linux 5.15 or later: an event needs a link with a cookie");
        return r;
    }
    take_fd(&fd); /* the link closes it */
    *ret_link = link;
    return 0;
}

/* Has set @no sample just @cpus: links of others go, new ones are armed. One that cannot be armed
 * is tried again by the next call. Number of CPUs that changed, or -errno. */
static int set_cpus(struct sampler *s, uint32_t no, const uint32_t *cpus, size_t count,
                    struct error *err)
{
    struct sampler_set *set = &s->sets[no];
    struct cpu_link *links = calloc(MAX(count, (size_t)1), sizeof(*links));
    size_t kept = 0, old = 0;
    int r = 0, changed = 0;

    if (!links)
        return -ENOMEM;
    if (set->event.everywhere) {
        if (set->count > 0)
            cpus = &set->links[0].cpu; /* where it is, it stays, also when that one is offline */
        count = MIN(count, (size_t)1);
    }
    for (size_t i = 0; i < count; i++) {
        struct cpu_link *l = &links[kept];

        for (; old < set->count && set->links[old].cpu < cpus[i]; old++, changed++)
            bpf_link__destroy(set->links[old].link);
        if (old < set->count && set->links[old].cpu == cpus[i]) {
            *l = set->links[old++];
        } else {
            int k = cpu_arm(s, no, cpus[i], &l->link, err);

            if (k < 0 && k != -ENODEV) /* -ENODEV: went offline since the list was read */
                r = k;
            if (k < 0)
                continue;
            l->cpu = cpus[i];
            changed++;
        }
        kept++;
    }
    for (; old < set->count; old++, changed++)
        bpf_link__destroy(set->links[old].link);
    free(set->links);
    set->links = links;
    set->count = kept;
    return r < 0 ? r : changed;
}

int sampler_check_event(const struct sampler_event *event, struct error *err)
{
    _cleanup_free_ uint32_t *cpus = calloc(SAMPLER_CPUS_MAX, sizeof(*cpus));
    _cleanup_free_ struct point_filter *filter = NULL;
    int n = cpus ? sampler_online_cpus(cpus, err) : -ENOMEM, fd = -ENODEV, r;

    if (n < 0)
        return n;
    r = sampler_translate_filter(event, &filter, err);
    if (r < 0)
        return r;
    for (int i = 0; i < n && fd == -ENODEV; i++)
        fd = sampler_open_event(event, cpus[i], EVENT_PERIOD_MAX_NS, err);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

int sampler_start(struct sampler *s, enum event_kind kind, uint64_t period, uint32_t *ret_set,
                  struct error *err)
{
    struct sampler_event event;
    int r = sampler_describe(kind, SPAN_NULL, /* devices_fd= */ -1, &event, err);

    return r < 0 ? r : sampler_start_event(s, &event, period, ret_set, err);
}

/* Whether a set samples @event: the kernel lets one program watch a tracepoint once. */
static bool runs(const struct sampler *s, const struct sampler_event *event)
{
    for (size_t i = 0; i < SAMPLER_SETS_MAX; i++) {
        const struct sampler_set *set = &s->sets[i];

        if (set->links && set->event.everywhere && set->event.attr.config == event->attr.config)
            return true;
    }
    return false;
}

int sampler_start_event(struct sampler *s, const struct sampler_event *event, uint64_t period,
                        uint32_t *ret_set, struct error *err)
{
    _cleanup_free_ uint32_t *cpus = calloc(SAMPLER_CPUS_MAX, sizeof(*cpus));
    enum event_program program = event->info->program;
    const struct sampler_program *type = sampler_program(program);
    struct sampler_set *set = NULL;
    uint32_t no;
    int r, n;

    if (!cpus)
        return -ENOMEM;
    r = sampler_check_period(event, period, err);
    if (r < 0)
        return r;
    if (!s->loaded[program])
        return error_set(err, -EAGAIN, "the BPF program of %s is not loaded", event->name);
    for (no = 0; no < SAMPLER_SETS_MAX; no++) {
        if (!s->sets[no].used) {
            set = &s->sets[no];
            break;
        }
    }
    if (!set)
        return error_set(err, -EBUSY, "%d events and rates are sampled already", SAMPLER_SETS_MAX);
    n = sampler_online_cpus(cpus, err);
    if (n < 0)
        return n;
    if (event->everywhere && runs(s, event))
        return error_set(err, -EEXIST, "%s is sampled already, in another way", event->name);
    *set = (struct sampler_set){ .used = true, .event = *event, .period = period };
    r = type->start(s->loaded[program], no, event, period, err);
    if (r == 0 && event->attr.type != EVENT_PERF_NONE)
        r = set_cpus(s, no, cpus, (size_t)n, err);
    if (r < 0) {
        sampler_set_disarm(set);
        if (type->stop)
            type->stop(s->loaded[program], no);
        return r;
    }
    *ret_set = no;
    return 0;
}

int sampler_set_cpus(struct sampler *s, const uint32_t *cpus, size_t count)
{
    int changed = 0;

    for (uint32_t no = 0; no < SAMPLER_SETS_MAX; no++) {
        int r = s->sets[no].links ? set_cpus(s, no, cpus, count, NULL) : 0;

        changed = MAX(changed, r);
    }
    return changed;
}

int sampler_follow_cpus(struct sampler *s)
{
    _cleanup_free_ uint32_t *cpus = calloc(SAMPLER_CPUS_MAX, sizeof(*cpus));
    int n = cpus ? sampler_online_cpus(cpus, NULL) : 0;

    return n > 0 ? sampler_set_cpus(s, cpus, (size_t)n) : 0;
}

int sampler_stop(struct sampler *s, uint32_t set)
{
    int map = bpf_map__fd(s->skel->maps.filters), r;
    uint32_t key, next, sets;
    enum event_program program;

    if (set >= SAMPLER_SETS_MAX || !s->sets[set].used)
        return -ENOENT;
    program = s->sets[set].event.info->program;
    sampler_set_disarm(&s->sets[set]);
    if (sampler_program(program)->stop)
        sampler_program(program)->stop(s->loaded[program], set);
    /* A later set of this number must not inherit the processes of this one. */
    sampler_filter_all(s, s->skel->bss->filter_all & ~(1U << set));
    for (r = bpf_map_get_next_key(map, NULL, &next); r == 0;) {
        key = next;
        r = bpf_map_get_next_key(map, &key, &next);
        if (bpf_map_lookup_elem(map, &key, &sets) == 0 && (sets & (1U << set)))
            sampler_filter_process(s, (int32_t)key, sets & ~(1U << set));
    }
    return 0;
}
