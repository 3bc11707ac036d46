/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler_off.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/old_kernel.h"
#include "sample/off_abi.h"
#include "sample/program.h"
#include "sample/refusal.h"
#include "sample/stack_abi.h"
#include "sample/task_memory.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "off.skel.h"

struct sampler_off {
    struct off_bpf *skel;
    struct hook_worker hooker;
    struct hook *hook; /* hook at the switch while a set runs; owned */
    bool begun;        /* the hook was in at the last check */
    struct bpf_link *iterator;
    uint16_t wanted[OFF_BITS]; /* number of wanted processes with this bit */
};

static int check(struct error *err)
{
    struct btf *btf = btf__load_vmlinux_btf();
    bool can = btf && btf__find_by_name_kind(btf, "bpf_iter__task", BTF_KIND_STRUCT) > 0;

    btf__free(btf);
    if (can)
        return 0;
    error_set(err, -EOPNOTSUPP,
              "this kernel has no BPF iterator over threads, which sees what still waits");
    error_remedy(err, "run Linux 5.15 or later; event=context-switches shows where threads begin "
                      "to wait, though not for how long");
    return -EOPNOTSUPP;
}

/* The function for task work, by its name in Linux 7.0 and in 6.18. */
static const char *const TASK_WORK[] = { "bpf_task_work_schedule_resume",
                                         "bpf_task_work_schedule_resume_impl" };

/* Returns the index of the name that this kernel has for programs; -1: none that works. Linux 7.0
 * has a function of the second name, too, with other parameters. */
static int find_task_work(void)
{
    bool works = task_memory_has_instruction() && !old_kernel_pretended("task_work");
    struct btf *btf = works ? btf__load_vmlinux_btf() : NULL;
    int found = -1;

    for (int i = 0; btf && found < 0 && i < (int)ARRAY_SIZE(TASK_WORK); i++) {
        if (btf__find_by_name_kind(btf, TASK_WORK[i], BTF_KIND_FUNC) > 0)
            found = i;
    }
    btf__free(btf);
    return found;
}

/* Renames the function @name, so that libbpf does not find it in the kernel. The libbpf of Debian
 * 12 refuses a function with other parameters even if the program can do without it. */
static void hide(struct off_bpf *skel, const char *name)
{
    const struct btf *btf = bpf_object__btf(skel->obj);
    int id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
    const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

    if (t)
        ((char *)(uintptr_t)btf__name_by_offset(btf, t->name_off))[0] = '_';
}

/* Chooses how stacks are taken, and the sizes of maps accordingly. */
static int choose(struct off_bpf *skel)
{
    int task_work = find_task_work();
    bool early = task_work < 0;
    int r;

    for (int i = 0; i < (int)ARRAY_SIZE(TASK_WORK); i++) {
        if (i != task_work)
            hide(skel, TASK_WORK[i]);
    }
    skel->rodata->early = early;
    skel->rodata->short_task_work = task_work == 0;
    r = bpf_program__set_autoload(early ? skel->progs.off_switch : skel->progs.off_switch_early,
                                  false);
    if (r < 0 || !early)
        return r;
    skel->rodata->max_words = MIN(skel->rodata->max_words, (uint32_t)OFF_EARLY_WORDS);
    r = bpf_map__set_max_entries(skel->maps.early_waits, OFF_EARLY_THREADS) ?:
        bpf_map__set_max_entries(skel->maps.kepts, OFF_EARLY_KEPT) ?:
        bpf_map__set_max_entries(skel->maps.lates, 1);
    return r < 0 ? r : bpf_map__set_map_flags(skel->maps.lates, 0);
}

static void free_off(void *p)
{
    struct sampler_off *o = p;

    if (!o)
        return;
    hook_drop(o->hook);
    bpf_link__destroy(o->iterator);
    off_bpf__destroy(o->skel);
    free(o);
}

CLEANUP_FUNCTION(off_freep, sampler_off, free_off)

