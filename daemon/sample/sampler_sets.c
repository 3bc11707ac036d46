/* SPDX-License-Identifier: Apache-2.0 */
/* The sets of events: arms one event for each CPU, follows CPUs that come and go. */
#include "base/cleanup.h"
#include "sample/program.h"
#include "sample/sampler_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* An event of the kernel, and its link to the program. */
struct cpu_link {
    int event, link; /* owned; link -1: there are no BPF programs */
    uint32_t cpu;
};

/* The events of a set. */
struct armed {
    int program;            /* fd of the program, owned; -1: none */
    struct perf_home *perf; /* used if there is no program; borrowed */
    uint32_t no;            /* number of the set */
    uint64_t cookie;        /* of the links */
    struct sampler_event event;
    uint64_t period;
    struct cpu_link *links; /* owned, [count], ordered by CPU; NULL: none */
    size_t count;
};

static void disarm(struct cpu_link *l)
{
    close_fd(l->link);
    close_fd(l->event);
}

/* Arms one CPU. 0; -ENODEV when it went offline; -errno. */
static int cpu_arm(const struct armed *a, uint32_t cpu, struct cpu_link *ret, struct error *err)
{
    LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = a->cookie);
    uint64_t period = sampler_period_on(&a->event, cpu, a->period);
    _cleanup_close_ int event = a->perf
                                    ? perf_home_open(a->perf, &a->event, cpu, a->no, period, err)
                                    : sampler_open_event(&a->event, cpu, period, err);
    _cleanup_close_ int link = -1;
    int r;

    if (event < 0)
        return event;
    if (a->perf) {
        *ret = (struct cpu_link){ take_fd(&event), -1, cpu };
        return 0;
    }
    link = bpf_link_create(a->program, event, BPF_PERF_EVENT, &opts);
    r = link < 0 ? link : ioctl(event, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
    if (r < 0) {
        error_code(err, r, "cannot attach to the event of CPU %u", cpu);
        error_remedy(err, "run Linux 5.15 or later: an event needs a link with a cookie");
        return r;
    }
    *ret = (struct cpu_link){ take_fd(&event), take_fd(&link), cpu };
    return 0;
}

/* Makes @a sample exactly @cpus: closes the links of other CPUs, and arms new ones. A CPU that
 * cannot be armed is retried by the next call. Returns the number of CPUs that changed, or
 * -errno. */
static int set_cpus(struct armed *a, const uint32_t *cpus, size_t count, struct error *err)
{
    struct cpu_link *links = calloc(MAX(count, (size_t)1), sizeof(*links));
    size_t kept = 0, old = 0;
    int r = 0, changed = 0;

    if (!links)
        return -ENOMEM;
    if (a->event.everywhere) {
        if (a->count > 0)
            cpus = &a->links[0].cpu; /* the event stays on its CPU, even if that is offline */
        count = MIN(count, (size_t)1);
    }
    for (size_t i = 0; i < count; i++) {
        struct cpu_link *l = &links[kept];

        for (; old < a->count && a->links[old].cpu < cpus[i]; old++, changed++)
            disarm(&a->links[old]);
        if (old < a->count && a->links[old].cpu == cpus[i]) {
            *l = a->links[old++];
        } else {
            int k = cpu_arm(a, cpus[i], l, err);

            if (k < 0 && k != -ENODEV) /* -ENODEV: offline since the list was read */
                r = k;
            if (k < 0)
                continue;
            changed++;
        }
        kept++;
    }
    for (; old < a->count; old++, changed++)
        disarm(&a->links[old]);
    free(a->links);
    a->links = links;
    a->count = kept;
    return r < 0 ? r : changed;
}

static bool disarm_all(void *arg)
{
    struct armed *a = arg;

    for (size_t i = 0; i < a->count; i++)
        disarm(&a->links[i]);
    free(a->links);
    a->links = NULL;
    a->count = 0;
    return false;
}

static int arm_all(void *arg, struct error *err)
{
    _cleanup_free_ uint32_t *cpus = calloc(SAMPLER_CPUS_MAX, sizeof(*cpus));
    int n = cpus ? sampler_online_cpus(cpus, err) : -ENOMEM;
    int r = n < 0 ? n : set_cpus(arg, cpus, (size_t)n, err);

    if (r < 0)
        disarm_all(arg);
    return MIN(r, 0);
}

static void free_armed(void *arg)
{
    struct armed *a = arg;

    close_fd(a->program);
    free(a);
}

static const struct hook_type ARMED = { arm_all, disarm_all, free_armed };

/* Returns true if the kernel waits for its processors when it arms or ends the event. */
static bool is_slow(const struct sampler_event *event)
{
    return event->everywhere || event->attr.type == PERF_TYPE_BREAKPOINT;
}

