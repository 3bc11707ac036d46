// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The program behind the perf events: decides whether a tick is wanted, takes the kernel's and the
 * user's stack, and writes one record into the ring buffer. Runs where the event happens (CPU time:
 * in a hard interrupt), with a per-CPU event per set; the attach cookie is the set's number. Knows
 * nothing of JVMs.
 */
#include <linux/bpf.h>

#include <asm/ptrace.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sample/cpu_abi.h"
#include "sample/pid_number.bpf.h"
#include "sample/sample_abi.h"
#include "unwind/state.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The few kernel fields needed; offsets come from the running kernel's BTF. */
struct task_struct {
    unsigned int flags;
    int pid, tgid;
    struct pid *thread_pid;
    struct task_struct *group_leader;
    __u64 start_boottime;
    __u64 self_exec_id;
} __attribute__((preserve_access_index));

struct pt_regs___kernel { /* the user's registers, by the kernel's names */
    unsigned long r15, r13, bp, bx, ax, ip, cs, sp;
} __attribute__((preserve_access_index));

#define TASK_KERNEL_THREAD 0x00200000 /* PF_KTHREAD */
#define TASK_EXITING 0x00000004       /* PF_EXITING */
#define USER_CS_64 0x33
#define WALK_CALLS_MAX (SAMPLE_USER_MAX * UNWIND_STEPS_PER_WORD) /* of walk_some(), in one walk */
#define STACK_MAX 127 /* frames that bpf_get_stack() may give: its own ceiling */

/* Words that a user stack may have, SAMPLE_USER_MIN to SAMPLE_USER_MAX. */
const volatile __u32 max_words = SAMPLE_USER_MAX;

/* CPU time that samples may take in each CPU_BUDGET_WINDOW_NS of a processor. */
__u64 budget_ns = CPU_BUDGET_NS;

/* Of so many wanted events of a set, one by chance is sampled; 0 or 1: each. By set. */
__u64 intervals[CPU_SETS_MAX];

/* Sets that want every process: bit n for set n. Written by the loader while the programs run. */
__u32 filter_all;

/* What pcs mean. No map, whose look-up would take as long as all else of a step. */
struct unwind_known known[UNWIND_KNOWN_COUNT] __attribute__((aligned(64)));

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CPU_FILTERS_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);   /* process id */
    __type(value, __u32); /* sets that want it */
} filters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096); /* the loader sets the size */
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, CPU_COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CPU_PROCESSES_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32); /* process id */
    __type(value, struct unwind_process);
} processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* the loader sets the number */
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, struct unwind_row);
} rows SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, CPU_THREADS_MAX);
    __type(key, __u64);   /* process id << 32 | thread id */
    __type(value, __u64); /* address of its JavaThread */
} threads SEC(".maps");

/* A block of as many events as the interval says, and the one of them that is sampled: which one
 * must not depend on anything periodic. */
struct block {
    __u64 interval, left, pick;
};

struct scratch {
    struct sample_record rec;
    __u64 frames[STACK_MAX + 1 + SAMPLE_USER_MAX];
    struct unwind_walk walk;
    __u64 window_start_ns, window_spent_ns; /* of the budget */
    struct block blocks[CPU_SETS_MAX];
};

/* One per CPU is enough: the kernel does not run a perf_event program inside another one, and none
 * is preempted. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline void count(__u32 which, __u64 n)
{
    __u64 *c = bpf_map_lookup_elem(&counters, &which);

    if (c)
        *c += n;
}

/* ---- the unwinder's home ---- */

static __always_inline bool unwind_read(struct unwind_walk *w, void *to, __u32 bytes, __u64 from)
{
    w->reads++;
    return bpf_probe_read_user(to, bytes, (const void *)from) == 0;
}

static __always_inline bool unwind_row(struct unwind_walk *w, __u32 index, struct unwind_row *ret)
{
    struct unwind_row *row = bpf_map_lookup_elem(&rows, &index);

    if (!row)
        return false;
    *ret = *row;
    return true;
}

static __always_inline struct unwind_known *unwind_known_at(struct unwind_walk *w, __u32 index)
{
    return &known[index];
}

static __always_inline __u64 unwind_java_thread(struct unwind_walk *w)
{
    __u64 task = w->task, *thread = bpf_map_lookup_elem(&threads, &task);

    return thread ? *thread : 0;
}

