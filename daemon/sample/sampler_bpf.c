/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads cpu.bpf.c. All kernel objects of ours are fds of this process, so any end of the process
 * ends the sampling.
 */
#include "base/cleanup.h"
#include "base/old_kernel.h"
#include "sample/refusal.h"
#include "sample/sampler_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Returns true if a program in an interrupt may use a hash map that allocates as it grows: from
 * Linux 6.1 on (and in older kernels where a distribution backported it). */
static bool maps_may_grow(void)
{
    LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
    _cleanup_close_ int map = -1, program = -1;
    struct bpf_insn code[] = {
        /* NOLINTNEXTLINE(misc-redundant-expression): parts of a code, two of them 0 */
        { .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_FD },
        { 0 },
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
        { .code = BPF_JMP | BPF_EXIT },
    };

    if (old_kernel_pretended("preallocate"))
        return false;
    map = bpf_map_create(BPF_MAP_TYPE_HASH, "flamed_grows", sizeof(uint32_t), sizeof(uint32_t), 1,
                         &opts);
    if (map < 0)
        return true; /* the creation of the maps then reports the reason */
    code[0].imm = map;
    program = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "flamed_grows", "Dual BSD/GPL", code,
                            ARRAY_SIZE(code), NULL);
    return program >= 0;
}

/* Makes maps that cannot grow allocate all their entries, and reduces the number of entries. */
static int fit_maps(struct cpu_bpf *skel)
{
    if (maps_may_grow())
        return 0;
    return bpf_map__set_map_flags(skel->maps.processes, 0) ?:
           bpf_map__set_map_flags(skel->maps.filters, 0) ?:
           bpf_map__set_map_flags(skel->maps.contexts, 0) ?:
           bpf_map__set_max_entries(skel->maps.contexts, STACK_CONTEXTS_PREALLOCATED) ?:
           bpf_map__set_max_entries(skel->maps.processes, STACK_PROCESSES_PREALLOCATED) ?:
           bpf_map__set_max_entries(skel->maps.filters, STACK_FILTERS_PREALLOCATED);
}

/* Maps the memory of @fd; NULL with @err. */
static void *map_memory(int fd, size_t bytes, struct error *err)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, /* offset= */ 0);

    if (p != MAP_FAILED)
        return p;
    error_errno(err, "cannot map the unwinder's tables");
    return NULL;
}

CLEANUP_FUNCTION(sampler_freep, sampler, sampler_free)

int sampler_new(int pid_ns_fd, size_t ring_bytes, uint32_t max_frames, struct sampler **ret,
                struct error *err)
{
    _cleanup_(sampler_freep) struct sampler *s = NULL;
    struct stat st = { 0 };
    int r;

    if (max_frames < SAMPLE_USER_MIN || max_frames > SAMPLE_USER_MAX)
        return error_set(err, -EINVAL, "stacks have %d to %d frames", SAMPLE_USER_MIN,
                         SAMPLE_USER_MAX);
    s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    if (pid_ns_fd >= 0 && fstat(pid_ns_fd, &st) < 0)
        return error_errno(err, "cannot read the identity of the pid namespace");
    refusal_watch();
    r = libbpf_num_possible_cpus();
    if (r < 0)
        return error_code(err, r, "cannot read the number of CPUs");
    s->loaded[PROGRAM_CPU] = s->skel = cpu_bpf__open();
    if (!s->skel)
        return refusal_explain(-errno, err);
    bpf_program__set_autoload(s->skel->progs.point_tick, false);
    s->skel->rodata->pid_ns_inum = (uint32_t)st.st_ino;
    s->skel->rodata->max_words = max_frames;
    s->ring_bytes = ring_bytes;
    r = bpf_map__set_max_entries(s->skel->maps.ring, (uint32_t)ring_bytes) ?:
        bpf_map__set_max_entries(s->skel->maps.rows, SAMPLER_ROWS_MAX) ?: fit_maps(s->skel) ?:
        cpu_bpf__load(s->skel);
    if (r < 0)
        return refusal_explain(r, err);
    s->rows_fd = bpf_map__fd(s->skel->maps.rows);
    s->rows = map_memory(s->rows_fd, SAMPLER_ROWS_MAX * sizeof(*s->rows), err);
    if (!s->rows)
        return -errno;
    *ret = TAKE_PTR(s);
    return 0;
}

int sampler_new_perf(int rows_fd, const struct error *why, struct sampler **ret, struct error *err)
{
    struct sampler *s = calloc(1, sizeof(*s));
    int r;

    if (!s) {
        close(rows_fd);
        return -ENOMEM;
    }
    s->rows_fd = rows_fd;
    r = perf_home_new(why, &s->perf, err);
    if (r == 0) {
        s->rows = map_memory(rows_fd, SAMPLER_ROWS_MAX * sizeof(*s->rows), err);
        r = s->rows ? 0 : -errno;
    }
    if (r < 0) {
        if (!s->perf)
            close(rows_fd);
        sampler_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

const struct error *sampler_without_bpf(const struct sampler *s)
{
    return s->perf ? perf_home_why(s->perf) : NULL;
}

int sampler_perf_ring(const struct sampler *s, size_t i, size_t *ret_bytes)
{
    if (!s->perf)
        return -ENOENT;
    *ret_bytes = perf_home_ring_bytes(s->perf);
    return perf_home_ring(s->perf, i);
}

int sampler_check_rings(const struct sampler *s, struct error *err)
{
    const struct error *problem = s->perf ? perf_home_problem(s->perf) : NULL;

    if (problem && problem->code && err)
        *err = *problem;
    return problem ? problem->code : 0;
}

int sampler_check_home(const struct sampler *s, const struct sampler_event *event,
                       struct error *err)
{
    return s && s->perf ? perf_home_check(s->perf, event, /* period= */ 0, err) : 0;
}

struct sampler *sampler_free(struct sampler *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < SAMPLER_SETS_MAX; i++)
        sampler_set_disarm(&s->sets[i]);
    if (s->rows)
        munmap(s->rows, SAMPLER_ROWS_MAX * sizeof(*s->rows));
    programs_free(s);
    if (s->perf)
        close(s->rows_fd);
    perf_home_free(s->perf);
    free(s);
    return NULL;
}

void sampler_hook_by(struct sampler *s, struct hook_worker worker)
{
    s->hooker = worker;
}

uint32_t sampler_processes_max(const struct sampler *s)
{
    return s->perf ? STACK_PROCESSES_MAX : bpf_map__max_entries(s->skel->maps.processes);
}

int sampler_ring_fd(const struct sampler *s, size_t *ret_bytes)
{
    *ret_bytes = s->ring_bytes;
    return s->perf ? -1 : bpf_map__fd(s->skel->maps.ring);
}

int sampler_rows_fd(const struct sampler *s)
{
    return s->rows_fd;
}

int sampler_share(const struct sampler *s, struct sampler_shared *ret)
{
    int r = sampler_shared_copy(s->skel->obj, ret);

    ret->pid_ns_inum = s->skel->rodata->pid_ns_inum;
    ret->max_words = s->skel->rodata->max_words;
    ret->hooker = s->hooker;
    return r;
}
