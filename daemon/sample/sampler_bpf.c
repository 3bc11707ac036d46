/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads cpu.bpf.c, and takes the programs that are loaded beside it. Everything the kernel holds
 * for us is an fd of this process, so that its end, however it comes, ends the sampling.
 */
#include "base/cleanup.h"
#include "base/old_kernel.h"
#include "sample/refusal.h"
#include "sample/sampler_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Whether a program in an interrupt may use a hash map that allocates as it grows: from Linux 6.1
 * on (and where a distribution brought it to an older one). */
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
        return true; /* then the maps themselves say why */
    code[0].imm = map;
    program = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "flamed_grows", "Dual BSD/GPL", code,
                            ARRAY_SIZE(code), NULL);
    return program >= 0;
}

/* Has maps that cannot grow allocate all that they may hold, and has them hold less. */
static int fit_maps(struct cpu_bpf *skel)
{
    int r;

    if (maps_may_grow())
        return 0;
    r = bpf_map__set_map_flags(skel->maps.processes, 0);
    if (r == 0)
        r = bpf_map__set_map_flags(skel->maps.filters, 0);
    if (r == 0)
        r = bpf_map__set_max_entries(skel->maps.processes, STACK_PROCESSES_PREALLOCATED);
    if (r == 0)
        r = bpf_map__set_max_entries(skel->maps.filters, STACK_FILTERS_PREALLOCATED);
    return r;
}

/* The memory of array map @map; NULL with @err. */
static void *map_memory(const struct bpf_map *map, size_t bytes, struct error *err)
{
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), /* offset= */ 0);

    if (p != MAP_FAILED)
        return p;
    error_errno(err, "cannot map the unwinder's tables");
    return NULL;
}

int sampler_new(int pid_ns_fd, size_t ring_bytes, uint32_t max_frames, struct sampler **ret,
                struct error *err)
{
    struct sampler *s;
    struct stat st = { 0 };
    int r;

    if (max_frames < SAMPLE_USER_MIN || max_frames > SAMPLE_USER_MAX)
        return error_set(err, -EINVAL, "stacks have %d to %d frames", SAMPLE_USER_MIN,
                         SAMPLE_USER_MAX);
    s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    if (pid_ns_fd >= 0 && fstat(pid_ns_fd, &st) < 0) {
        r = error_errno(err, "cannot read the identity of the pid namespace");
        goto fail;
    }
    refusal_watch();
    s->possible_cpus = libbpf_num_possible_cpus();
    if (s->possible_cpus < 0) {
        r = error_code(err, s->possible_cpus, "cannot read the number of CPUs");
        goto fail;
    }
    s->skel = cpu_bpf__open();
    if (!s->skel) {
        r = refusal_explain(-errno, err);
        goto fail;
    }
    bpf_program__set_autoload(s->skel->progs.point_tick, false);
    s->skel->rodata->pid_ns_inum = (uint32_t)st.st_ino;
    s->skel->rodata->max_words = max_frames;
    s->ring_bytes = ring_bytes;
    r = bpf_map__set_max_entries(s->skel->maps.ring, (uint32_t)ring_bytes);
    if (r == 0)
        r = bpf_map__set_max_entries(s->skel->maps.rows, SAMPLER_ROWS_MAX);
    if (r == 0)
        r = fit_maps(s->skel);
    if (r == 0)
        r = cpu_bpf__load(s->skel);
    if (r < 0) {
        r = refusal_explain(r, err);
        goto fail;
    }
    s->rows = map_memory(s->skel->maps.rows, SAMPLER_ROWS_MAX * sizeof(*s->rows), err);
    if (!s->rows) {
        r = -errno;
        goto fail;
    }
    sampler_off_check(&s->off_problem);
    *ret = s;
    return 0;
fail:
    sampler_free(s);
    return r;
}

/* Has @to be the map @from. */
static int same_map(struct bpf_map *to, const struct bpf_map *from)
{
    return bpf_map__reuse_fd(to, bpf_map__fd(from));
}

