/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler_moments.h"

#include "base/cleanup.h"
#include "base/list.h"
#include "sample/program.h"
#include "sample/refusal.h"
#include "sample/uprobe_hook.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "moments.skel.h"

/* A process with probes. */
struct moment_target {
    int32_t pid;                        /* 0: free */
    struct hook *probes[MOMENT_GROUPS]; /* owned; NULL: none */
};

struct sampler_moments {
    struct moments_bpf *skel;
    struct moment_target targets[MOMENT_PROCESSES_MAX];
    uint32_t sets;     /* bit set: sets that run */
    struct hook *hook; /* hook at the switch while a set runs; owned */
    bool begun;        /* the hook was in at the last check */
    uint32_t epoch;    /* the last epoch given to probes */
    struct hook_worker hooker;
    struct uprobe_way way;
};

static void drop_target(struct sampler_moments *m, struct moment_target *t)
{
    uint32_t key = (uint32_t)t->pid;

    if (t->pid) /* from here on, its probes report nothing */
        bpf_map_delete_elem(bpf_map__fd(m->skel->maps.vms), &key);
    for (uint32_t i = 0; i < MOMENT_GROUPS; i++)
        hook_drop(t->probes[i]);
    *t = (struct moment_target){ 0 };
}

static void drop_targets(struct sampler_moments *m)
{
    for (size_t i = 0; i < ARRAY_SIZE(m->targets); i++)
        drop_target(m, &m->targets[i]);
}

static void free_moments(void *p)
{
    struct sampler_moments *m = p;

    if (!m)
        return;
    drop_targets(m);
    hook_drop(m->hook);
    moments_bpf__destroy(m->skel);
    free(m);
}

CLEANUP_FUNCTION(moments_freep, sampler_moments, free_moments)

static int load(const struct sampler_shared *shared, void **ret, struct error *err)
{
    _cleanup_(moments_freep) struct sampler_moments *m = calloc(1, sizeof(*m));
    int r;

    if (!m)
        return -ENOMEM;
    r = uprobe_find_way(shared->pins_fd, &m->way, err);
    if (r < 0)
        return r;
    m->hooker = shared->hooker;
    refusal_watch();
    m->skel = moments_bpf__open();
    if (!m->skel)
        return refusal_explain(-errno, err);
    m->skel->rodata->pid_ns_inum = shared->pid_ns_inum;
    m->skel->rodata->max_words = shared->max_words;
    uprobe_prepare(&m->way, m->skel->progs.moment_probe);
    uprobe_prepare(&m->way, m->skel->progs.name_probe);
    r = sampler_shared_use(shared, m->skel->obj) ?: moments_bpf__load(m->skel);
    if (r < 0)
        return refusal_explain(r, err);
    *ret = TAKE_PTR(m);
    return 0;
}

int sampler_moments_ring_fd(const struct sampler_moments *m)
{
    return bpf_map__fd(m->skel->maps.moments);
}

/* Returns the program for ticks, which samples late threads that run. */
static struct bpf_program *tick(void *p)
{
    return ((struct sampler_moments *)p)->skel->progs.late_tick;
}

static int begun(void *p, uint32_t set, struct error *err)
{
    struct sampler_moments *m = p;
    int r = m->hook ? hook_state(m->hook, err) : -ENOENT;

    (void)set;
    if (r == 0 && !m->begun) { /* earlier states of threads are unknown */
        m->begun = true;
        m->skel->bss->epoch++;
    }
    return r;
}

static int start(void *p, uint32_t set, const struct sampler_event *event, uint64_t period_ns,
                 struct error *err)
{
    struct sampler_moments *m = p;
    int r = 0;

    (void)event;
    if (!m->hook) {
        m->begun = false;
        m->skel->bss->epoch++;
        r = hook_tracepoint(&m->hooker, bpf_program__fd(m->skel->progs.late_switch), &m->hook);
    }
    if (r == 0)
        r = begun(m, set, err);
    if (r < 0 && r != -EINPROGRESS)
        return r;
    __atomic_store_n(&m->skel->bss->periods[set], period_ns, __ATOMIC_RELEASE);
    m->sets |= 1U << set;
    return 0;
}

/* Stops a set. The end of the last set removes all probes. */
static void stop(void *p, uint32_t set)
{
    struct sampler_moments *m = p;

    m->sets &= ~(1U << set);
    __atomic_store_n(&m->skel->bss->periods[set], 0, __ATOMIC_RELEASE);
    if (m->sets)
        return;
    drop_targets(m);
    m->hook = hook_drop(m->hook);
}

static struct sampler_memory memory(const void *p)
{
    return SAMPLER_MEMORY(((const struct sampler_moments *)p)->skel);
}

/* ---- probes ---- */

static struct moment_target *find_target(struct sampler_moments *m, int32_t pid)
{
    return FIRST_OF(i, m->targets, ARRAY_SIZE(m->targets), m->targets[i].pid == pid);
}

