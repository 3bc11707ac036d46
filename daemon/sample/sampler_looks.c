/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler_looks.h"

#include "base/cleanup.h"
#include "base/old_kernel.h"
#include "sample/program.h"
#include "sample/refusal.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "looks.skel.h"

struct sampler_looks {
    struct looks_bpf *skel;
    struct bpf_link *iterator;
};

bool sampler_looks_iterate(void)
{
    struct btf *btf = old_kernel_pretended("task_iterator") ? NULL : btf__load_vmlinux_btf();
    bool can = btf && btf__find_by_name_kind(btf, "bpf_iter__task", BTF_KIND_STRUCT) > 0;

    btf__free(btf);
    return can;
}

static int check(struct error *err)
{
    if (sampler_looks_iterate())
        return 0;
    error_set(err, -EOPNOTSUPP,
              "this kernel has no BPF iterator over threads, so the flight recorder does not look "
              "at threads that wait");
    error_remedy(err, "run Linux 5.15 or later, or set recorder_waits to no");
    return -EOPNOTSUPP;
}

static void free_looks(void *p)
{
    struct sampler_looks *l = p;

    if (!l)
        return;
    bpf_link__destroy(l->iterator);
    looks_bpf__destroy(l->skel);
    free(l);
}

CLEANUP_FUNCTION(looks_freep, sampler_looks, free_looks)

static int load(const struct sampler_shared *shared, void **ret, struct error *err)
{
    _cleanup_(looks_freep) struct sampler_looks *l = calloc(1, sizeof(*l));
    int r;

    if (!l)
        return -ENOMEM;
    refusal_watch();
    l->skel = looks_bpf__open();
    if (!l->skel)
        return refusal_explain(-errno, err);
    l->skel->rodata->pid_ns_inum = shared->pid_ns_inum;
    r = looks_bpf__load(l->skel);
    if (r < 0)
        return refusal_explain(r, err);
    l->iterator = bpf_program__attach_iter(l->skel->progs.looks_thread, NULL);
    if (!l->iterator)
        return error_errno(err, "cannot attach the iterator over threads");
    *ret = TAKE_PTR(l);
    return 0;
}

int sampler_looks_process(struct sampler_looks *l, int32_t pid, uint32_t epoch)
{
    int map = bpf_map__fd(l->skel->maps.looked_processes), r;
    uint32_t key = (uint32_t)pid;

    if (pid <= 0)
        return -EINVAL;
    if (epoch)
        return bpf_map_update_elem(map, &key, &epoch, BPF_ANY);
    r = bpf_map_delete_elem(map, &key);
    return r == -ENOENT ? 0 : r;
}

int sampler_looks_open(struct sampler_looks *l, const struct looks_pass *pass, int *ret_fd)
{
    int fd = bpf_iter_create(bpf_link__fd(l->iterator));

    if (fd < 0)
        return fd;
    l->skel->bss->pass = *pass;
    l->skel->bss->last_tgid = l->skel->bss->last_epoch = 0;
    l->skel->bss->until_ns = 0;
    *ret_fd = fd;
    return 0;
}

const struct sampler_program sampler_program_looks = {
    .check = check,
    .load = load,
    .free = free_looks,
};