struct sampler_points *sampler_points_free(struct sampler_points *p)
{
    if (p)
        cpu_bpf__destroy(p->skel);
    free(p);
    return NULL;
}

int sampler_points_new(const struct sampler *s, struct sampler_points **ret, struct error *err)
{
    struct sampler_points *p = calloc(1, sizeof(*p));
    const struct cpu_bpf *from = s->skel;
    struct sampler_shared shared;
    struct cpu_bpf *to;
    int r;

    if (!p)
        return -ENOMEM;
    to = p->skel = cpu_bpf__open();
    if (!to) {
        r = error_errno(err, "cannot prepare the BPF program of tracepoints");
        sampler_points_free(p);
        return r;
    }
    bpf_program__set_autoload(to->progs.cpu_tick, false);
    r = sampler_share(s, &shared);
    to->rodata->pid_ns_inum = shared.pid_ns_inum;
    to->rodata->max_words = shared.max_words;
    if (r == 0)
        r = sampler_shared_use(&shared, to->obj);
    if (r == 0)
        r = same_map(to->maps.counters, from->maps.counters);
    if (r == 0)
        r = same_map(to->maps.scratches, from->maps.scratches);
    sampler_shared_close(&shared);
    if (r < 0) {
        sampler_points_free(p);
        return error_code(err, r, "cannot share maps with the BPF program of tracepoints");
    }
    *ret = p;
    return 0;
}

int sampler_points_load(struct sampler_points *p, struct error *err)
{
    int r;

    refusal_watch();
    r = cpu_bpf__load(p->skel);
    return r < 0 ? refusal_explain(r, err) : 0;
}

void sampler_take_points(struct sampler *s, struct sampler_points *points)
{
    points->skel->bss->filter_all = s->skel->bss->filter_all;
    points->skel->data->budget_ns = s->skel->data->budget_ns;
    sampler_points_free(s->points);
    s->points = points;
}

struct sampler *sampler_free(struct sampler *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < SAMPLER_SETS_MAX; i++)
        sampler_set_disarm(&s->sets[i]);
    if (s->rows)
        munmap(s->rows, SAMPLER_ROWS_MAX * sizeof(*s->rows));
    sampler_points_free(s->points);
    sampler_off_free(s->off);
    sampler_alloc_free(s->alloc);
    sampler_moments_free(s->moments);
    cpu_bpf__destroy(s->skel);
    free(s);
    return NULL;
}

uint32_t sampler_processes_max(const struct sampler *s)
{
    return bpf_map__max_entries(s->skel->maps.processes);
}

int sampler_ring_fd(const struct sampler *s, size_t *ret_bytes)
{
    *ret_bytes = s->ring_bytes;
    return bpf_map__fd(s->skel->maps.ring);
}

int sampler_rows_fd(const struct sampler *s)
{
    return bpf_map__fd(s->skel->maps.rows);
}

int sampler_share(const struct sampler *s, struct sampler_shared *ret)
{
    int r = sampler_shared_copy(s->skel->obj, ret);

    ret->pid_ns_inum = s->skel->rodata->pid_ns_inum;
    ret->max_words = s->skel->rodata->max_words;
    return r;
}

/* Tells @off whom sets want already. */
static void tell_filters(struct sampler *s, struct sampler_off *off)
{
    int map = bpf_map__fd(s->skel->maps.filters), r;
    uint32_t key, next, sets;

    for (r = bpf_map_get_next_key(map, NULL, &next); r == 0;) {
        key = next;
        r = bpf_map_get_next_key(map, &key, &next);
        if (bpf_map_lookup_elem(map, &key, &sets) == 0)
            sampler_off_filter_process(off, (int32_t)key, 0, sets);
    }
    sampler_off_filter_all(off, s->skel->bss->filter_all);
}

void sampler_take_off(struct sampler *s, struct sampler_off *off)
{
    tell_filters(s, off);
    s->off = off;
}

