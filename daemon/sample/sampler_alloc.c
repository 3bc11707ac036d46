/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler_alloc.h"

#include "base/cleanup.h"
#include "sample/pick_abi.h"
#include "sample/program.h"
#include "sample/refusal.h"
#include "sample/stack_abi.h"
#include "sample/uprobe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alloc.skel.h"

_Static_assert((ALLOC_CALLS_MAX & (ALLOC_CALLS_MAX - 1)) == 0 && ALLOC_CALLS_MAX <= 1 << 16,
               "the slots of cookies");

/* A process with probes. */
struct alloc_target {
    int32_t pid;            /* 0: free */
    struct uprobes *probes; /* owned; NULL: none yet */
};

/* The processes with probes in libjvm.so, or those with one in an agent. */
struct alloc_targets {
    int map; /* of the skeleton: what the program knows of them, by process id */
    struct alloc_target all[ALLOC_PROCESSES_MAX];
};

/* A function whose calls are counted in a process. */
struct call_probe {
    int32_t pid; /* 0: free */
    uint32_t set;
    bool malloc;           /* the bytes that they ask for */
    uint64_t offset;       /* in its file */
    struct uprobes *probe; /* owned */
};

struct sampler_alloc {
    struct alloc_bpf *skel;
    struct alloc_targets vms, agents;
    struct call_probe calls[ALLOC_CALLS_MAX];
    uint32_t call_sets;  /* bits: those that count calls, */
    uint32_t block_sets; /* and of these: those that follow blocks of malloc */
    uint32_t epoch;      /* of probes; the last one */
    struct uprobe_way way;
    void (*detach)(void *ctx, struct uprobes *probes); /* NULL: at once */
    void *detach_ctx;
};

static void detach_by(void *p, void (*detach)(void *ctx, struct uprobes *probes), void *ctx)
{
    struct sampler_alloc *a = p;

    a->detach = detach;
    a->detach_ctx = ctx;
}

static void detach(struct sampler_alloc *a, struct uprobes *probes)
{
    if (probes && a->detach)
        a->detach(a->detach_ctx, probes);
    else
        uprobes_detach(probes);
}

/* Its probes do nothing from here on, until they are gone: the process is none, or of another
 * epoch. */
static void drop_target(struct sampler_alloc *a, const struct alloc_targets *of,
                        struct alloc_target *t)
{
    uint32_t key = (uint32_t)t->pid;

    if (t->pid)
        bpf_map_delete_elem(of->map, &key);
    detach(a, t->probes);
    *t = (struct alloc_target){ 0 };
}

static void drop_targets(struct sampler_alloc *a, struct alloc_targets *of)
{
    for (size_t i = 0; i < ARRAY_SIZE(of->all); i++)
        drop_target(a, of, &of->all[i]);
}

static bool has_mallocs(const struct sampler_alloc *a, int32_t pid)
{
    for (size_t i = 0; i < ARRAY_SIZE(a->calls); i++) {
        if (a->calls[i].pid == pid && a->calls[i].malloc)
            return true;
    }
    return false;
}

/* It counts nothing from here on, until it is gone. */
static void drop_call(struct sampler_alloc *a, struct call_probe *c)
{
    uint32_t key = (uint32_t)c->pid;
    bool malloc = c->malloc;

    __atomic_store_n(&a->skel->bss->call_epochs[c - a->calls], 0, __ATOMIC_RELEASE);
    detach(a, c->probe);
    *c = (struct call_probe){ 0 };
    if (malloc && !has_mallocs(a, (int32_t)key))
        bpf_map_delete_elem(bpf_map__fd(a->skel->maps.mallocs), &key);
}

/* Those of the sets in @sets (bits). */
static void drop_calls(struct sampler_alloc *a, uint32_t sets)
{
    for (size_t i = 0; i < ARRAY_SIZE(a->calls); i++) {
        if (a->calls[i].pid && sets & 1U << a->calls[i].set)
            drop_call(a, &a->calls[i]);
    }
}

