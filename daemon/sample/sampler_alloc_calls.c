/* SPDX-License-Identifier: Apache-2.0 */
/* Counted functions, and functions that request memory from a C library: sampler_alloc.h. */
#include "base/list.h"
#include "sample/sampler_alloc_impl.h"

static bool has_mallocs(const struct sampler_alloc *a, int32_t pid)
{
    return ANY_OF(i, ARRAY_SIZE(a->calls), a->calls[i].pid == pid && a->calls[i].malloc);
}

/* Returns the slot of process @pid; 0: a free one. -1: none. */
static int malloc_slot(const struct sampler_alloc *a, int32_t pid)
{
    for (size_t i = 0; i < ARRAY_SIZE(a->malloc_pids); i++) {
        if (a->malloc_pids[i] == pid)
            return (int)i;
    }
    return -1;
}

/* Lets the program count the malloc calls of process @pid, unless it already does. 0 or -E2BIG with
 * @err. */
static int begin_mallocs(struct sampler_alloc *a, int32_t pid, struct error *err)
{
    int slot = malloc_slot(a, /* pid= */ 0);
    const struct alloc_mallocs none = { .slot = (uint32_t)slot };
    uint32_t key = (uint32_t)pid;

    if (malloc_slot(a, pid) >= 0)
        return 0;
    if (slot < 0 ||
        bpf_map_update_elem(bpf_map__fd(a->skel->maps.mallocs), &key, &none, BPF_ANY) < 0)
        return error_set(err, -E2BIG, "%d processes have probes already", ALLOC_PROCESSES_MAX);
    __atomic_store_n(&a->skel->bss->blocks_of[slot], 0, __ATOMIC_RELEASE);
    a->malloc_pids[slot] = pid;
    return 0;
}

/* Ends counting for process @pid if no probe of its functions is left. */
static void end_mallocs(struct sampler_alloc *a, int32_t pid)
{
    int slot = malloc_slot(a, pid);
    uint32_t key = (uint32_t)pid;

    if (slot < 0 || has_mallocs(a, pid))
        return;
    bpf_map_delete_elem(bpf_map__fd(a->skel->maps.mallocs), &key);
    a->malloc_pids[slot] = 0;
}

/* Drops a probe. It counts nothing from here on, even before it is removed. */
static void drop_call(struct sampler_alloc *a, struct call_probe *c)
{
    int32_t pid = c->pid;
    bool malloc = c->malloc;

    __atomic_store_n(&a->skel->bss->call_epochs[c - a->calls], 0, __ATOMIC_RELEASE);
    hook_drop(c->probe);
    *c = (struct call_probe){ 0 };
    if (malloc)
        end_mallocs(a, pid);
}

void alloc_drop_calls(struct sampler_alloc *a, uint32_t sets)
{
    for (size_t i = 0; i < ARRAY_SIZE(a->calls); i++) {
        if (a->calls[i].pid && sets & 1U << a->calls[i].set)
            drop_call(a, &a->calls[i]);
    }
}

/* Forgets a block that the program tracks, and subtracts it from the counts of tracked blocks. */
static void forget_block(struct sampler_alloc *a, const struct alloc_block *key)
{
    int slot = malloc_slot(a, (int32_t)key->host_pid);

    if (bpf_map_delete_elem(bpf_map__fd(a->skel->maps.live_blocks), key) < 0)
        return;
    __atomic_sub_fetch(&a->skel->bss->blocks_of_all, 1, __ATOMIC_RELAXED);
    if (slot >= 0)
        __atomic_sub_fetch(&a->skel->bss->blocks_of[slot], 1, __ATOMIC_RELAXED);
}

void alloc_forget_blocks(struct sampler_alloc *a, uint32_t set, int32_t pid)
{
    int map = bpf_map__fd(a->skel->maps.live_blocks);
    struct alloc_block key, next;
    int r = bpf_map_get_next_key(map, NULL, &next);

    for (uint32_t i = 0; r == 0 && i < ALLOC_BLOCKS_MAX; i++) {
        key = next;
        r = bpf_map_get_next_key(map, &key, &next);
        if (key.set == set && (!pid || key.host_pid == (uint32_t)pid))
            forget_block(a, &key);
    }
}

/* Finds a probe of process @pid and set @set. @pid 0: a free entry. */
static struct call_probe *find_call(struct sampler_alloc *a, int32_t pid, uint32_t set)
{
    return FIRST_OF(i, a->calls, ARRAY_SIZE(a->calls),
                    a->calls[i].pid == pid && a->calls[i].set == set);
}