void sampler_take_alloc(struct sampler *s, struct sampler_alloc *alloc)
{
    sampler_alloc_filter_all(alloc, s->skel->bss->filter_all);
    s->alloc = alloc;
}

int sampler_probe(struct sampler *s, int32_t pid, const struct alloc_vm *vm, int fd,
                  const struct alloc_probe *probes, size_t count, struct error *err)
{
    int r = s->alloc ? sampler_alloc_probe(s->alloc, pid, vm, fd, probes, count, err) : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set of event alloc runs") : r;
}

int sampler_unprobe(struct sampler *s, int32_t pid)
{
    return s->alloc ? sampler_alloc_unprobe(s->alloc, pid) : -ENOENT;
}

int sampler_by_agents(struct sampler *s, uint32_t set)
{
    return s->alloc ? sampler_alloc_by_agents(s->alloc, set) : -ENOENT;
}

int sampler_agent(struct sampler *s, int32_t pid, uint32_t class_klass, uint64_t collections,
                  int fd, uint64_t offset, struct error *err)
{
    int r = s->alloc ? sampler_alloc_agent(s->alloc, pid, class_klass, collections, fd, offset, err)
                     : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set takes what agents tell") : r;
}

int sampler_unagent(struct sampler *s, int32_t pid)
{
    return s->alloc ? sampler_alloc_unagent(s->alloc, pid) : -ENOENT;
}

void sampler_take_moments(struct sampler *s, struct sampler_moments *moments)
{
    sampler_moments_filter_all(moments, s->skel->bss->filter_all);
    s->moments = moments;
}

int sampler_probe_moments(struct sampler *s, int32_t pid, const struct moment_offsets *at, int fd,
                          const struct moment_probe *probes, size_t count, struct error *err)
{
    int r =
        s->moments ? sampler_moments_probe(s->moments, pid, at, fd, probes, count, err) : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set of event safepoint runs") : r;
}

int sampler_unprobe_moments(struct sampler *s, int32_t pid, uint32_t groups)
{
    return s->moments ? sampler_moments_unprobe(s->moments, pid, groups) : -ENOENT;
}

int sampler_moments_fd(const struct sampler *s)
{
    return s->moments ? sampler_moments_ring_fd(s->moments) : -1;
}

int sampler_call(struct sampler *s, int32_t pid, uint32_t set, int fd, uint64_t offset,
                 struct error *err)
{
    int r = s->alloc ? sampler_alloc_call(s->alloc, pid, set, fd, offset, err) : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set of calls of that number runs") : r;
}

int sampler_malloc(struct sampler *s, int32_t pid, uint32_t set, int fd, uint64_t offset,
                   uint32_t argument, struct error *err)
{
    int r = s->alloc ? sampler_alloc_malloc(s->alloc, pid, set, fd, offset,
                                            (enum alloc_malloc)argument, err)
                     : -EAGAIN;

    return r == -EAGAIN ? error_set(err, r, "no set of calls of that number runs") : r;
}

int sampler_mallocs(const struct sampler *s, int32_t pid, uint64_t *ret)
{
    return s->alloc ? sampler_alloc_mallocs(s->alloc, pid, ret) : -ENOENT;
}

int sampler_uncall(struct sampler *s, int32_t pid, uint32_t set)
{
    return s->alloc ? sampler_alloc_uncall(s->alloc, pid, set) : -ENOENT;
}

int sampler_check_off(const struct sampler *s, struct error *err)
{
    if (s->off_problem.code && err)
        *err = s->off_problem;
    return s->off_problem.code;
}

int sampler_flush(struct sampler *s, uint32_t set, uint32_t *ret_no, uint64_t *ret_late)
{
    return s->off ? sampler_off_flush(s->off, set, ret_no, ret_late) : -ENOENT;
}

int sampler_lates(struct sampler *s, uint32_t set)
{
    return s->off ? sampler_off_lates(s->off, set) : -ENOENT;
}