static void free_alloc(void *p)
{
    struct sampler_alloc *a = p;

    drop_targets(a, &a->vms);
    drop_targets(a, &a->agents);
    drop_calls(a, UINT32_MAX);
    alloc_bpf__destroy(a->skel);
    free(a);
}

static int load(const struct sampler_shared *shared, void **ret, struct error *err)
{
    struct sampler_alloc *a = calloc(1, sizeof(*a));
    int r;

    if (!a)
        return -ENOMEM;
    r = uprobe_find_way(shared->pins_fd, &a->way, err);
    if (r < 0)
        goto fail;
    refusal_watch();
    a->skel = alloc_bpf__open();
    if (!a->skel) {
        r = refusal_explain(-errno, err);
        goto fail;
    }
    a->skel->rodata->pid_ns_inum = shared->pid_ns_inum;
    a->skel->rodata->max_words = shared->max_words;
    uprobe_prepare(&a->way, a->skel->progs.alloc_probe);
    uprobe_prepare(&a->way, a->skel->progs.block_probe);
    r = sampler_shared_use(shared, a->skel->obj);
    if (r == 0)
        r = alloc_bpf__load(a->skel);
    if (r < 0) {
        r = refusal_explain(r, err);
        goto fail;
    }
    a->vms.map = bpf_map__fd(a->skel->maps.vms);
    a->agents.map = bpf_map__fd(a->skel->maps.agents);
    *ret = a;
    return 0;
fail:
    free_alloc(a);
    return r;
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

/* One record for each @period bytes, or calls, or at a pace. */
static int start(void *p, uint32_t set, const struct sampler_event *event, uint64_t period,
                 struct error *err)
{
    struct sampler_alloc *a = p;

    (void)err;
    set_period(a, set, period);
    if (event->info->flags & EVENT_CALLS)
        a->call_sets |= 1U << set;
    if (event->info->kind == EVENT_NATIVELIVE) {
        a->block_sets |= 1U << set;
        __atomic_add_fetch(&a->skel->bss->block_epochs[set], 1, __ATOMIC_RELEASE);
    }
    if (event->info->kind == EVENT_ALLOC)
        __atomic_or_fetch(&a->skel->bss->alloc_sets, 1U << set, __ATOMIC_RELEASE);
    if (event->info->kind == EVENT_LIVE) {
        __atomic_or_fetch(&a->skel->bss->live_sets, 1U << set, __ATOMIC_RELEASE);
        __atomic_or_fetch(&a->skel->bss->agent_sets, 1U << set, __ATOMIC_RELEASE);
    }
    return 0;
}

/* Forgets the blocks of process @pid that set @set follows; 0: of all. One that comes at the same
 * time stays until the next such set of that number. */
static void forget_blocks(struct sampler_alloc *a, uint32_t set, int32_t pid)
{
    int map = bpf_map__fd(a->skel->maps.live_blocks);
    struct alloc_block key, next;
    int r = bpf_map_get_next_key(map, NULL, &next);

    for (uint32_t i = 0; r == 0 && i < ALLOC_BLOCKS_MAX; i++) {
        key = next;
        r = bpf_map_get_next_key(map, &key, &next);
        if (key.set == set && (!pid || key.host_pid == (uint32_t)pid))
            bpf_map_delete_elem(map, &key);
    }
}

/* With the last set of each kind its probes go. */
static void stop(void *p, uint32_t set)
{
    struct sampler_alloc *a = p;

    a->call_sets &= ~(1U << set);
    drop_calls(a, 1U << set);
    if (a->block_sets & 1U << set)
        forget_blocks(a, set, /* pid= */ 0);
    a->block_sets &= ~(1U << set);
    __atomic_and_fetch(&a->skel->bss->live_sets, ~(1U << set), __ATOMIC_RELEASE);
    if (a->skel->bss->agent_sets & 1U << set &&
        !__atomic_and_fetch(&a->skel->bss->agent_sets, ~(1U << set), __ATOMIC_RELEASE))
        drop_targets(a, &a->agents);
    if (!(a->skel->bss->alloc_sets & 1U << set))
        return;
    if (!__atomic_and_fetch(&a->skel->bss->alloc_sets, ~(1U << set), __ATOMIC_RELEASE))
        drop_targets(a, &a->vms);
}

static void filter_all(void *p, uint32_t sets)
{
    struct sampler_alloc *a = p;

    __atomic_store_n(&a->skel->bss->filter_all, sets, __ATOMIC_RELEASE);
}

static void forget(void *p)
{
    sampler_forget(((struct sampler_alloc *)p)->skel->bss->known);
}

/* ---- probes ---- */

/* @pid 0: a free one. */
static struct alloc_target *find_target(struct alloc_targets *of, int32_t pid)
{
    for (size_t i = 0; i < ARRAY_SIZE(of->all); i++) {
        if (of->all[i].pid == pid)
            return &of->all[i];
    }
    return NULL;
}

static size_t probes_among(const struct alloc_targets *of, int32_t pid)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(of->all); i++)
        n += of->all[i].pid == pid && of->all[i].probes ? uprobes_count(of->all[i].probes) : 0;
    return n;
}