/* Where the words of the user's stack begin: behind those of the kernel's. */
static __always_inline __u64 *user_words(struct scratch *s)
{
    __u64 base = s->rec.kernel_count;

    UNWIND_MASK(base, STACK_MAX);
    return s->frames + base;
}

static __always_inline void put_word(__u64 *words, __u64 i, __u64 word)
{
    UNWIND_MASK(i, SAMPLE_USER_MAX - 1);
    words[i] = word;
}
#define UNWIND_OUT(out, i, word) put_word(out, i, word)
#define UNWIND_OUT_TYPE __u64 *

#include "unwind/step.h"

/* Some frames of the walk in @s: an enum unwind_outcome. Not static: the kernel's verifier then
 * checks it once and on its own, and a loop of calls costs it next to nothing (bpf_loop() is
 * of 5.17). */
__attribute__((noinline)) int walk_some(struct scratch *s, struct unwind_process *p)
{
    int outcome;

    if (!s || !p)
        return UNWIND_STOP;
    outcome = unwind_fast_steps(&s->walk, p, user_words(s));
    if (outcome == UNWIND_SLOWLY)
        outcome = unwind_step(&s->walk, p, user_words(s));
    return outcome;
}

/* Unwinds the user's stack by the tables of @p. Returns the number of words. */
static __always_inline __u32 walk(struct task_struct *task, struct scratch *s,
                                  struct unwind_process *p)
{
    struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
    __u32 limit = max_words, i;

    if (limit > SAMPLE_USER_MAX)
        limit = SAMPLE_USER_MAX;
    if (regs->cs != USER_CS_64) {
        s->rec.user_end = UNWIND_END_NO_RULE;
        return 0;
    }
    unwind_start(&s->walk, regs->ip, regs->sp, regs->bp, p->slot, (__u32)bpf_jiffies64(), limit);
    s->walk.r13 = regs->r13;
    s->walk.rax = regs->ax;
    s->walk.rbx = regs->bx;
    s->walk.thread = regs->r15;
    s->walk.task = (__u64)s->rec.host_pid << 32 | s->rec.host_tid;
    UNWIND_LOOP
    for (i = 0; i < WALK_CALLS_MAX; i++) {
        if (walk_some(s, p) != UNWIND_GO_ON)
            break;
    }
    s->rec.user_end = s->walk.end;
    if (s->walk.end == UNWIND_END_LIMIT)
        s->rec.flags |= SAMPLE_USER_CUT;
    if (s->walk.wants_thread)
        s->rec.flags |= SAMPLE_WANTS_THREAD;
    return s->walk.words;
}

/* Where there are no tables yet: the pc alone. */
static __always_inline __u32 leaf(struct task_struct *task, struct scratch *s)
{
    struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
    __u64 pc = regs->ip;

    s->rec.user_end = UNWIND_END_NO_PROCESS;
    if (pc & ~UNWIND_PC_MASK)
        return 0;
    user_words(s)[0] = pc;
    return 1;
}

/* The tables of the process that runs, if they are there and are those of this very image. */
static __always_inline struct unwind_process *tables_of(const struct scratch *s)
{
    __u32 pid = s->rec.host_pid;
    struct unwind_process *p = bpf_map_lookup_elem(&processes, &pid);

    if (!p || (p->exec_id && p->exec_id != s->rec.exec_id) ||
        (p->start_boottime_ns && p->start_boottime_ns != s->rec.start_boottime_ns))
        return NULL;
    return p;
}

static __always_inline __u32 wanted_sets(__u32 host_pid)
{
    __u32 *sets = bpf_map_lookup_elem(&filters, &host_pid);

    return filter_all | (sets ? *sets : 0);
}

#define INTERRUPTED_KERNEL(ctx) (((ctx)->regs.cs & 3) == 0)

static __always_inline __u32 kernel_stack(struct bpf_perf_event_data *ctx, struct scratch *s)
{
    long n = bpf_get_stack(ctx, s->frames, STACK_MAX * sizeof(__u64), 0);

    if (n <= 0)
        return 0;
    n /= sizeof(__u64);
    if (n >= STACK_MAX) {
        s->rec.flags |= SAMPLE_KERNEL_CUT;
        n = STACK_MAX;
    }
    return n;
}

