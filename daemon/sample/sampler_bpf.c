/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads cpu.bpf.c and arms its events. Everything the kernel holds for us is an fd of this process,
 * so that its end, however it comes, ends the sampling. The only file that knows the skeleton.
 */
#include "sample/sampler.h"

#include "base/cleanup.h"
#include "base/old_kernel.h"
#include "sample/cpu_abi.h"
#include "sample/refusal.h"
#include "sample/sample_abi.h"
#include "sample/sampler_alloc.h"
#include "sample/sampler_events.h"
#include "sample/sampler_off.h"
#include "sample/sampler_shared.h"
#include "sample/stack_abi.h"
#include "unwind/state.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "cpu.skel.h"

_Static_assert(SAMPLER_SETS_MAX == STACK_SETS_MAX, "the sets of both sides");

/* An event and its link, which owns it. */
struct cpu_link {
    struct bpf_link *link;
    uint32_t cpu;
};

/* An event at a period, one per online CPU. */
struct sampler_set {
    bool used;
    struct cpu_link *links; /* owned, [count], by cpu; NULL: of no CPU */
    size_t count;
    struct sampler_event event;
    uint64_t period;
};

/* The same programs once more, for tracepoints alone: for most they are never loaded, and the
 * kernel takes its time to check them. */
struct sampler_points {
    struct cpu_bpf *skel;
};

struct sampler {
    struct cpu_bpf *skel;
    struct sampler_points *points; /* NULL: nobody asked for them */
    struct sampler_set sets[SAMPLER_SETS_MAX];
    struct unwind_row *rows; /* the map's memory, [SAMPLER_ROWS_MAX] */
    uint32_t last_slot;
    size_t ring_bytes;
    int possible_cpus;
    struct sampler_off *off;     /* owned; NULL: not loaded */
    struct error off_problem;    /* why it cannot be */
    struct sampler_alloc *alloc; /* owned; NULL: not loaded */
};

/* Whether a program in an interrupt may use a hash map that allocates as it grows: from Linux 6.1
 * on (and where a distribution brought it to an older one). */