/* How many it has. */
static size_t probes_of(const struct sampler_alloc *a, int32_t pid)
{
    size_t n = probes_among(&a->vms, pid) + probes_among(&a->agents, pid);

    for (size_t i = 0; i < ARRAY_SIZE(a->calls); i++)
        n += a->calls[i].pid == pid;
    return n;
}

/* Whether @count more may be. */
static int check_room(const struct sampler_alloc *a, int32_t pid, size_t count, struct error *err)
{
    if (probes_of(a, pid) + count <= ALLOC_TARGET_MAX)
        return 0;
    error_remedy(err, "wait until another capture of it has ended");
    return error_set(err, -E2BIG, "process %d has %zu probes already, and one may have %d at most",
                     pid, probes_of(a, pid), ALLOC_TARGET_MAX);
}

/* Puts probes into process @pid, in place of those that it has in @of. @description: what the map
 * of @of holds of it. */
static int put_target(struct sampler_alloc *a, struct alloc_targets *of, int32_t pid,
                      const void *description, int fd, const struct uprobe_place *places,
                      size_t count, struct error *err)
{
    struct alloc_target *t = find_target(of, pid);
    uint32_t key = (uint32_t)pid;
    int r;

    if (t)
        drop_target(a, of, t);
    else
        t = find_target(of, 0);
    if (!t)
        return error_set(err, -E2BIG, "%d processes have probes already", ALLOC_PROCESSES_MAX);
    r = check_room(a, pid, count, err);
    if (r < 0)
        return r;
    t->pid = pid;
    r = bpf_map_update_elem(of->map, &key, description, BPF_ANY);
    if (r < 0)
        error_code(err, r, "cannot describe process %d to the BPF program", pid);
    else
        r = uprobes_attach(&a->way, bpf_program__fd(a->skel->progs.alloc_probe), pid, fd, places,
                           count, &t->probes, err);
    if (r < 0)
        drop_target(a, of, t);
    return r;
}

/* An epoch that no other probe has; 0 is none. */
static uint32_t next_epoch(struct sampler_alloc *a)
{
    a->epoch += a->epoch == UINT32_MAX ? 2 : 1;
    return a->epoch;
}

int sampler_alloc_probe(struct sampler_alloc *a, int32_t pid, const struct alloc_vm *vm, int fd,
                        const struct alloc_probe *probes, size_t count, struct error *err)
{
    const struct alloc_process process = { .vm = *vm, .epoch = next_epoch(a) };
    struct uprobe_place places[ALLOC_PROBES_MAX];

    if (pid <= 0 || count == 0 || count > ALLOC_PROBES_MAX)
        return -EINVAL;
    if (!a->skel->bss->alloc_sets)
        return -EAGAIN;
    for (size_t i = 0; i < count; i++)
        places[i] = (struct uprobe_place){ probes[i].offset,
                                           ALLOC_COOKIE(probes[i].kind, 0, process.epoch) };
    return put_target(a, &a->vms, pid, &process, fd, places, count, err);
}