/* Finds the probe of @c's process and set at @offset of @target. NULL: none. */
static struct call_probe *find_place(struct sampler_alloc *a, const struct call_probe *c,
                                     const struct uprobe_target *target, uint64_t offset)
{
    const struct uprobe_place place = { .offset = offset };

    return FIRST_OF(i, a->calls, ARRAY_SIZE(a->calls),
                    a->calls[i].pid == c->pid && a->calls[i].set == c->set &&
                        uprobe_hook_is(a->calls[i].probe, target, &place, 1));
}

/* Puts the probe of @c at @offset of @target, for @kind. 0 and *ret. */
static int add_call(struct sampler_alloc *a, const struct call_probe *c,
                    const struct uprobe_target *target, uint64_t offset, uint32_t kind,
                    struct call_probe **ret, struct error *err)
{
    struct call_probe *free_one = find_call(a, /* pid= */ 0, /* set= */ 0);
    const struct bpf_program *program =
        a->block_sets & 1U << c->set ? a->skel->progs.block_probe : a->skel->progs.alloc_probe;
    struct uprobe_place place = { .offset = offset };
    size_t slot;
    int r;

    if (!(a->call_sets & 1U << c->set))
        return error_set(err, -EAGAIN, "no set of calls of that number runs");
    if (!free_one)
        return error_set(err, -E2BIG, "functions are probed at %d places already", ALLOC_CALLS_MAX);
    r = alloc_check_room(a, c->pid, /* count= */ 1, err);
    if (r < 0)
        return r;
    slot = (size_t)(free_one - a->calls);
    place.cookie = ALLOC_COOKIE(kind, slot, alloc_next_epoch(a));
    __atomic_store_n(&a->skel->bss->call_epochs[slot], a->epoch, __ATOMIC_RELEASE);
    *free_one = *c;
    r = uprobe_hook(&a->hooker, &a->way, bpf_program__fd(program), target, &place, 1,
                    &free_one->probe);
    if (r < 0)
        drop_call(a, free_one);
    else
        *ret = free_one;
    return r;
}

/* Returns the state of @c, and drops it if it failed. */
static int call_state(struct sampler_alloc *a, struct call_probe *c, struct error *err)
{
    int r = hook_state(c->probe, err);

    if (r < 0 && r != -EINPROGRESS)
        drop_call(a, c);
    return r;
}

int sampler_alloc_call(struct sampler_alloc *a, const struct uprobe_target *target, uint32_t set,
                       uint64_t offset, struct error *err)
{
    const struct call_probe c = { .pid = target->pid, .set = set };
    struct call_probe *at, *old;
    int r;

    if (c.pid <= 0 || set >= STACK_SETS_MAX)
        return -EINVAL;
    at = find_place(a, &c, target, offset);
    if (at)
        return call_state(a, at, err);
    old = find_call(a, c.pid, set);
    if (old && a->call_sets & 1U << set) /* otherwise the calls of both functions would count */
        drop_call(a, old);
    r = add_call(a, &c, target, offset, ALLOC_CALL + set, &at, err);
    return r < 0 ? r : call_state(a, at, err);
}

int sampler_alloc_malloc(struct sampler_alloc *a, const struct uprobe_target *target, uint32_t set,
                         uint64_t offset, enum alloc_malloc argument, struct error *err)
{
    const struct call_probe c = { .pid = target->pid, .set = set, .malloc = true };
    struct call_probe *at;
    int r;

    if (c.pid <= 0 || set >= STACK_SETS_MAX || argument >= ALLOC_MALLOC_KINDS ||
        (argument >= ALLOC_MALLOC_FREE && !(a->block_sets & 1U << set)))
        return -EINVAL;
    at = find_place(a, &c, target, offset);
    if (at)
        return call_state(a, at, err);
    r = begin_mallocs(a, c.pid, err);
    if (r < 0)
        return r;
    r = add_call(a, &c, target, offset, ALLOC_MALLOC + set * ALLOC_MALLOC_KINDS + argument, &at,
                 err);
    if (r < 0)
        end_mallocs(a, c.pid);
    return r < 0 ? r : call_state(a, at, err);
}

int sampler_alloc_unmalloc(struct sampler_alloc *a, const struct uprobe_target *target,
                           uint32_t set, uint64_t offset)
{
    const struct call_probe c = { .pid = target->pid, .set = set, .malloc = true };
    struct call_probe *at = c.pid > 0 ? find_place(a, &c, target, offset) : NULL;

    if (!at)
        return -ENOENT;
    drop_call(a, at);
    return 0;
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
    if (a->block_sets & 1U << set) /* otherwise blocks of an ended process keep using room */
        alloc_forget_blocks(a, set, pid);
    return 0;
}
