/* SPDX-License-Identifier: Apache-2.0 */
/* Processes with probes in libjvm.so, or with one in an agent: sampler_alloc.h. */
#include "base/list.h"
#include "sample/sampler_alloc_impl.h"

/* Drops a process. Its probes do nothing from here on, even before they are removed: the map lacks
 * the process, or the epoch differs. */
static void drop_target(const struct alloc_targets *of, struct alloc_target *t)
{
    uint32_t key = (uint32_t)t->pid;

    if (t->pid)
        bpf_map_delete_elem(of->map, &key);
    hook_drop(t->probes);
    *t = (struct alloc_target){ 0 };
}

void alloc_drop_targets(struct alloc_targets *of)
{
    for (size_t i = 0; i < ARRAY_SIZE(of->all); i++)
        drop_target(of, &of->all[i]);
}

/* Finds the entry of process @pid. @pid 0: a free one. */
static struct alloc_target *find_target(struct alloc_targets *of, int32_t pid)
{
    return FIRST_OF(i, of->all, ARRAY_SIZE(of->all), of->all[i].pid == pid);
}

/* Puts probes into @target, in the free entry @t of @of. @description: its value in the map of
 * @of. */
static int add_target(struct sampler_alloc *a, const struct alloc_targets *of,
                      struct alloc_target *t, const void *description,
                      const struct uprobe_target *target, const struct uprobe_place *places,
                      size_t count, struct error *err)
{
    uint32_t key = (uint32_t)target->pid;
    int r = alloc_check_room(a, target->pid, count, err);

    if (r < 0)
        return r;
    t->pid = target->pid;
    r = bpf_map_update_elem(of->map, &key, description, BPF_ANY);
    if (r < 0)
        return error_code(err, r, "cannot describe process %d to the BPF program", target->pid);
    return uprobe_hook(&a->hooker, &a->way, bpf_program__fd(a->skel->progs.alloc_probe), target,
                       places, count, &t->probes);
}

/* Puts probes into @target, unless it has the same ones. The caller repeats the call until they are
 * in. */
static int put_target(struct sampler_alloc *a, struct alloc_targets *of, const void *description,
                      const struct uprobe_target *target, const struct uprobe_place *places,
                      size_t count, struct error *err)
{
    struct alloc_target *t = find_target(of, target->pid);
    int r = 0;

    if (t && !uprobe_hook_is(t->probes, target, places, count))
        drop_target(of, t);
    if (!t)
        t = find_target(of, 0);
    if (!t)
        return error_set(err, -E2BIG, "%d processes have probes already", ALLOC_PROCESSES_MAX);
    if (!t->pid)
        r = add_target(a, of, t, description, target, places, count, err);
    if (r == 0)
        r = hook_state(t->probes, err);
    if (r < 0 && r != -EINPROGRESS)
        drop_target(of, t);
    return r;
}

/* Sets how many processes share the samples at a pace. */
static void count_targets(const struct sampler_alloc *a)
{
    uint32_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(a->vms.all); i++)
        n += a->vms.all[i].pid != 0;
    __atomic_store_n(&a->skel->bss->paced_processes, n, __ATOMIC_RELAXED);
}

int sampler_alloc_probe(struct sampler_alloc *a, const struct uprobe_target *target,
                        const struct alloc_vm *vm, const struct alloc_probe *probes, size_t count,
                        struct error *err)
{
    const struct alloc_process process = { .vm = *vm, .epoch = alloc_next_epoch(a) };
    struct uprobe_place places[ALLOC_PROBES_MAX];
    int r;

    if (target->pid <= 0 || count == 0 || count > ALLOC_PROBES_MAX)
        return -EINVAL;
    if (!a->skel->bss->alloc_sets)
        return error_set(err, -EAGAIN, "no set of event alloc runs");
    for (size_t i = 0; i < count; i++)
        places[i] = (struct uprobe_place){ probes[i].offset,
                                           ALLOC_COOKIE(probes[i].kind, 0, process.epoch) };
    r = put_target(a, &a->vms, &process, target, places, count, err);
    count_targets(a);
    return r;
}

static int drop_pid(struct alloc_targets *of, int32_t pid)
{
    struct alloc_target *t = pid > 0 ? find_target(of, pid) : NULL;

    if (!t)
        return -ENOENT;
    drop_target(of, t);
    return 0;
}

int sampler_alloc_unprobe(struct sampler_alloc *a, int32_t pid)
{
    int r = drop_pid(&a->vms, pid);

    count_targets(a);
    return r;
}

int sampler_alloc_hits(const struct sampler_alloc *a, int32_t pid, uint64_t *ret)
{
    struct alloc_process process;
    uint32_t key = (uint32_t)pid;
    int r = bpf_map_lookup_elem(a->vms.map, &key, &process);

    *ret = r < 0 ? 0 : process.hits;
    return r;
}

/* ---- probes of agents ---- */

int sampler_alloc_by_agents(struct sampler_alloc *a, uint32_t set)
{
    if (set >= STACK_SETS_MAX || !(a->skel->bss->alloc_sets & 1U << set))
        return -ENOENT;
    __atomic_or_fetch(&a->skel->bss->agent_sets, 1U << set, __ATOMIC_RELEASE);
    if (!__atomic_and_fetch(&a->skel->bss->alloc_sets, ~(1U << set), __ATOMIC_RELEASE))
        alloc_drop_targets(&a->vms);
    return 0;
}

int sampler_alloc_agent(struct sampler_alloc *a, const struct uprobe_target *target,
                        uint32_t class_klass, uint64_t collections, uint64_t offset,
                        struct error *err)
{
    const struct alloc_agent agent = { .class_klass = class_klass,
                                       .epoch = alloc_next_epoch(a),
                                       .collections = collections };
    const struct uprobe_place place = { offset, ALLOC_COOKIE(ALLOC_BY_AGENT, 0, agent.epoch) };

    if (target->pid <= 0)
        return -EINVAL;
    if (!a->skel->bss->agent_sets)
        return error_set(err, -EAGAIN, "no set takes what agents report");
    return put_target(a, &a->agents, &agent, target, &place, 1, err);
}

int sampler_alloc_unagent(struct sampler_alloc *a, int32_t pid)
{
    return drop_pid(&a->agents, pid);
}