/* Gets the places of the @probes of @group. Returns their number. */
static size_t places_of(const struct sampler_moments *m, uint32_t group,
                        const struct moment_probe *probes, size_t count,
                        struct uprobe_place ret[MOMENT_PLACES_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (moment_group_of(probes[i].kind) == group)
            ret[n++] = (struct uprobe_place){ probes[i].offset,
                                              MOMENT_COOKIE(probes[i].kind, i, m->epoch) };
    }
    return n;
}

/* Puts the @probes of @group, if there are any. */
static int put_group(struct sampler_moments *m, struct moment_target *t, uint32_t group,
                     const struct uprobe_target *target, const struct moment_probe *probes,
                     size_t count)
{
    const struct bpf_program *program =
        group == MOMENT_GROUP_STOPS ? m->skel->progs.moment_probe : m->skel->progs.name_probe;
    struct uprobe_place places[MOMENT_PLACES_MAX];
    size_t n = places_of(m, group, probes, count, places);

    return n == 0 ? 0
                  : uprobe_hook(&m->hooker, &m->way, bpf_program__fd(program), target, places, n,
                                &t->probes[group]);
}

/* Returns true if the group MOMENT_GROUP_STOPS of @t, which every process has, consists of these
 * @probes. */
static bool is_same(const struct sampler_moments *m, const struct moment_target *t,
                    const struct uprobe_target *target, const struct moment_probe *probes,
                    size_t count)
{
    const struct hook *stops = t->probes[MOMENT_GROUP_STOPS];
    struct uprobe_place places[MOMENT_PLACES_MAX];
    size_t n = places_of(m, MOMENT_GROUP_STOPS, probes, count, places);

    return stops && uprobe_hook_is(stops, target, places, n);
}

/* Checks that all probes of @t are in. 0, -EINPROGRESS, -errno with @err. */
static int state_of(const struct moment_target *t, struct error *err)
{
    struct error why = ERROR_NULL;
    int r = -ENOENT;

    for (uint32_t i = 0; i < MOMENT_GROUPS; i++) {
        if (t->probes[i])
            r = hook_and(r, hook_state(t->probes[i], &why), &why, err);
    }
    return r;
}

/* Returns state_of() @t, and drops @t if a probe failed. */
static int check_target(struct sampler_moments *m, struct moment_target *t, struct error *err)
{
    int r = state_of(t, err);

    if (r < 0 && r != -EINPROGRESS)
        drop_target(m, t);
    return r;
}

int sampler_moments_begun(const struct sampler_moments *m, int32_t pid, struct error *err)
{
    struct error why = ERROR_NULL;
    int r = -ENOENT;

    for (size_t i = 0; i < ARRAY_SIZE(m->targets); i++) {
        if (m->targets[i].pid == pid)
            r = hook_and(r, state_of(&m->targets[i], &why), &why, err);
    }
    return r;
}

int sampler_moments_probe(struct sampler_moments *m, const struct uprobe_target *target,
                          const struct moment_thread *thread, const struct moment_probe *probes,
                          size_t count, struct error *err)
{
    struct moment_process process = { .thread = *thread };
    int32_t pid = target->pid;
    struct moment_target *t = pid > 0 ? find_target(m, pid) : NULL;
    uint32_t key = (uint32_t)pid;
    int r;

    if (pid <= 0 || count == 0 || count > MOMENT_PLACES_MAX)
        return -EINVAL;
    if (!m->sets)
        return error_set(err, -EAGAIN, "no set of event safepoint runs");
    if (t && is_same(m, t, target, probes, count))
        return check_target(m, t, err);
    if (t)
        drop_target(m, t);
    else
        t = find_target(m, 0);
    if (!t)
        return error_set(err, -E2BIG, "%d processes have probes already", MOMENT_PROCESSES_MAX);
    t->pid = pid;
    process.epoch = ++m->epoch & 0xff;
    for (size_t i = 0; i < count; i++)
        process.places[i] = probes[i].place;
    r = bpf_map_update_elem(bpf_map__fd(m->skel->maps.vms), &key, &process, BPF_ANY);
    if (r < 0)
        error_code(err, r, "cannot describe process %d to the BPF program", pid);
    for (uint32_t i = 0; i < MOMENT_GROUPS && r == 0; i++)
        r = put_group(m, t, i, target, probes, count);
    if (r == 0)
        return check_target(m, t, err);
    drop_target(m, t);
    return r;
}

int sampler_moments_unprobe(struct sampler_moments *m, int32_t pid, uint32_t groups)
{
    struct moment_target *t = pid > 0 ? find_target(m, pid) : NULL;

    if (!t)
        return -ENOENT;
    if (!groups || groups & 1U << MOMENT_GROUP_STOPS)
        drop_target(m, t);
    for (uint32_t i = 0; i < MOMENT_GROUPS; i++) {
        if (groups & 1U << i)
            t->probes[i] = hook_drop(t->probes[i]);
    }
    return 0;
}

const struct sampler_program sampler_program_moments = {
    .check = uprobe_check,
    .load = load,
    .free = free_moments,
    .start = start,
    .begun = begun,
    .stop = stop,
    .tick = tick,
    .memory = memory,
};
