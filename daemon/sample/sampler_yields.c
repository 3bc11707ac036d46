/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler_yields.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "sample/program.h"
#include "sample/refusal.h"
#include "sample/uprobe_hook.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "yields.skel.h"

#define BATCH 4096 /* waits read at once */

/* A process with probes, by its slot. */
struct yields_target {
    int32_t pid;         /* 0: free */
    uint64_t owner;      /* proc_owner() */
    struct hook *probes; /* owned */
};

struct sampler_yields {
    struct yields_bpf *skel;
    struct yields_target targets[YIELDS_PROCESSES_MAX];
    uint32_t sets; /* bit set: sets that run */
    uint32_t epoch;
    struct hook_worker hooker;
    struct uprobe_way way;
    /* Scratch of each_waits(). */
    struct yields_key keys[BATCH];
    struct yields_wait waits[BATCH];
};

/* ---- waits ---- */

/* Calls @fn for each wait, in batches. 0; the first nonzero result of @fn; -errno. */
static int each_wait(struct sampler_yields *y,
                     int (*fn)(void *cookie, const struct yields_key *key,
                               const struct yields_wait *wait),
                     void *cookie)
{
    int map = bpf_map__fd(y->skel->maps.going), r = 0, k = 0;
    uint32_t at = 0, count;
    bool first = true;

    while (r == 0 && k == 0) {
        count = BATCH;
        r = bpf_map_lookup_batch(map, first ? NULL : &at, &at, y->keys, y->waits, &count, NULL);
        first = false;
        if (r < 0 && r != -ENOENT)
            return r;
        for (uint32_t i = 0; i < count && k == 0; i++)
            k = fn(cookie, &y->keys[i], &y->waits[i]);
    }
    return k;
}

struct forgetting {
    struct yields_bpf *skel;
    uint32_t slot;
};

static int forget_wait(void *cookie, const struct yields_key *key, const struct yields_wait *wait)
{
    const struct forgetting *f = cookie;

    if (key->slot != f->slot || bpf_map_delete_elem(bpf_map__fd(f->skel->maps.going), key) < 0)
        return 0;
    __atomic_fetch_sub(&f->skel->bss->waits_of_all, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&f->skel->bss->waits_of[wait->share % YIELDS_PROCESSES_MAX], 1,
                       __ATOMIC_RELAXED);
    return 0;
}

struct copying {
    uint32_t slot, epoch;
    struct yields_start *to;
    size_t max, count;
};

static int copy_wait(void *cookie, const struct yields_key *key, const struct yields_wait *wait)
{
    struct copying *c = cookie;

    if (key->slot != c->slot || key->epoch != c->epoch)
        return 0;
    if (c->count == c->max)
        return -E2BIG;
    c->to[c->count++] = (struct yields_start){ key->tid, *wait };
    return 0;
}

/* ---- targets ---- */

static void drop_target(struct sampler_yields *y, uint32_t slot)
{
    struct yields_target *t = &y->targets[slot];
    struct forgetting f = { y->skel, slot };

    if (!t->pid)
        return;
    __atomic_store_n(&y->skel->bss->slots[slot].epoch, 0, __ATOMIC_RELEASE);
    hook_drop(t->probes); /* from here on, the probes do nothing */
    *t = (struct yields_target){ 0 };
    each_wait(y, forget_wait, &f);
}

static void drop_targets(struct sampler_yields *y)
{
    for (uint32_t i = 0; i < YIELDS_PROCESSES_MAX; i++)
        drop_target(y, i);
}

/* Returns the slot of process @pid (0: a free slot), or -1 if there is none. */
static int slot_of(const struct sampler_yields *y, int32_t pid)
{
    for (int i = 0; i < YIELDS_PROCESSES_MAX; i++) {
        if (y->targets[i].pid == pid)
            return i;
    }
    return -1;
}