static __always_inline void take_sample(struct bpf_perf_event_data *ctx, struct task_struct *task,
                                        struct scratch *s)
{
    __u32 kernel = 0, user = 0, words;
    struct unwind_process *p;

    s->rec.flags = 0;
    s->rec.user_end = UNWIND_END_ROOT;
    s->rec.zero = 0;
    s->rec.weight = 1;
    s->rec.start_boottime_ns = task->group_leader->start_boottime;
    s->rec.exec_id = (__u32)task->self_exec_id;
    bpf_get_current_comm(s->rec.comm, sizeof(s->rec.comm));

    if (INTERRUPTED_KERNEL(ctx)) {
        s->rec.flags |= SAMPLE_IN_KERNEL;
        kernel = kernel_stack(ctx, s);
    }
    s->rec.kernel_count = kernel;
    if (task->flags & TASK_KERNEL_THREAD) {
        s->rec.flags |= SAMPLE_KERNEL_THREAD;
    } else if (!(task->flags & TASK_EXITING)) { /* an exiting task's memory may be gone */
        p = tables_of(s);
        user = p ? walk(task, s, p) : leaf(task, s);
    }
    s->rec.user_count = user;

    words = kernel + user;
    if (words > STACK_MAX + SAMPLE_USER_MAX)
        words = STACK_MAX + SAMPLE_USER_MAX;
    if (bpf_ringbuf_output(&ring, s, sizeof(s->rec) + words * sizeof(__u64), BPF_RB_NO_WAKEUP))
        count(CPU_LOST_RING, 1);
    else
        count(CPU_SAMPLES, 1);
}

/* Whether this processor has spent too much on samples: deep stacks at a high rate would stop it.
 */
static __always_inline bool over_budget(struct scratch *s, __u64 now_ns)
{
    if (now_ns - s->window_start_ns >= CPU_BUDGET_WINDOW_NS) {
        s->window_start_ns = now_ns;
        s->window_spent_ns = 0;
    }
    return s->window_spent_ns > budget_ns;
}

/* Whether this event of set @set, below CPU_SETS_MAX, is the one of its block. */
static __always_inline bool is_picked(struct scratch *s, __u32 set)
{
    struct block *b = &s->blocks[set];
    __u64 interval = intervals[set];

    if (interval <= 1)
        return true;
    if (b->left == 0 || b->interval != interval) {
        b->interval = b->left = interval;
        b->pick = ((__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32()) % interval;
    }
    return --b->left == b->pick;
}

SEC("perf_event")
int cpu_tick(struct bpf_perf_event_data *ctx)
{
    __u64 ids = bpf_get_current_pid_tgid(), now_ns, took_ns;
    __u32 set = bpf_get_attach_cookie(ctx) & (CPU_SETS_MAX - 1), zero = 0;
    __u32 host_pid = ids >> 32, host_tid = (__u32)ids;
    struct task_struct *task;
    struct scratch *s;

    count(CPU_RUNS, 1);
    if (!host_pid) /* the idle task: its ticks are switched off where the kernel can */
        return 0;
    task = (struct task_struct *)bpf_get_current_task_btf();
    if (pid_ns_inum) {
        host_pid = pid_number(task->group_leader->thread_pid);
        host_tid = pid_number(task->thread_pid);
    }
    if (!(wanted_sets(host_pid) & (1U << set)))
        return 0;
    if (!host_pid) {
        count(CPU_HIDDEN, 1);
        return 0;
    }
    s = bpf_map_lookup_elem(&scratches, &zero);
    if (!s) {
        count(CPU_LOST_BUG, 1);
        return 0;
    }
    if (!is_picked(s, set))
        return 0;
    now_ns = bpf_ktime_get_ns();
    if (over_budget(s, now_ns)) {
        count(CPU_LOST_BUDGET, 1);
        return 0;
    }
    s->rec.time_ns = now_ns;
    s->rec.host_pid = host_pid;
    s->rec.host_tid = host_tid;
    s->rec.set = set;
    take_sample(ctx, task, s);
    took_ns = bpf_ktime_get_ns() - now_ns;
    /* More is not the sample's: the hypervisor took the processor away. */
    s->window_spent_ns += took_ns < CPU_SAMPLE_MAX_NS ? took_ns : CPU_SAMPLE_MAX_NS;
    count(CPU_TIME_NS, took_ns);
    return 0;
}
