/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all probes of sampler_alloc.h: their epochs, and their number in a process. */
#include "sample/sampler_alloc_impl.h"

static size_t probes_among(const struct alloc_targets *of, int32_t pid)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(of->all); i++)
        n += of->all[i].pid == pid ? uprobe_hook_count(of->all[i].probes) : 0;
    return n;
}

uint32_t alloc_next_epoch(struct sampler_alloc *a)
{
    a->epoch += a->epoch == UINT32_MAX ? 2 : 1;
    return a->epoch;
}

/* Returns the number of probes in process @pid. */
static size_t probes_of(const struct sampler_alloc *a, int32_t pid)
{
    size_t n = probes_among(&a->vms, pid) + probes_among(&a->agents, pid);

    for (size_t i = 0; i < ARRAY_SIZE(a->calls); i++)
        n += a->calls[i].pid == pid;
    return n;
}

int alloc_check_room(const struct sampler_alloc *a, int32_t pid, size_t count, struct error *err)
{
    if (probes_of(a, pid) + count <= ALLOC_TARGET_MAX)
        return 0;
    error_remedy(err, "wait until another capture of it has ended");
    return error_set(err, -E2BIG, "process %d has %zu probes already, and one may have %d at most",
                     pid, probes_of(a, pid), ALLOC_TARGET_MAX);
}

static int state_among(const struct alloc_targets *of, int32_t pid, struct error *err)
{
    struct error why = ERROR_NULL;
    int r = -ENOENT;

    for (size_t i = 0; i < ARRAY_SIZE(of->all); i++) {
        if (of->all[i].pid == pid)
            r = hook_and(r, hook_state(of->all[i].probes, &why), &why, err);
    }
    return r;
}

int sampler_alloc_begun(const struct sampler_alloc *a, int32_t pid, struct error *err)
{
    struct error why = ERROR_NULL;
    int r = state_among(&a->vms, pid, err);

    r = hook_and(r, state_among(&a->agents, pid, &why), &why, err);
    for (size_t i = 0; i < ARRAY_SIZE(a->calls); i++) {
        if (a->calls[i].pid == pid)
            r = hook_and(r, hook_state(a->calls[i].probe, &why), &why, err);
    }
    return r;
}