static int drop_pid(struct sampler_alloc *a, struct alloc_targets *of, int32_t pid)
{
    struct alloc_target *t = pid > 0 ? find_target(of, pid) : NULL;

    if (!t)
        return -ENOENT;
    drop_target(a, of, t);
    return 0;
}

int sampler_alloc_unprobe(struct sampler_alloc *a, int32_t pid)
{
    return drop_pid(a, &a->vms, pid);
}

/* ---- probes of agents ---- */

int sampler_alloc_by_agents(struct sampler_alloc *a, uint32_t set)
{
    if (set >= STACK_SETS_MAX || !(a->skel->bss->alloc_sets & 1U << set))
        return -ENOENT;
    __atomic_or_fetch(&a->skel->bss->agent_sets, 1U << set, __ATOMIC_RELEASE);
    if (!__atomic_and_fetch(&a->skel->bss->alloc_sets, ~(1U << set), __ATOMIC_RELEASE))
        drop_targets(a, &a->vms);
    return 0;
}

int sampler_alloc_agent(struct sampler_alloc *a, int32_t pid, uint32_t class_klass,
                        uint64_t collections, int fd, uint64_t offset, struct error *err)
{
    const struct alloc_agent agent = { .class_klass = class_klass,
                                       .epoch = next_epoch(a),
                                       .collections = collections };
    const struct uprobe_place place = { offset, ALLOC_COOKIE(ALLOC_BY_AGENT, 0, agent.epoch) };

    if (pid <= 0)
        return -EINVAL;
    if (!a->skel->bss->agent_sets)
        return -EAGAIN;
    return put_target(a, &a->agents, pid, &agent, fd, &place, 1, err);
}

int sampler_alloc_unagent(struct sampler_alloc *a, int32_t pid)
{
    return drop_pid(a, &a->agents, pid);
}

/* ---- calls of functions ---- */

/* @pid 0: a free one. */
static struct call_probe *find_call(struct sampler_alloc *a, int32_t pid, uint32_t set)
{
    for (size_t i = 0; i < ARRAY_SIZE(a->calls); i++) {
        if (a->calls[i].pid == pid && a->calls[i].set == set)
            return &a->calls[i];
    }
    return NULL;
}

/* Puts the probe of @c, of @kind. */
static int add_call(struct sampler_alloc *a, const struct call_probe *c, int fd, uint32_t kind,
                    struct error *err)
{
    struct call_probe *free_one = find_call(a, /* pid= */ 0, /* set= */ 0);
    const struct bpf_program *program =
        a->block_sets & 1U << c->set ? a->skel->progs.block_probe : a->skel->progs.alloc_probe;
    struct uprobe_place place = { .offset = c->offset };
    struct uprobes *probe;
    size_t slot;
    int r;

    if (!(a->call_sets & 1U << c->set))
        return -EAGAIN;
    if (!free_one)
        return error_set(err, -E2BIG, "functions are probed at %d places already", ALLOC_CALLS_MAX);
    r = check_room(a, c->pid, /* count= */ 1, err);
    if (r < 0)
        return r;
    slot = (size_t)(free_one - a->calls);
    place.cookie = ALLOC_COOKIE(kind, slot, next_epoch(a));
    __atomic_store_n(&a->skel->bss->call_epochs[slot], a->epoch, __ATOMIC_RELEASE);
    r = uprobes_attach(&a->way, bpf_program__fd(program), c->pid, fd, &place, 1, &probe, err);
    if (r < 0) {
        __atomic_store_n(&a->skel->bss->call_epochs[slot], 0, __ATOMIC_RELEASE);
        return r;
    }
    *free_one = *c;
    free_one->probe = probe;
    return 0;
}

