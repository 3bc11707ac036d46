/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/tables.h"

#include "base/clock.h"
#include "base/old_kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "tables.skel.h"
#include "tables_probe.skel.h"

#define RUN_NS (5 * NSEC_PER_MSEC) /* limit of a run, which the kernel does not interrupt */

struct tables {
    struct tables_bpf *skel; /* one of these two is loaded, the other is NULL */
    struct tables_probe_bpf *probe_skel;
    struct tables_run *run;
    int walk_fd; /* program, borrowed */
};

static bool load(struct tables *t, uint32_t pid_ns_inum)
{
    t->skel = old_kernel_pretended("tables-cast") ? NULL : tables_bpf__open();
    if (!t->skel)
        return false;
    t->skel->rodata->pid_ns_inum = pid_ns_inum;
    if (tables_bpf__load(t->skel) < 0) {
        tables_bpf__destroy(t->skel);
        t->skel = NULL;
        return false;
    }
    t->run = &t->skel->bss->run;
    t->walk_fd = bpf_program__fd(t->skel->progs.walk_tables);
    return true;
}

static bool load_probe(struct tables *t, uint32_t pid_ns_inum)
{
    t->probe_skel = tables_probe_bpf__open();
    if (!t->probe_skel)
        return false;
    t->probe_skel->rodata->pid_ns_inum = pid_ns_inum;
    if (tables_probe_bpf__load(t->probe_skel) < 0)
        return false;
    t->run = &t->probe_skel->bss->run;
    t->walk_fd = bpf_program__fd(t->probe_skel->progs.walk_tables);
    return true;
}

struct tables *tables_new(uint32_t pid_ns_inum)
{
    struct tables *t = old_kernel_pretended("tables") ? NULL : calloc(1, sizeof(*t));

    if (t && !load(t, pid_ns_inum) && !load_probe(t, pid_ns_inum))
        t = tables_free(t);
    return t;
}

struct tables *tables_free(struct tables *t)
{
    if (t) {
        tables_bpf__destroy(t->skel);
        tables_probe_bpf__destroy(t->probe_skel);
        free(t);
    }
    return NULL;
}

const struct holders_socket *tables_find(struct tables *t, const uint64_t *keys, size_t n)
{
    LIBBPF_OPTS(bpf_test_run_opts, opts);

    memset(t->run, 0, sizeof(*t->run));
    for (size_t i = 0; i < n; i++)
        t->run->sockets[i].key = keys[i];
    t->run->end_ns = clock_monotonic_ns() + RUN_NS;
    return bpf_prog_test_run_opts(t->walk_fd, &opts) == 0 && t->run->whole ? t->run->sockets : NULL;
}
