/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads cpu.bpf.c, and calls the further functions of single programs. All kernel objects of ours
 * are fds of this process, so any end of the process ends the sampling.
 */
#include "base/cleanup.h"
#include "base/old_kernel.h"
#include "sample/refusal.h"
#include "sample/sampler_alloc.h"
#include "sample/sampler_impl.h"
#include "sample/sampler_looks.h"
#include "sample/sampler_moments.h"
#include "sample/sampler_off.h"
#include "sample/sampler_yields.h"

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
        return true; /* then creating the maps reports why */
    code[0].imm = map;
    program = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "flamed_grows", "Dual BSD/GPL", code,
                            ARRAY_SIZE(code), NULL);
    return program >= 0;
}

/* Has maps that cannot grow allocate all their entries, and reduces their number. */
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

/* ---- what single programs do besides; NULL: that one is not loaded ---- */

static struct sampler_off *off_of(const struct sampler *s)
{
    return s->loaded[PROGRAM_OFF];
}

static struct sampler_alloc *alloc_of(const struct sampler *s)
{
    return s->loaded[PROGRAM_ALLOC];
}

static struct sampler_moments *moments_of(const struct sampler *s)
{
    return s->loaded[PROGRAM_MOMENTS];
}

int sampler_probe(struct sampler *s, const struct uprobe_target *target, const struct alloc_vm *vm,
                  const struct alloc_probe *probes, size_t count, struct error *err)
{
    int r =
        alloc_of(s) ? sampler_alloc_probe(alloc_of(s), target, vm, probes, count, err) : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set of event alloc runs") : r;
}

int sampler_unprobe(struct sampler *s, int32_t pid)
{
    return alloc_of(s) ? sampler_alloc_unprobe(alloc_of(s), pid) : -ENOENT;
}

int sampler_by_agents(struct sampler *s, uint32_t set)
{
    return alloc_of(s) ? sampler_alloc_by_agents(alloc_of(s), set) : -ENOENT;
}

int sampler_agent(struct sampler *s, const struct uprobe_target *target, uint32_t class_klass,
                  uint64_t collections, uint64_t offset, struct error *err)
{
    int r = alloc_of(s)
                ? sampler_alloc_agent(alloc_of(s), target, class_klass, collections, offset, err)
                : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set takes what agents report") : r;
}

int sampler_unagent(struct sampler *s, int32_t pid)
{
    return alloc_of(s) ? sampler_alloc_unagent(alloc_of(s), pid) : -ENOENT;
}

int sampler_probe_moments(struct sampler *s, const struct uprobe_target *target,
                          const struct moment_thread *thread, const struct moment_probe *probes,
                          size_t count, struct error *err)
{
    int r = moments_of(s) ? sampler_moments_probe(moments_of(s), target, thread, probes, count, err)
                          : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set of event safepoint runs") : r;
}

int sampler_unprobe_moments(struct sampler *s, int32_t pid, uint32_t groups)
{
    return moments_of(s) ? sampler_moments_unprobe(moments_of(s), pid, groups) : -ENOENT;
}

int sampler_moments_fd(const struct sampler *s)
{
    return moments_of(s) ? sampler_moments_ring_fd(moments_of(s)) : -1;
}

static struct sampler_yields *yields_of(const struct sampler *s)
{
    return s->loaded[PROGRAM_YIELDS];
}

int sampler_probe_yields(struct sampler *s, const struct uprobe_target *target,
                         const struct yields_vm *vm, const struct yields_places *places,
                         struct error *err)
{
    int r = yields_of(s) ? sampler_yields_probe(yields_of(s), target, vm, places, err) : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set samples virtual threads by probes") : r;
}

int sampler_unprobe_yields(struct sampler *s, int32_t pid)
{
    return yields_of(s) ? sampler_yields_unprobe(yields_of(s), pid) : -ENOENT;
}

int sampler_hits_of_yields(struct sampler *s, int32_t pid, uint64_t *ret_hits, bool *ret_missed)
{
    return yields_of(s) ? sampler_yields_hits(yields_of(s), pid, ret_hits, ret_missed) : -ENOENT;
}

int sampler_waits_of_yields(struct sampler *s, int32_t pid, struct yields_start *ret, size_t max,
                            size_t *ret_count)
{
    return yields_of(s) ? sampler_yields_waits(yields_of(s), pid, ret, max, ret_count) : -ENOENT;
}

int sampler_call(struct sampler *s, const struct uprobe_target *target, uint32_t set,
                 uint64_t offset, struct error *err)
{
    int r = alloc_of(s) ? sampler_alloc_call(alloc_of(s), target, set, offset, err) : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set of calls of that number runs") : r;
}

int sampler_malloc(struct sampler *s, const struct uprobe_target *target, uint32_t set,
                   uint64_t offset, uint32_t argument, struct error *err)
{
    int r = alloc_of(s) ? sampler_alloc_malloc(alloc_of(s), target, set, offset,
                                               (enum alloc_malloc)argument, err)
                        : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set of calls of that number runs") : r;
}

int sampler_unmalloc(struct sampler *s, const struct uprobe_target *target, uint32_t set,
                     uint64_t offset)
{
    return alloc_of(s) ? sampler_alloc_unmalloc(alloc_of(s), target, set, offset) : -ENOENT;
}

int sampler_mallocs(const struct sampler *s, int32_t pid, uint64_t *ret)
{
    return alloc_of(s) ? sampler_alloc_mallocs(alloc_of(s), pid, ret) : -ENOENT;
}

int sampler_uncall(struct sampler *s, int32_t pid, uint32_t set)
{
    return alloc_of(s) ? sampler_alloc_uncall(alloc_of(s), pid, set) : -ENOENT;
}

int sampler_probes_begun(const struct sampler *s, int32_t pid, struct error *err)
{
    struct error why = ERROR_NULL;
    int r = -ENOENT;

    if (pid <= 0)
        return r;
    if (alloc_of(s))
        r = sampler_alloc_begun(alloc_of(s), pid, err);
    if (moments_of(s))
        r = hook_and(r, sampler_moments_begun(moments_of(s), pid, &why), &why, err);
    if (yields_of(s))
        r = hook_and(r, sampler_yields_begun(yields_of(s), pid, &why), &why, err);
    return r;
}

int sampler_flush(struct sampler *s, uint32_t set, uint32_t *ret_no, uint64_t *ret_late)
{
    return off_of(s) ? sampler_off_flush(off_of(s), set, ret_no, ret_late) : -ENOENT;
}

int sampler_lates(struct sampler *s, uint32_t set)
{
    return off_of(s) ? sampler_off_lates(off_of(s), set) : -ENOENT;
}

static struct sampler_looks *looks_of(const struct sampler *s)
{
    return s->loaded[PROGRAM_LOOKS];
}

int sampler_look(struct sampler *s, const struct looks_pass *pass, int *ret_fd)
{
    return looks_of(s) ? sampler_looks_open(looks_of(s), pass, ret_fd) : -ENOENT;
}

int sampler_look_process(struct sampler *s, int32_t pid, uint32_t epoch)
{
    return looks_of(s) ? sampler_looks_process(looks_of(s), pid, epoch) : -ENOENT;
}
