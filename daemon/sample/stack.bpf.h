/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the BPF programs that take stacks: the maps of wanted processes and of unwind tables,
 * and the walk. Each object has its own memory of pcs; all objects share the maps.
 */
#pragma once

#include "sample/task.bpf.h"

#include <linux/bpf_perf_event.h>

#include "sample/loss_abi.h"
#include "unwind/context.h"

#define WALK_CALLS_MAX                                                                             \
    (SAMPLE_USER_MAX * UNWIND_STEPS_PER_WORD) /* limit of calls of walk_fast() in one walk */
#define WALK_CALLS_RUN 64                     /* steps in one walk_run() */

/* Limit of words in a user stack, SAMPLE_USER_MIN to SAMPLE_USER_MAX. */
const volatile __u32 max_words = SAMPLE_USER_MAX;

/* Sets that want every process: bit n for set n. Written by the loader while the programs run. */
__u32 filter_all;

/* The memory of pcs. It is not a map, because a look-up would take as long as the rest of a
 * step. */
struct unwind_known known[UNWIND_KNOWN_COUNT] __attribute__((aligned(64)));

/* By process id: bit set of the sets that want the process. */
LAZY_MAP(filters, HASH, STACK_FILTERS_MAX, __u32, __u32);

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096); /* the loader sets the size */
} ring SEC(".maps");

/* By process id. */
LAZY_MAP(processes, HASH, STACK_PROCESSES_MAX, __u32, struct unwind_process);

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* the loader sets the number */
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, struct unwind_row);
} rows SEC(".maps");

/* By process id << 32 | thread id: the address of its JavaThread. */
MAP(threads, LRU_HASH, STACK_THREADS_MAX, __u64, __u64);

/* CPU time that samples took in this window of a processor. */
struct budget {
    __u64 window_start_ns, window_spent_ns;
};

MAP(budgets, PERCPU_ARRAY, 1, __u32, struct budget);

/* Allocated in advance, because interrupts add to it. */
MAP(losses, HASH, LOSSES_MAX, struct loss_key, struct loss_count);

/* The memory in which a sample is made. */
struct stack_scratch {
    struct sample_record rec;
    __u64 frames[STACK_MAX + 1 + SAMPLE_USER_MAX + CONTEXT_WORDS];
    struct unwind_walk walk;
};

/* ---- the budget ---- */

/* Returns true if this processor has spent more than @limit_ns of its window on samples: deep
 * stacks at a high rate would block it. */
static __always_inline bool over_budget(__u64 now_ns, __u64 limit_ns)
{
    __u32 zero = 0;
    struct budget *b = bpf_map_lookup_elem(&budgets, &zero);

    if (!b)
        return true;
    if (now_ns - b->window_start_ns >= STACK_BUDGET_WINDOW_NS) {
        b->window_start_ns = now_ns;
        b->window_spent_ns = 0;
    }
    return b->window_spent_ns > limit_ns;
}

/* Charges the budget. Time above STACK_SAMPLE_MAX_NS is not charged: then the hypervisor had taken
 * the processor away. */
static __always_inline void spend(__u64 took_ns)
{
    __u32 zero = 0;
    struct budget *b = bpf_map_lookup_elem(&budgets, &zero);

    if (b)
        b->window_spent_ns += took_ns < STACK_SAMPLE_MAX_NS ? took_ns : STACK_SAMPLE_MAX_NS;
}

/* ---- what is lost ---- */

/* Counts a lost sample for each of @sets (bits). Not static: the kernel's verifier then checks it
 * once and on its own, and its part of the stack is free again for a walk. */
__attribute__((noinline)) int lose(__u64 start_boottime_ns, __u32 host_pid, __u32 sets,
                                   __u32 costly)
{
    struct loss_key key = { .start_boottime_ns = start_boottime_ns, .host_pid = host_pid };
    struct loss_count none = {}, *count;

    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        if (!(sets & 1U << i))
            continue;
        key.set = i;
        count = bpf_map_lookup_elem(&losses, &key);
        if (!count) {
            bpf_map_update_elem(&losses, &key, &none, BPF_NOEXIST);
            count = bpf_map_lookup_elem(&losses, &key);
        }
        if (count && costly)
            __sync_fetch_and_add(&count->costly, 1);
        else if (count)
            __sync_fetch_and_add(&count->unread, 1);
    }
    return 0;
}

