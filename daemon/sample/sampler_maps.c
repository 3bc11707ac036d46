/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the maps of the programs: filters, the unwinder's tables. Without programs, flamed walks
 * the stacks and holds all tables itself, except the rows.
 */
#include "sample/sampler_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int sampler_filter_process(struct sampler *s, int32_t pid, uint32_t sets)
{
    uint32_t key = (uint32_t)pid, before = 0;
    int map, r;

    if (pid <= 0 || sets >= 1U << SAMPLER_SETS_MAX)
        return -EINVAL;
    if (s->perf)
        return 0;
    map = bpf_map__fd(s->skel->maps.filters);
    bpf_map_lookup_elem(map, &key, &before);
    if (sets)
        r = bpf_map_update_elem(map, &key, &sets, BPF_ANY);
    else
        r = bpf_map_delete_elem(map, &key);
    if (r == 0)
        programs_filter_process(s, pid, before, sets);
    return r == -ENOENT && !sets ? 0 : r;
}

void sampler_budget(struct sampler *s, uint64_t ns)
{
    if (!s->perf)
        __atomic_store_n(&s->skel->data->budget_ns, ns, __ATOMIC_RELEASE);
}

int sampler_filter_all(struct sampler *s, uint32_t sets)
{
    if (sets >= 1U << SAMPLER_SETS_MAX)
        return -EINVAL;
    programs_filter_all(s, sets);
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

int sampler_put_process(struct sampler *s, int32_t pid, const struct unwind_process *p)
{
    uint32_t key = (uint32_t)pid;
    int map, r;

    if (pid <= 0)
        return -EINVAL;
    if (s->perf)
        return 0;
    map = bpf_map__fd(s->skel->maps.processes);
    if (p) {
        if (p->slot < s->last_slot)
            programs_forget(s);
        s->last_slot = p->slot;
        return bpf_map_update_elem(map, &key, p, BPF_ANY);
    }
    r = bpf_map_delete_elem(map, &key);
    return r == -ENOENT ? 0 : r;
}

/* Adds @n to the number of paths that the programs see. */
static int count_contexts(struct sampler *s, int32_t n)
{
    uint32_t zero = 0;

    s->contexts_put += (uint32_t)n;
    return bpf_map_update_elem(bpf_map__fd(s->skel->maps.contexts_put), &zero, &s->contexts_put,
                               BPF_ANY);
}

int sampler_put_context(struct sampler *s, int32_t pid, const struct context_path *path)
{
    uint32_t key = (uint32_t)pid;
    int map, r;

    if (pid <= 0)
        return -EINVAL;
    if (s->perf)
        return 0;
    map = bpf_map__fd(s->skel->maps.contexts);
    if (!path) {
        r = bpf_map_delete_elem(map, &key) ?: count_contexts(s, -1);
        return r == -ENOENT ? 0 : r;
    }
    r = bpf_map_update_elem(map, &key, path, BPF_NOEXIST) ?: count_contexts(s, 1);
    return r == -EEXIST ? bpf_map_update_elem(map, &key, path, BPF_EXIST) : r;
}

int sampler_put_thread(struct sampler *s, int32_t pid, int32_t tid, uint64_t java_thread)
{
    uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;

    if (pid <= 0 || tid <= 0)
        return -EINVAL;
    if (s->perf)
        return 0;
    return bpf_map_update_elem(bpf_map__fd(s->skel->maps.threads), &key, &java_thread, BPF_ANY);
}