static bool maps_may_grow(void)
{
    LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
    _cleanup_close_ int map = -1, program = -1;
    struct bpf_insn code[] = {
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

static void set_disarm(struct sampler_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        bpf_link__destroy(set->links[i].link);
    free(set->links);
    *set = (struct sampler_set){ 0 };
}

struct sampler *sampler_free(struct sampler *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < SAMPLER_SETS_MAX; i++)
        set_disarm(&s->sets[i]);
    if (s->rows)
        munmap(s->rows, SAMPLER_ROWS_MAX * sizeof(*s->rows));
    sampler_points_free(s->points);
    sampler_off_free(s->off);
    sampler_alloc_free(s->alloc);
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

/* Arms one CPU. 0 and *ret_link owning the event; -ENODEV when it went offline; -errno. */
static int cpu_arm(struct sampler *s, uint32_t no, uint32_t cpu, struct bpf_link **ret_link,
                   struct error *err)
{
    LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = no);
    const struct sampler_set *set = &s->sets[no];
    _cleanup_close_ int fd = sampler_open_event(&set->event, cpu, set->period, err);
    struct bpf_link *link;

    if (fd < 0)
        return fd;
    link = bpf_program__attach_perf_event_opts(
        set->event.everywhere ? s->points->skel->progs.point_tick : s->skel->progs.cpu_tick, fd,
        &opts);
    if (!link) {
        int r = -errno;

        error_code(err, r, "cannot attach to the event of CPU %u", cpu);
        error_remedy(err, "run Linux 5.15 or later: an event needs a link with a cookie");
        return r;
    }
    take_fd(&fd); /* the link closes it */
    *ret_link = link;
    return 0;
}

/* Has set @no sample just @cpus: links of others go, new ones are armed. One that cannot be armed
 * is tried again by the next call. Number of CPUs that changed, or -errno. */
static int set_cpus(struct sampler *s, uint32_t no, const uint32_t *cpus, size_t count,
                    struct error *err)
{
    struct sampler_set *set = &s->sets[no];
    struct cpu_link *links = calloc(MAX(count, (size_t)1), sizeof(*links));
    size_t kept = 0, old = 0;
    int r = 0, changed = 0;

    if (!links)
        return -ENOMEM;
    if (set->event.everywhere) {
        if (set->count > 0)
            cpus = &set->links[0].cpu; /* where it is, it stays, also when that one is offline */
        count = MIN(count, (size_t)1);
    }
    for (size_t i = 0; i < count; i++) {
        struct cpu_link *l = &links[kept];

        for (; old < set->count && set->links[old].cpu < cpus[i]; old++, changed++)
            bpf_link__destroy(set->links[old].link);
        if (old < set->count && set->links[old].cpu == cpus[i]) {
            *l = set->links[old++];
        } else {
            int k = cpu_arm(s, no, cpus[i], &l->link, err);

            if (k < 0 && k != -ENODEV) /* -ENODEV: went offline since the list was read */
                r = k;
            if (k < 0)
                continue;
            l->cpu = cpus[i];
            changed++;
        }
        kept++;
    }
    for (; old < set->count; old++, changed++)
        bpf_link__destroy(set->links[old].link);
    free(set->links);
    set->links = links;
    set->count = kept;
    return r < 0 ? r : changed;
}

int sampler_check_event(const struct sampler_event *event, struct error *err)
{
    _cleanup_free_ uint32_t *cpus = calloc(SAMPLER_CPUS_MAX, sizeof(*cpus));
    int n = cpus ? sampler_online_cpus(cpus, err) : -ENOMEM, fd = -ENODEV;

    if (n < 0)
        return n;
    for (int i = 0; i < n && fd == -ENODEV; i++)
        fd = sampler_open_event(event, cpus[i], EVENT_PERIOD_MAX_NS, err);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

int sampler_start(struct sampler *s, enum event_kind kind, uint64_t period, uint32_t *ret_set,
                  struct error *err)
{
    struct sampler_event event;
    int r = sampler_describe(kind, SPAN_NULL, /* devices_fd= */ -1, &event, err);

    return r < 0 ? r : sampler_start_event(s, &event, period, ret_set, err);
}

/* Whether a set samples @event: the kernel lets one program watch a tracepoint once. */
static bool runs(const struct sampler *s, const struct sampler_event *event)
{
    for (size_t i = 0; i < SAMPLER_SETS_MAX; i++) {
        const struct sampler_set *set = &s->sets[i];

        if (set->links && set->event.everywhere && set->event.attr.config == event->attr.config)
            return true;
    }
    return false;
}

int sampler_start_event(struct sampler *s, const struct sampler_event *event, uint64_t period,
                        uint32_t *ret_set, struct error *err)
{
    _cleanup_free_ uint32_t *cpus = calloc(SAMPLER_CPUS_MAX, sizeof(*cpus));
    struct sampler_set *set = NULL;
    uint32_t no;
    int r, n;

    if (!cpus)
        return -ENOMEM;
    r = sampler_check_period(event->kind, period, err);
    if (r < 0)
        return r;
    if (event->kind == EVENT_WALL)
        return error_set(err, -EINVAL, "%s is two events: cpu and offcpu", event->name);
    if ((event_is_wait(event->kind) && !s->off) || (event->kind == EVENT_ALLOC && !s->alloc))
        return -EAGAIN;
    for (no = 0; no < SAMPLER_SETS_MAX; no++) {
        if (!s->sets[no].used) {
            set = &s->sets[no];
            break;
        }
    }
    if (!set)
        return error_set(err, -EBUSY, "%d events and rates are sampled already", SAMPLER_SETS_MAX);
    n = sampler_online_cpus(cpus, err);
    if (n < 0)
        return n;
    if (event->everywhere && !s->points)
        return error_set(err, -ENOSYS, "the program of tracepoints is not loaded");
    if (event->everywhere && runs(s, event))
        return error_set(err, -EEXIST, "%s is sampled already, at another interval", event->name);
    set->used = true;
    set->event = *event;
    set->period = period;
    __atomic_store_n(&(event->everywhere ? s->points->skel : s->skel)->bss->intervals[no],
                     event->picks ? period / event_worth(event->kind) : 1, __ATOMIC_RELEASE);
    r = event_is_wait(event->kind)
            ? sampler_off_start(s->off, no, period, event->kind == EVENT_LOCK, err)
        : event->kind == EVENT_ALLOC ? sampler_alloc_start(s->alloc, no, period)
                                     : set_cpus(s, no, cpus, (size_t)n, err);
    if (r < 0) {
        set_disarm(set);
        return r;
    }
    *ret_set = no;
    return 0;
}

int sampler_set_cpus(struct sampler *s, const uint32_t *cpus, size_t count)
{
    int changed = 0;

    for (uint32_t no = 0; no < SAMPLER_SETS_MAX; no++) {
        int r = s->sets[no].links ? set_cpus(s, no, cpus, count, NULL) : 0;

        changed = MAX(changed, r);
    }
    return changed;
}

int sampler_follow_cpus(struct sampler *s)
{
    _cleanup_free_ uint32_t *cpus = calloc(SAMPLER_CPUS_MAX, sizeof(*cpus));
    int n = cpus ? sampler_online_cpus(cpus, NULL) : 0;

    return n > 0 ? sampler_set_cpus(s, cpus, (size_t)n) : 0;
}

int sampler_stop(struct sampler *s, uint32_t set)
{
    int map = bpf_map__fd(s->skel->maps.filters), r;
    uint32_t key, next, sets;

    if (set >= SAMPLER_SETS_MAX || !s->sets[set].used)
        return -ENOENT;
    set_disarm(&s->sets[set]);
    if (s->off)
        sampler_off_stop(s->off, set);
    if (s->alloc)
        sampler_alloc_stop(s->alloc, set);
    /* A later set of this number must not inherit the processes of this one. */
    sampler_filter_all(s, s->skel->bss->filter_all & ~(1U << set));
    for (r = bpf_map_get_next_key(map, NULL, &next); r == 0;) {
        key = next;
        r = bpf_map_get_next_key(map, &key, &next);
        if (bpf_map_lookup_elem(map, &key, &sets) == 0 && (sets & (1U << set)))
            sampler_filter_process(s, (int32_t)key, sets & ~(1U << set));
    }
    return 0;
}

int sampler_filter_process(struct sampler *s, int32_t pid, uint32_t sets)
{
    int map = bpf_map__fd(s->skel->maps.filters), r;
    uint32_t key = (uint32_t)pid, before = 0;

    if (pid <= 0 || sets >= 1U << SAMPLER_SETS_MAX)
        return -EINVAL;
    if (s->off)
        bpf_map_lookup_elem(map, &key, &before);
    if (sets)
        r = bpf_map_update_elem(map, &key, &sets, BPF_ANY);
    else
        r = bpf_map_delete_elem(map, &key);
    if (s->off && r == 0)
        sampler_off_filter_process(s->off, pid, before, sets);
    return r == -ENOENT && !sets ? 0 : r;
}

void sampler_budget(struct sampler *s, uint64_t ns)
{
    __atomic_store_n(&s->skel->data->budget_ns, ns, __ATOMIC_RELEASE);
    if (s->points)
        __atomic_store_n(&s->points->skel->data->budget_ns, ns, __ATOMIC_RELEASE);
}

int sampler_filter_all(struct sampler *s, uint32_t sets)
{
    if (sets >= 1U << SAMPLER_SETS_MAX)
        return -EINVAL;
    __atomic_store_n(&s->skel->bss->filter_all, sets, __ATOMIC_RELEASE);
    if (s->points)
        __atomic_store_n(&s->points->skel->bss->filter_all, sets, __ATOMIC_RELEASE);
    if (s->off)
        sampler_off_filter_all(s->off, sets);
    if (s->alloc)
        sampler_alloc_filter_all(s->alloc, sets);
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

/* Stubs and native code are remembered without a look whether they still are there: what was
 * remembered of a slot must not outlive the process whose slot it was. */
static void forget_known(struct cpu_bpf *skel)
{
    for (size_t i = 0; i < UNWIND_KNOWN_COUNT; i++)
        __atomic_store_n(&skel->bss->known[i].key, 0, __ATOMIC_RELAXED);
}

int sampler_put_process(struct sampler *s, int32_t pid, const struct unwind_process *p)
{
    int map = bpf_map__fd(s->skel->maps.processes), r;
    uint32_t key = (uint32_t)pid;

    if (pid <= 0)
        return -EINVAL;
    if (p) {
        if (p->slot < s->last_slot) {
            forget_known(s->skel);
            if (s->points)
                forget_known(s->points->skel);
            if (s->off)
                sampler_off_forget(s->off);
            if (s->alloc)
                sampler_alloc_forget(s->alloc);
        }
        s->last_slot = p->slot;
        return bpf_map_update_elem(map, &key, p, BPF_ANY);
    }
    r = bpf_map_delete_elem(map, &key);
    return r == -ENOENT ? 0 : r;
}

int sampler_put_thread(struct sampler *s, int32_t pid, int32_t tid, uint64_t java_thread)
{
    uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;

    if (pid <= 0 || tid <= 0)
        return -EINVAL;
    return bpf_map_update_elem(bpf_map__fd(s->skel->maps.threads), &key, &java_thread, BPF_ANY);
}

void sampler_stats(const struct sampler *s, struct sampler_stats *ret)
{
    _cleanup_free_ uint64_t *per_cpu = calloc((size_t)s->possible_cpus, sizeof(*per_cpu));
    uint64_t sums[CPU_COUNTERS] = { 0 };

    for (uint32_t c = 0; per_cpu && c < CPU_COUNTERS; c++) {
        if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.counters), &c, per_cpu) < 0)
            continue;
        for (int i = 0; i < s->possible_cpus; i++)
            sums[c] += per_cpu[i];
    }
    *ret = (struct sampler_stats){
        .samples = sums[CPU_SAMPLES],
        .lost_ring = sums[CPU_LOST_RING],
        .lost_budget = sums[CPU_LOST_BUDGET],
        .lost_other = sums[CPU_LOST_BUG],
        .hidden = sums[CPU_HIDDEN],
        .time_ns = sums[CPU_TIME_NS],
        .runs = sums[CPU_RUNS],
    };
    if (s->off) {
        struct sampler_off_stats off;

        sampler_off_stats(s->off, &off);
        ret->samples += off.samples;
        ret->lost_ring += off.lost_ring;
        ret->lost_other += off.lost_other;
        ret->time_ns += off.time_ns;
    }
    if (s->alloc) {
        struct sampler_alloc_stats alloc;

        sampler_alloc_stats(s->alloc, &alloc);
        ret->samples += alloc.samples;
        ret->lost_ring += alloc.lost_ring;
        ret->lost_budget += alloc.lost_budget;
        ret->lost_other += alloc.lost_other;
        ret->time_ns += alloc.time_ns;
    }
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