/* Counts a lost sample of @task. */
static __always_inline void lose_of(struct task_struct *task, __u32 host_pid, __u32 sets,
                                    bool costly)
{
    lose(task->group_leader->start_boottime, host_pid, sets, costly);
}

/* Counts the record @rec as lost. */
static __always_inline void lose_record(const struct sample_record *rec)
{
    lose(rec->start_boottime_ns, rec->host_pid, 1U << (rec->set & (STACK_SETS_MAX - 1)),
         /* costly= */ 0);
}

/* ---- the unwinder's home ---- */

/* Implements unwind_read() of unwind/state.h. */
static __always_inline bool unwind_read(struct unwind_walk *w, void *to, __u32 bytes, __u64 from)
{
    w->reads++;
    return bpf_probe_read_user(to, bytes, (const void *)from) == 0;
}

/* Implements unwind_row() of state.h. */
static __always_inline bool unwind_row(struct unwind_walk *w, __u32 index, struct unwind_row *ret)
{
    struct unwind_row *row = bpf_map_lookup_elem(&rows, &index);

    if (!row)
        return false;
    *ret = *row;
    return true;
}

/* Implements unwind_known_at() of state.h. */
static __always_inline struct unwind_known *unwind_known_at(struct unwind_walk *w, __u32 index)
{
    return &known[index];
}

/* Implements unwind_java_thread() of state.h. */
static __always_inline __u64 unwind_java_thread(struct unwind_walk *w)
{
    __u64 task = w->task, *thread = bpf_map_lookup_elem(&threads, &task);

    return thread ? *thread : 0;
}

/* Returns the start of the user stack's words, which follow those of the kernel's stack. */
static __always_inline __u64 *user_words(struct stack_scratch *s)
{
    __u64 base = s->rec.kernel_count;

    UNWIND_MASK(base, STACK_MAX);
    return s->frames + base;
}

/* Stores word @i of the stack. */
static __always_inline void put_word(__u64 *words, __u64 i, __u64 word)
{
    UNWIND_MASK(i, SAMPLE_USER_MAX - 1);
    words[i] = word;
}
#define UNWIND_OUT(out, i, word) put_word(out, i, word)
#define UNWIND_OUT_TYPE __u64 *

#include "unwind/step.h"

/* Makes one run of the hot path in @s. Returns an enum unwind_outcome. Not static: the kernel's
 * verifier then checks it once and on its own. Apart from walk_step(), so that the stack of a chain
 * of calls holds only one of them. */
__attribute__((noinline)) int walk_fast(struct stack_scratch *s, struct unwind_process *p)
{
    return s && p ? unwind_fast_steps(&s->walk, p, user_words(s)) : UNWIND_STOP;
}

/* Walks one frame in @s. Returns an enum unwind_outcome. */
__attribute__((noinline)) int walk_step(struct stack_scratch *s, struct unwind_process *p)
{
    return s && p ? unwind_step(&s->walk, p, user_words(s)) : UNWIND_STOP;
}

/* Walks more frames. The verifier follows each turn of a loop, so two short nested loops are far
 * cheaper for it than a long one. (bpf_loop() requires Linux 5.17.) */
__attribute__((noinline)) int walk_run(struct stack_scratch *s, struct unwind_process *p)
{
    int outcome = UNWIND_GO_ON;
    __u32 i;

    UNWIND_LOOP
    for (i = 0; i < WALK_CALLS_RUN && outcome == UNWIND_GO_ON; i++) {
        outcome = walk_fast(s, p);
        if (outcome == UNWIND_SLOWLY)
            outcome = walk_step(s, p);
    }
    return outcome;
}

/* Unwinds the user's stack by the tables of @p. Returns the number of words. */
static __always_inline __u32 walk(struct task_struct *task, struct stack_scratch *s,
                                  struct unwind_process *p)
{
    struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
    __u32 limit = max_words, i;