static int load(const struct sampler_shared *shared, void **ret, struct error *err)
{
    _cleanup_(off_freep) struct sampler_off *o = calloc(1, sizeof(*o));
    int r;

    if (!o)
        return -ENOMEM;
    o->hooker = shared->hooker;
    refusal_watch();
    o->skel = off_bpf__open();
    if (!o->skel)
        return refusal_explain(-errno, err);
    o->skel->rodata->pid_ns_inum = shared->pid_ns_inum;
    o->skel->rodata->max_words = shared->max_words;
    o->skel->bss->filters_no = 1; /* 0: no look-up yet */
    r = choose(o->skel) ?: sampler_shared_use(shared, o->skel->obj) ?: off_bpf__load(o->skel);
    if (r < 0)
        return refusal_explain(r, err);
    o->iterator = bpf_program__attach_iter(o->skel->progs.off_blocked, NULL);
    if (!o->iterator)
        return error_errno(err, "cannot attach the iterator over threads");
    *ret = TAKE_PTR(o);
    return 0;
}

/* Makes the program look up again which sets want a thread. */
static void filters_changed(struct sampler_off *o)
{
    __atomic_add_fetch(&o->skel->bss->filters_no, 1, __ATOMIC_RELEASE);
}

/* Restarts all sets now, because the states of threads were unknown until now. */
static void begin(struct sampler_off *o)
{
    uint64_t now_ns = clock_monotonic_ns();

    o->begun = true;
    o->skel->bss->epoch++;
    for (uint32_t set = 0; set < STACK_SETS_MAX; set++) {
        if (o->skel->bss->off_sets & 1U << set)
            o->skel->bss->set_rates[set].start_ns = now_ns;
    }
}

static int begun(void *p, uint32_t set, struct error *err)
{
    struct sampler_off *o = p;
    int r = o->hook ? hook_state(o->hook, err) : -ENOENT;

    (void)set;
    if (r == 0 && !o->begun)
        begin(o);
    return r;
}

/* Deletes the states of threads of processes that no set wants. The program does not update them.
 * If it is not attached, all are void. In a pid namespace, the program sees all switches, and
 * deletes states itself. */
static void sweep(struct sampler_off *o)
{
    int waits = bpf_map__fd(o->skel->maps.early_waits), kepts = bpf_map__fd(o->skel->maps.kepts);
    int filters = bpf_map__fd(o->skel->maps.filters), r;
    uint64_t key, next;

    if (!o->skel->rodata->early || (o->hook && o->skel->rodata->pid_ns_inum))
        return;
    r = bpf_map_get_next_key(waits, NULL, &next);
    /* If the program has deleted @key, the loop begins again. */
    for (size_t i = 0; r == 0 && i < (size_t)2 * OFF_EARLY_THREADS; i++) {
        uint32_t pid, sets = 0;

        key = next;
        r = bpf_map_get_next_key(waits, &key, &next);
        pid = (uint32_t)OFF_EARLY_TGID(key);
        if (o->hook && bpf_map_lookup_elem(filters, &pid, &sets) < 0)
            sets = 0;
        if (o->hook && (sets | o->skel->bss->filter_all) & o->skel->bss->off_sets)
            continue;
        bpf_map_delete_elem(waits, &key);
        bpf_map_delete_elem(kepts, &key);
    }
}

/* Attaches the program to the switch. 0, also while that is pending; -errno with @err. */
static int watch_switches(struct sampler_off *o, struct error *err)
{
    const struct bpf_program *program =
        o->skel->rodata->early ? o->skel->progs.off_switch_early : o->skel->progs.off_switch;
    int r;

    if (o->hook)
        return 0;
    o->begun = false;
    o->skel->bss->epoch++;
    r = hook_tracepoint(&o->hooker, bpf_program__fd(program), &o->hook)
            ?: begun(o, /* set= */ 0, err);
    return r == -EINPROGRESS ? 0 : r;
}

static int start(void *p, uint32_t set, const struct sampler_event *event, uint64_t interval_ns,
                 struct error *err)
{
    enum event_kind kind = event->info->kind;
    struct sampler_off *o = p;

    if (event->info->flags & EVENT_RUNS)
        return error_set(err, -EINVAL, "%s is two events: cpu and offcpu", event->name);
    sweep(o);
    o->skel->bss->set_rates[set].interval_ns = interval_ns;
    o->skel->bss->set_rates[set].start_ns = clock_monotonic_ns();
    if (kind == EVENT_LOCK)
        __atomic_or_fetch(&o->skel->bss->lock_sets, 1U << set, __ATOMIC_RELEASE);
    if (kind == EVENT_NATIVELOCK)
        __atomic_or_fetch(&o->skel->bss->futex_sets, 1U << set, __ATOMIC_RELEASE);
    __atomic_or_fetch(&o->skel->bss->off_sets, 1U << set, __ATOMIC_RELEASE);
    filters_changed(o);
    return watch_switches(o, err);
}