static int set_arm(struct sampler *s, uint32_t no)
{
    static const struct hook_worker AT_ONCE = { 0 };
    struct sampler_set *set = &s->sets[no];
    const struct sampler_program *type = sampler_program(set->event.program);
    void *loaded = s->loaded[set->event.program];
    struct armed *a = calloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    *a = (struct armed){
        .program = -1,
        .perf = s->perf,
        .no = no,
        .cookie = !s->perf && type->cookie ? type->cookie(loaded, no) : no,
        .event = set->event,
        .period = set->period,
    };
    if (!s->perf)
        a->program = fcntl(bpf_program__fd(type->tick(loaded)), F_DUPFD_CLOEXEC, 0);
    if (!s->perf && a->program < 0) {
        free(a);
        return -errno;
    }
    set->armed = a;
    return hook_new(is_slow(&set->event) ? &s->hooker : &AT_ONCE, &ARMED, a, &set->hook);
}

void sampler_set_disarm(struct sampler_set *set)
{
    hook_drop(set->hook);
    *set = (struct sampler_set){ 0 };
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

/* Returns true if a set samples @event: the kernel allows one program one link to a tracepoint. */
static bool runs(const struct sampler *s, const struct sampler_event *event)
{
    for (size_t i = 0; i < SAMPLER_SETS_MAX; i++) {
        const struct sampler_set *set = &s->sets[i];

        if (set->hook && set->event.everywhere && set->event.attr.config == event->attr.config)
            return true;
    }
    return false;
}

int sampler_start_event(struct sampler *s, const struct sampler_event *event, uint64_t period,
                        uint32_t *ret_set, struct error *err)
{
    enum event_program program = event->program;
    const struct sampler_program *type = sampler_program(program);
    struct sampler_set *set = NULL;
    uint32_t no;
    int r;

    r = sampler_check_period(event, period, err);
    if (r == 0 && s->perf)
        r = perf_home_check(s->perf, event, period, err);
    if (r < 0)
        return r;
    if (!sampler_has(s, program))
        return error_set(err, -EAGAIN, "the BPF program of %s is not loaded", event->name);
    for (no = 0; no < SAMPLER_SETS_MAX; no++) {
        if (!s->sets[no].used) {
            set = &s->sets[no];
            break;
        }
    }
    if (!set)
        return error_set(err, -EBUSY, "%d events and rates are sampled already", SAMPLER_SETS_MAX);
    if (event->everywhere && runs(s, event))
        return error_set(err, -EEXIST, "%s is sampled already, in another way", event->name);
    *set = (struct sampler_set){ .used = true, .event = *event, .period = period };
    r = s->perf ? 0 : type->start(s->loaded[program], no, event, period, err);
    if (r == 0 && event->attr.type != EVENT_PERF_NONE)
        r = set_arm(s, no);
    if (r == 0)
        r = sampler_begun(s, no, err);
    if (r < 0 && r != -EINPROGRESS) {
        sampler_set_disarm(set);
        if (type->stop)
            type->stop(s->loaded[program], no);
        return r;
    }
    *ret_set = no;
    return 0;
}

int sampler_begun(struct sampler *s, uint32_t no, struct error *err)
{
    const struct sampler_set *set = no < SAMPLER_SETS_MAX ? &s->sets[no] : NULL;
    enum event_program program;
    int r;

    if (!set || !set->used)
        return -ENOENT;
    program = set->event.program;
    r = set->hook ? hook_state(set->hook, err) : 0;
    return r == 0 && sampler_program(program)->begun
               ? sampler_program(program)->begun(s->loaded[program], no, err)
               : r;
}

int sampler_set_cpus(struct sampler *s, const uint32_t *cpus, size_t count)
{
    int changed = 0;

    for (uint32_t no = 0; no < SAMPLER_SETS_MAX; no++) {
        const struct sampler_set *set = &s->sets[no];
        /* otherwise the worker still uses the set */
        bool armed = set->hook && hook_state(set->hook, NULL) == 0;
        int r = armed ? set_cpus(set->armed, cpus, count, NULL) : 0;

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
    uint32_t key, next, sets;
    enum event_program program;
    int map, r;

    if (set >= SAMPLER_SETS_MAX || !s->sets[set].used)
        return -ENOENT;
    program = s->sets[set].event.program;
    sampler_set_disarm(&s->sets[set]);
    if (s->perf)
        return 0;
    if (sampler_program(program)->stop)
        sampler_program(program)->stop(s->loaded[program], set);
    map = bpf_map__fd(s->skel->maps.filters);
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