/* Returns the share of @owner: the share of its other JVMs, else an unused share. */
static uint32_t share_of(const struct sampler_yields *y, uint64_t owner)
{
    const struct yields_process *slots = y->skel->bss->slots;
    uint32_t taken = 0;

    _Static_assert(YIELDS_PROCESSES_MAX <= 32, "a bit for each share");
    for (uint32_t i = 0; i < YIELDS_PROCESSES_MAX; i++) {
        if (y->targets[i].pid && y->targets[i].owner == owner)
            return slots[i].share;
        taken |= y->targets[i].pid ? 1U << slots[i].share : 0;
    }
    return (uint32_t)__builtin_ctz(~taken); /* an unused share exists: the new JVM has got a slot,
                                             * and there are as many shares */
}

static size_t make_places(const struct yields_places *places, uint32_t slot, uint32_t epoch,
                          struct uprobe_place ret[YIELDS_KINDS])
{
    size_t n = 0;

    for (uint32_t i = 0; i < YIELDS_KINDS; i++) {
        if (places->at[i])
            ret[n++] = (struct uprobe_place){ places->at[i], YIELDS_COOKIE(i, slot, epoch) };
    }
    return n;
}

/* Returns the state of the probes in @slot. When they are in, sets since_ns: all later waits are
 * known. */
static int state_of(struct sampler_yields *y, uint32_t slot, struct error *err)
{
    struct yields_process *p = &y->skel->bss->slots[slot];
    int r = hook_state(y->targets[slot].probes, err);

    if (r == 0 && !p->since_ns)
        __atomic_store_n(&p->since_ns, clock_monotonic_ns(), __ATOMIC_RELEASE);
    return r;
}

int sampler_yields_probe(struct sampler_yields *y, const struct uprobe_target *target,
                         uint64_t owner, const struct yields_vm *vm,
                         const struct yields_places *places, struct error *err)
{
    struct uprobe_place at[YIELDS_KINDS];
    struct yields_process *p;
    int slot, r = 0;
    size_t n;

    if (target->pid <= 0 || !places->at[YIELDS_FREEZE] || !places->at[YIELDS_THAW])
        return -EINVAL;
    if (!y->sets)
        return error_set(err, -EAGAIN, "no set samples virtual threads by probes");
    slot = slot_of(y, target->pid);
    n = make_places(places, 0, 0, at);
    if (slot >= 0 && !uprobe_hook_is(y->targets[slot].probes, target, at, n))
        drop_target(y, (uint32_t)slot);
    if (slot < 0 || !y->targets[slot].pid) {
        slot = slot_of(y, 0);
        if (slot < 0)
            return error_set(err, -E2BIG, "%d processes have probes already", YIELDS_PROCESSES_MAX);
        p = &y->skel->bss->slots[slot];
        *p = (struct yields_process){ .vm = *vm, .share = share_of(y, owner) };
        __atomic_store_n(&p->epoch, ++y->epoch ? y->epoch : ++y->epoch, __ATOMIC_RELEASE);
        n = make_places(places, (uint32_t)slot, y->epoch, at);
        r = uprobe_hook(&y->hooker, &y->way, bpf_program__fd(y->skel->progs.yields_probe), target,
                        at, n, &y->targets[slot].probes);
        if (r < 0) {
            p->epoch = 0;
            return r;
        }
        y->targets[slot].pid = target->pid;
        y->targets[slot].owner = owner;
    }
    r = state_of(y, (uint32_t)slot, err);
    if (r < 0 && r != -EINPROGRESS)
        drop_target(y, (uint32_t)slot);
    return r;
}

int sampler_yields_unprobe(struct sampler_yields *y, int32_t pid)
{
    int slot = pid > 0 ? slot_of(y, pid) : -1;

    if (slot < 0)
        return -ENOENT;
    drop_target(y, (uint32_t)slot);
    return 0;
}

int sampler_yields_begun(struct sampler_yields *y, int32_t pid, struct error *err)
{
    int slot = pid > 0 ? slot_of(y, pid) : -1;

    return slot < 0 ? -ENOENT : state_of(y, (uint32_t)slot, err);
}