static void stop(void *p, uint32_t set)
{
    struct sampler_off *o = p;

    __atomic_and_fetch(&o->skel->bss->off_sets, ~(1U << set), __ATOMIC_RELEASE);
    __atomic_and_fetch(&o->skel->bss->lock_sets, ~(1U << set), __ATOMIC_RELEASE);
    __atomic_and_fetch(&o->skel->bss->futex_sets, ~(1U << set), __ATOMIC_RELEASE);
    filters_changed(o);
    if (!o->skel->bss->off_sets)
        o->hook = hook_drop(o->hook);
}

/* Makes the states of the processes with @bit void: the program has left out their switches. */
static void void_states(struct sampler_off *o, uint32_t bit)
{
    const struct off_bpf__bss *bss = o->skel->bss;

    if (!o->skel->rodata->pid_ns_inum && !(bss->filter_all & bss->off_sets))
        __atomic_add_fetch(&o->skel->bss->wanted_no[bit], 1, __ATOMIC_RELEASE);
}

/* Stores which sets want all processes. */
static void filter_all(void *p, uint32_t sets)
{
    struct sampler_off *o = p;
    uint32_t *filter = &o->skel->bss->filter_all;

    for (uint32_t bit = 0; sets & o->skel->bss->off_sets && bit < OFF_BITS; bit++) {
        if (!o->wanted[bit])
            void_states(o, bit);
    }
    __atomic_store_n(filter, sets, __ATOMIC_RELEASE);
    filters_changed(o);
}

static void filter_process(void *p, int32_t pid, uint32_t before, uint32_t sets)
{
    struct sampler_off *o = p;
    uint32_t bit = (uint32_t)pid % OFF_BITS;
    unsigned long long *word = &o->skel->bss->wanted_bits[bit / 64], mask = 1ULL << bit % 64;

    if (sets && !before && !o->wanted[bit]++)
        void_states(o, bit);
    if (!sets && before && o->wanted[bit])
        o->wanted[bit]--;
    if (o->wanted[bit])
        __atomic_or_fetch(word, mask, __ATOMIC_RELEASE);
    else
        __atomic_and_fetch(word, ~mask, __ATOMIC_RELEASE);
    filters_changed(o);
}

static struct sampler_memory memory(const void *p)
{
    return SAMPLER_MEMORY(((const struct sampler_off *)p)->skel);
}

static uint64_t counted(const struct sampler_off *o, uint32_t counter)
{
    return sampler_counted(bpf_map__fd(o->skel->maps.counters), counter);
}

/* Visits all threads once, for set @set. */
static int look(struct sampler_off *o, uint32_t set, bool lates)
{
    _cleanup_close_ int fd = -1;
    char byte;

    if (!(o->skel->bss->off_sets & 1U << (set & 31)))
        return -ENOENT;
    fd = bpf_iter_create(bpf_link__fd(o->iterator));
    if (fd < 0)
        return -errno;
    o->skel->bss->flush_set = set;
    o->skel->bss->flush_lates = lates;
    for (;;) { /* the iterator writes nothing; a read may return early */
        ssize_t n = read(fd, &byte, sizeof(byte));

        if (n == 0)
            return 0;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
    }
}

int sampler_off_lates(struct sampler_off *o, uint32_t set)
{
    return look(o, set, /* lates= */ true);
}

int sampler_off_flush(struct sampler_off *o, uint32_t set, uint32_t *ret_no, uint64_t *ret_late)
{
    uint64_t taken, late;
    int r;

    *ret_no = ++o->skel->bss->flush_no;
    r = look(o, set, /* lates= */ false);
    if (r < 0)
        return r;
    taken = counted(o, OFF_TAKEN); /* read first, so that it never exceeds `late` */
    late = counted(o, OFF_LATE);
    *ret_late = late > taken ? late - taken : 0;
    return 0;
}

const struct sampler_program sampler_program_off = {
    .check = check,
    .load = load,
    .free = free_off,
    .start = start,
    .begun = begun,
    .stop = stop,
    .filter_process = filter_process,
    .filter_all = filter_all,
    .memory = memory,
};
