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

/*
 * The kernel does not say which iterators are open, but each keeps its program loaded. So a
 * program makes a fixed number of iterators. Then it is replaced by a copy, but only if the program
 * before it is gone, and so all its iterators are closed. The skeleton's own program makes none.
 */
struct sampler_looks {
    struct looks_bpf *skel;
    uint32_t iterator; /* id of the type of iterators over threads in the kernel's BTF */
    int program, link; /* -1: none yet */
    uint32_t opened;   /* iterators of this program */
    uint32_t before;   /* id of the program before; 0: none */
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
    close_fd(l->link);
    close_fd(l->program);
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
    l->program = l->link = -1;
    l->opened = SAMPLER_LOOKS_MAX;
    refusal_watch();
    l->skel = looks_bpf__open();
    if (!l->skel)
        return refusal_explain(-errno, err);
    l->skel->rodata->pid_ns_inum = shared->pid_ns_inum;
    r = looks_bpf__load(l->skel);
    if (r < 0)
        return refusal_explain(r, err);
    r = libbpf_find_vmlinux_btf_id("task", BPF_TRACE_ITER);
    if (r < 0)
        return error_code(err, r, "cannot find the iterator over threads");
    l->iterator = (uint32_t)r;
    *ret = TAKE_PTR(l);
    return 0;
}

/* Returns whether the program @id is still loaded; true if that is not known. */
static bool is_loaded(uint32_t id)
{
    _cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);

    return fd >= 0 || errno != ENOENT;
}

/* Loads a copy of the skeleton's program and attaches it. 0, or -errno with @err. */
static int copy_program(const struct sampler_looks *l, int *ret_program, int *ret_link,
                        struct error *err)
{
    LIBBPF_OPTS(bpf_prog_load_opts, how, .expected_attach_type = BPF_TRACE_ITER,
                .attach_btf_id = l->iterator);
    const struct bpf_program *from = l->skel->progs.looks_thread;
    _cleanup_close_ int program =
        bpf_prog_load(BPF_PROG_TYPE_TRACING, bpf_program__name(from), "Dual BSD/GPL",
                      bpf_program__insns(from), bpf_program__insn_cnt(from), &how);
    int link;

    if (program < 0)
        return error_errno(err, "cannot load the program that looks at threads again");
    link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);
    if (link < 0)
        return error_errno(err, "cannot attach the iterator over threads");
    *ret_program = take_fd(&program);
    *ret_link = link;
    return 0;
}

/* Makes a program that may make iterators. 0, or -errno with @err. */
static int renew(struct sampler_looks *l, struct error *err)
{
    struct bpf_prog_info info = { 0 };
    uint32_t bytes = sizeof(info);
    int program = -1, link = -1, r;

    if (l->opened < SAMPLER_LOOKS_MAX)
        return 0;
    if (l->before && is_loaded(l->before)) {
        error_set(err, -EDQUOT, "flamed keeps passes over threads open from before the last %d",
                  SAMPLER_LOOKS_MAX);
        error_remedy(err, "restart flamed if this stays");
        return -EDQUOT;
    }
    if (l->program >= 0 && bpf_obj_get_info_by_fd(l->program, &info, &bytes) < 0)
        return error_errno(err, "cannot find the id of a BPF program");
    r = copy_program(l, &program, &link, err);
    if (r < 0)
        return r;
    close_fd(l->link);
    close_fd(l->program);
    l->program = program;
    l->link = link;
    l->opened = 0;
    l->before = info.id;
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

int sampler_looks_open(struct sampler_looks *l, const struct looks_pass *pass, int *ret_fd,
                       struct error *err)
{
    int fd, r = renew(l, err);

    if (r < 0)
        return r;
    fd = bpf_iter_create(l->link);
    if (fd < 0)
        return error_code(err, -errno, "cannot open the iterator over threads");
    l->opened++;
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