int sampler_yields_counts(struct sampler_yields *y, int32_t pid, struct yields_counts *ret)
{
    int slot = pid > 0 ? slot_of(y, pid) : -1;
    struct yields_process *p;

    if (slot < 0)
        return -ENOENT;
    p = &y->skel->bss->slots[slot];
    *ret = (struct yields_counts){ .hits = p->hits,
                                   .refused = p->refused,
                                   .missed = __atomic_exchange_n(&p->missed, 0, __ATOMIC_ACQ_REL) };
    if (ret->missed && p->since_ns)
        __atomic_store_n(&p->since_ns, clock_monotonic_ns(), __ATOMIC_RELEASE);
    return 0;
}

int sampler_yields_waits(struct sampler_yields *y, int32_t pid, struct yields_start *ret,
                         size_t max, size_t *ret_count)
{
    int slot = pid > 0 ? slot_of(y, pid) : -1, r;
    struct copying c = { .to = ret, .max = max };

    if (slot < 0)
        return -ENOENT;
    c.slot = (uint32_t)slot;
    c.epoch = y->skel->bss->slots[slot].epoch;
    r = each_wait(y, copy_wait, &c);
    *ret_count = c.count;
    return r;
}

/* ---- the program ---- */

/* Makes the map allocate all its entries if it cannot grow, and reduces their number. */
static int fit_map(const struct sampler_shared *shared, struct bpf_map *map)
{
    if (sampler_shared_grows(shared))
        return 0;
    return bpf_map__set_map_flags(map, 0)
               ?: bpf_map__set_max_entries(map, YIELDS_WAITS_PREALLOCATED);
}

static void free_yields(void *p)
{
    struct sampler_yields *y = p;

    if (y->skel)
        drop_targets(y);
    yields_bpf__destroy(y->skel);
    free(y);
}

static int load(const struct sampler_shared *shared, void **ret, struct error *err)
{
    struct sampler_yields *y = calloc(1, sizeof(*y));
    int r;

    if (!y)
        return -ENOMEM;
    r = uprobe_find_way(shared->pins_fd, &y->way, err);
    if (r < 0)
        goto fail;
    y->hooker = shared->hooker;
    refusal_watch();
    y->skel = yields_bpf__open();
    if (!y->skel) {
        r = refusal_explain(-errno, err);
        goto fail;
    }
    y->skel->rodata->pid_ns_inum = shared->pid_ns_inum;
    y->skel->rodata->max_words = shared->max_words;
    y->skel->rodata->waits_max =
        sampler_shared_grows(shared) ? YIELDS_WAITS_MAX : YIELDS_WAITS_PREALLOCATED;
    uprobe_prepare(&y->way, y->skel->progs.yields_probe);
    r = fit_map(shared, y->skel->maps.going) ?: sampler_shared_use(shared, y->skel->obj) ?:
        yields_bpf__load(y->skel);
    if (r < 0) {
        r = refusal_explain(r, err);
        goto fail;
    }
    *ret = y;
    return 0;
fail:
    free_yields(y);
    return r;
}

static int start(void *p, uint32_t set, const struct sampler_event *event, uint64_t interval_ns,
                 struct error *err)
{
    struct sampler_yields *y = p;

    (void)err;
    if (event->info->kind == EVENT_LOCK)
        __atomic_or_fetch(&y->skel->bss->lock_sets, 1U << set, __ATOMIC_RELEASE);
    __atomic_store_n(&y->skel->bss->intervals[set], interval_ns, __ATOMIC_RELEASE);
    y->sets |= 1U << set;
    return 0;
}

/* Stops a set. The end of the last set removes all probes. */
static void stop(void *p, uint32_t set)
{
    struct sampler_yields *y = p;

    y->sets &= ~(1U << set);
    __atomic_store_n(&y->skel->bss->intervals[set], 0, __ATOMIC_RELEASE);
    __atomic_and_fetch(&y->skel->bss->lock_sets, ~(1U << set), __ATOMIC_RELEASE);
    if (!y->sets)
        drop_targets(y);
}

static struct sampler_memory memory(const void *p)
{
    return SAMPLER_MEMORY(((const struct sampler_yields *)p)->skel);
}

const struct sampler_program sampler_program_yields = {
    .check = uprobe_check,
    .load = load,
    .free = free_yields,
    .start = start,
    .stop = stop,
    .memory = memory,
};
