/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose calls are counted, and those that ask a C library for memory: sampler_alloc.h. */
#include "sample/sampler_alloc_impl.h"

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
    alloc_detach(a, c->probe);
    *c = (struct call_probe){ 0 };
    if (malloc && !has_mallocs(a, (int32_t)key))
        bpf_map_delete_elem(bpf_map__fd(a->skel->maps.mallocs), &key);
}

void alloc_drop_calls(struct sampler_alloc *a, uint32_t sets)
{
    for (size_t i = 0; i < ARRAY_SIZE(a->calls); i++) {
        if (a->calls[i].pid && sets & 1U << a->calls[i].set)
            drop_call(a, &a->calls[i]);
    }
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
            bpf_map_delete_elem(map, &key);
    }
}

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
    r = alloc_check_room(a, c->pid, /* count= */ 1, err);
    if (r < 0)
        return r;
    slot = (size_t)(free_one - a->calls);
    place.cookie = ALLOC_COOKIE(kind, slot, alloc_next_epoch(a));
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
    if (argument >= ALLOC_MALLOC_RESULT && has_place(a, &c))
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
        alloc_forget_blocks(a, set, pid);
    return 0;
}