    if (limit > SAMPLE_USER_MAX)
        limit = SAMPLE_USER_MAX;
    s->walk.pointer = THREAD_POINTER(task->thread);
    if (!user_is_64(regs)) {
        s->rec.user_end = UNWIND_END_NO_RULE;
        return 0;
    }
    unwind_start(&s->walk, user_pc(regs), user_sp(regs), user_fp(regs), p->slot,
                 (__u32)bpf_jiffies64(), limit);
    user_registers(&s->walk.registers, regs);
    s->walk.task = (__u64)s->rec.host_pid << 32 | s->rec.host_tid;
    UNWIND_LOOP
    for (i = 0; i < WALK_CALLS_MAX / WALK_CALLS_RUN; i++) {
        if (walk_run(s, p) != UNWIND_GO_ON)
            break;
    }
    s->rec.user_end = s->walk.end;
    if (s->walk.end == UNWIND_END_LIMIT)
        s->rec.flags |= SAMPLE_USER_CUT;
    if (s->walk.wants_thread)
        s->rec.flags |= SAMPLE_WANTS_THREAD;
    return s->walk.words;
}

/* Stores the pc alone, for a process without tables. Returns the number of words. */
static __always_inline __u32 leaf(struct task_struct *task, struct stack_scratch *s)
{
    struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
    __u64 pc = user_pc(regs);

    s->rec.user_end = UNWIND_END_NO_PROCESS;
    if (pc & ~UNWIND_PC_MASK)
        return 0;
    user_words(s)[0] = pc;
    return 1;
}

/* Returns the tables of the process of @s if they belong to its present image; else NULL. */
static __always_inline struct unwind_process *tables_of(const struct stack_scratch *s)
{
    __u32 pid = s->rec.host_pid;
    struct unwind_process *p = bpf_map_lookup_elem(&processes, &pid);

    if (!p || (p->exec_id && p->exec_id != s->rec.exec_id) ||
        (p->start_boottime_ns && p->start_boottime_ns != s->rec.start_boottime_ns))
        return NULL;
    return p;
}

/* Takes the kernel's stack into @s. Returns the number of words. */
static __always_inline __u32 kernel_stack(void *ctx, struct stack_scratch *s)
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

/* Reads how many classes the JVM of @s has unloaded, in its own context. Not static: its variables
 * are on the stack only while it runs. */
__attribute__((noinline)) int count_unloads(struct stack_scratch *s, struct unwind_process *p)
{
    __u64 classes = 0, shared = 0;
    __u8 redefines = 1;

    if (!s || !p || !p->unloads.can_redefine)
        return 0;
    if (bpf_probe_read_user(&classes, sizeof(classes), (const void *)p->unloads.at[0]) ||
        bpf_probe_read_user(&shared, sizeof(shared), (const void *)p->unloads.at[1]) ||
        bpf_probe_read_user(&redefines, sizeof(redefines), (const void *)p->unloads.can_redefine))
        return 0;
    if (!redefines)
        s->rec.unloads = classes + shared + 1;
    return 0;
}

/* Takes both stacks and the name of a thread that an event interrupted into its record, which
 * begin_record() began. Returns the number of words. */
static __always_inline __u32 take_stacks(void *ctx, bool in_kernel, struct task_struct *task,
                                         struct stack_scratch *s)
{
    __u32 kernel = 0, user = 0, words;
    struct unwind_process *p;

    s->rec.run_ns = task->se.sum_exec_runtime;
    bpf_get_current_comm(s->rec.comm, sizeof(s->rec.comm));

    if (in_kernel) {
        s->rec.flags |= SAMPLE_IN_KERNEL;
        kernel = kernel_stack(ctx, s);
    }
    s->rec.kernel_count = kernel;
    if (task->flags & TASK_KERNEL_THREAD) {
        s->rec.flags |= SAMPLE_KERNEL_THREAD;
    } else if (!(task->flags & TASK_EXITING)) { /* an exiting task's memory may be gone */
        p = tables_of(s);
        if (p)
            count_unloads(s, p);
        user = p ? walk(task, s, p) : leaf(task, s);
    }
    s->rec.user_count = user;

    words = kernel + user;
    if (words > STACK_MAX + SAMPLE_USER_MAX)
        words = STACK_MAX + SAMPLE_USER_MAX;
    return words;
}

/* Returns the sets that want process @host_pid, as bits. */
static __always_inline __u32 wanted_sets(__u32 host_pid)
{
    __u32 *sets = bpf_map_lookup_elem(&filters, &host_pid);

    return filter_all | (sets ? *sets : 0);
}