int sampler_alloc_call(struct sampler_alloc *a, int32_t pid, uint32_t set, int fd, uint64_t offset,
                       struct error *err)
{
    const struct call_probe c = { .pid = pid, .set = set, .offset = offset };
    struct call_probe *old;

    if (pid <= 0 || set >= STACK_SETS_MAX)
        return -EINVAL;
    old = find_call(a, pid, set);
    if (old && a->call_sets & 1U << set) /* or calls of both would count */
        drop_call(a, old);
    return add_call(a, &c, fd, ALLOC_CALL + set, err);
}

/* Whether the place of @c has a probe of its set and process. */
static bool has_place(const struct sampler_alloc *a, const struct call_probe *c)
{
    for (size_t i = 0; i < ARRAY_SIZE(a->calls); i++) {
        if (a->calls[i].pid == c->pid && a->calls[i].set == c->set &&
            a->calls[i].offset == c->offset)
            return true;
    }
    return false;
}

int sampler_alloc_malloc(struct sampler_alloc *a, int32_t pid, uint32_t set, int fd,
                         uint64_t offset, enum alloc_malloc argument, struct error *err)
{
    const struct call_probe c = { .pid = pid, .set = set, .malloc = true, .offset = offset };
    const struct alloc_mallocs none = { 0 };
    uint32_t key = (uint32_t)pid;
    int r;

    if (pid <= 0 || set >= STACK_SETS_MAX || argument >= ALLOC_MALLOC_KINDS ||
        (argument >= ALLOC_MALLOC_FREE && !(a->block_sets & 1U << set)))
        return -EINVAL;
    if (argument == ALLOC_MALLOC_RESULT && has_place(a, &c))
        return 0;
    if (!has_mallocs(a, pid) &&
        bpf_map_update_elem(bpf_map__fd(a->skel->maps.mallocs), &key, &none, BPF_ANY) < 0)
        return error_set(err, -E2BIG, "%d processes have probes already", ALLOC_PROCESSES_MAX);
    r = add_call(a, &c, fd, ALLOC_MALLOC + set * ALLOC_MALLOC_KINDS + argument, err);
    if (r < 0 && !has_mallocs(a, pid))
        bpf_map_delete_elem(bpf_map__fd(a->skel->maps.mallocs), &key);
    return r;
}

int sampler_alloc_mallocs(const struct sampler_alloc *a, int32_t pid, uint64_t *ret)
{
    uint32_t key = (uint32_t)pid;
    struct alloc_mallocs m;

    if (bpf_map_lookup_elem(bpf_map__fd(a->skel->maps.mallocs), &key, &m) < 0)
        return -ENOENT;
    *ret = m.calls;
    return 0;
}

int sampler_alloc_uncall(struct sampler_alloc *a, int32_t pid, uint32_t set)
{
    struct call_probe *c = pid > 0 ? find_call(a, pid, set) : NULL;

    if (!c)
        return -ENOENT;
    for (; c; c = find_call(a, pid, set))
        drop_call(a, c);
    if (a->block_sets & 1U << set) /* else those of a process that has ended take the room */
        forget_blocks(a, set, pid);
    return 0;
}

/* ---- counts ---- */

static uint64_t counted(const struct sampler_alloc *a, uint32_t counter)
{
    return sampler_counted(bpf_map__fd(a->skel->maps.counters), counter);
}

static void stats(const void *p, struct sampler_stats *sum)
{
    sum->samples += counted(p, ALLOC_SAMPLES);
    sum->lost_ring += counted(p, ALLOC_LOST_RING);
    sum->lost_budget += counted(p, ALLOC_LOST_BUDGET);
    sum->lost_other += counted(p, ALLOC_LOST_OTHER);
    sum->time_ns += counted(p, ALLOC_TIME_NS);
}

const struct sampler_program sampler_program_alloc = {
    .check = uprobe_check,
    .load = load,
    .free = free_alloc,
    .start = start,
    .stop = stop,
    .filter_all = filter_all,
    .forget = forget,
    .stats = stats,
    .detach_by = detach_by,
};
