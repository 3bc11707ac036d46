// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Events of a JVM as a whole, by its probes (moment_probes.bpf.h). While the VM waits for its
 * threads to stop, late_tick samples the late threads that run. late_switch samples late threads
 * that did not run (preempted, or in a page fault) when they get a processor again. At other times,
 * a tick or switch costs one look-up in a map.
 */
#include "sample/context.bpf.h"

#include "sample/moment_probes.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* One per CPU is enough. late_tick does not run inside itself, as in cpu.bpf.c. While late_switch
 * runs, interrupts are off. */
struct moment_scratch {
    struct stack_scratch stack;
    struct context_work context;
    /* now_ns: when a thread leaves. Both are here, because the BPF stack is nearly full. */
    __u64 now_ns;
    __u32 late; /* enum lateness */
    __u32 zero;
};

MAP(scratches, PERCPU_ARRAY, 1, __u32, struct moment_scratch);

/* State of a thread that left its processor when a safepoint would wait for it. */
struct off_thread {
    __u64 off_ns; /* when it left; 0: it is back */
    __u32 epoch, count;
    __u16 flags, end;
    __u32 late;                    /* enum lateness */
    __u64 words[MOMENT_OFF_WORDS]; /* the user's stack */
    struct sample_context context;
    __u64 has_context; /* 1: context was read */
};

/* By thread id in the first pid namespace. No event reports the end of a thread. */
MAP(off_threads, LRU_HASH, MOMENT_OFF_THREADS_MAX, __u32, struct off_thread);

/* An empty value, which new entries start from. */
MAP(no_thread, ARRAY, 1, __u32, struct off_thread);

/* Written by the loader. */
__u32 epoch; /* times that late_switch was attached */

/* ---- late threads ---- */

/* Returns the JavaThread of the thread of @s: by the VM's list, or by a register if the thread is
 * in Java code and too new for the list. 0: unknown, or not a Java thread. */
static __always_inline __u64 java_thread(struct stack_scratch *s, struct task_struct *task)
{
    struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
    __u64 key = (__u64)s->rec.host_pid << 32 | s->rec.host_tid,
          *thread = bpf_map_lookup_elem(&threads, &key);
    struct unwind_process *p;
    __u64 pc, known;

    if (thread) {
        known = *thread;
        /* Otherwise clang merges this load with that of the register, which the verifier
         * refuses. */
        asm volatile("" : "+r"(known));
        return known;
    }
    p = tables_of(s);
    pc = user_pc(regs);
    return p && pc >= p->vm.code_low && pc < p->vm.code_high ? user_thread(regs) : 0;
}

#define TASK_WAITS 1 /* TASK_INTERRUPTIBLE: waits for a lock or input, not in a page fault */

enum lateness {
    NOT_LATE,   /* no safepoint waits for it */
    LATE,       /* every safepoint that begins now, or has begun, waits for it */
    LATE_LATER, /* only the next safepoint waits for it: it has stopped for the present one */
};

/* Returns whether safepoints wait for @thread, by the state that the VM stores for it. Not inlined,
 * for the same reason as comes_back(). */
static __attribute__((noinline)) enum lateness lateness_of(const struct moment_process *p,
                                                           __u64 thread)
{
    __u64 known, id;
    __u32 state;

    if (!thread || bpf_probe_read_user(&state, sizeof(state), (void *)(thread + p->thread.state)) ||
        state < p->thread.begun || state >= p->thread.end || state == p->thread.native)
        return NOT_LATE;
    if (state != p->thread.blocked)
        return LATE;
    if (!p->thread.safepoint ||
        bpf_probe_read_user(&known, sizeof(known), (void *)(thread + p->thread.safepoint)) ||
        bpf_probe_read_user(&id, sizeof(id), (void *)(known + MOMENT_SAFEPOINT_ID)))
        return NOT_LATE;
    return id ? LATE_LATER : NOT_LATE;
}

static __always_inline struct moment_scratch *my_scratch(void)
{
    __u32 zero = 0;
    struct moment_scratch *s = bpf_map_lookup_elem(&scratches, &zero);

    if (!s)
        count(STACK_LOST_OTHER, 1);
    return s;
}

/* Writes the record in @s with the @words behind it. */
static __always_inline void write_sample(struct stack_scratch *s, __u32 words)
{
    if (words > STACK_MAX + SAMPLE_USER_MAX + CONTEXT_WORDS)
        words = STACK_MAX + SAMPLE_USER_MAX + CONTEXT_WORDS;
    if (bpf_ringbuf_output(&ring, s, sizeof(s->rec) + words * sizeof(__u64), BPF_RB_NO_WAKEUP)) {
        count(STACK_LOST_RING, 1);
        lose_record(&s->rec);
    } else {
        count(STACK_SAMPLES, 1);
    }
}

static __always_inline void spent(__u64 since_ns)
{
    __u64 took_ns = bpf_ktime_get_ns() - since_ns;

    spend(took_ns);
    count(STACK_TIME_NS, took_ns);
}

SEC("perf_event")
int late_tick(struct bpf_perf_event_data *ctx)
{
    __u32 set = bpf_get_attach_cookie(ctx) & (STACK_SETS_MAX - 1), host_pid;
    struct moment_process *p;
    struct task_struct *task;
    struct moment_scratch *ms;
    struct stack_scratch *s;
    __u64 now_ns;

    if (!bpf_get_current_pid_tgid())
        return 0;
    task = (struct task_struct *)bpf_get_current_task_btf();
    host_pid = process_number(task);
    p = bpf_map_lookup_elem(&vms, &host_pid);
    if (!p || !p->since_ns || !(wanted_sets(host_pid) & (1U << set)))
        return 0;
    ms = my_scratch();
    if (!ms)
        return 0;
    s = &ms->stack;
    now_ns = bpf_ktime_get_ns();
    begin_record(&s->rec, task, host_pid, thread_number(task), now_ns);
    if (lateness_of(p, java_thread(s, task)) != LATE)
        return 0;
    if (over_budget(now_ns, STACK_BUDGET_NS)) {
        count(STACK_LOST_BUDGET, 1);
        lose_of(task, host_pid, 1U << set, /* costly= */ true);
        return 0;
    }
    s->rec.set = set;
    write_sample(
        s, take_context(s, &ms->context, task, take_stacks(ctx, INTERRUPTED_KERNEL(ctx), task, s)));
    spent(now_ns);
    return 0;
}

/* ---- late threads that do not run ---- */

static __always_inline struct off_thread *off_thread_of(struct task_struct *task, bool create)
{
    __u32 key = task->pid, zero = 0;
    struct off_thread *t = bpf_map_lookup_elem(&off_threads, &key), *none;

    if (t || !create)
        return t;
    none = bpf_map_lookup_elem(&no_thread, &zero);
    if (!none || bpf_map_update_elem(&off_threads, &key, none, BPF_NOEXIST))
        return NULL;
    return bpf_map_lookup_elem(&off_threads, &key);
}

/* Stores the stack of @task, which leaves its processor, if a safepoint would wait for it. */
static __always_inline void leaves(struct task_struct *task, __u32 host_pid,
                                   const struct moment_process *p, __u64 now_ns)
{
    struct moment_scratch *ms = my_scratch();
    struct unwind_process *tables;
    struct off_thread *t;
    __u32 n;

    if (!ms || task->flags & TASK_EXITING)
        return;
    ms->now_ns = now_ns;
    begin_record(&ms->stack.rec, task, host_pid, thread_number(task), now_ns);
    ms->late = lateness_of(p, java_thread(&ms->stack, task));
    /* Before JDK 13, a stopping thread waits for a lock of the VM, so a waiting thread is not
     * late. */
    if (ms->late == NOT_LATE || (!p->thread.safepoint && task->__state & TASK_WAITS))
        return;
    if (over_budget(now_ns, STACK_BUDGET_NS)) {
        count(STACK_LOST_BUDGET, 1);
        lose_of(task, host_pid, moment_sets(host_pid), /* costly= */ true);
        return;
    }
    t = off_thread_of(task, /* create= */ true);
    if (!t) {
        count(STACK_LOST_OTHER, 1);
        lose_of(task, host_pid, moment_sets(host_pid), /* costly= */ false);
        return;
    }
    tables = tables_of(&ms->stack);
    n = tables ? walk(task, &ms->stack, tables) : leaf(task, &ms->stack);
    if (n > MOMENT_OFF_WORDS) {
        n = MOMENT_OFF_WORDS;
        ms->stack.rec.flags |= SAMPLE_USER_CUT;
        ms->stack.rec.user_end = UNWIND_END_LIMIT;
    }
    t->off_ns = ms->now_ns;
    t->epoch = epoch;
    t->count = n;
    t->flags = ms->stack.rec.flags;
    t->end = ms->stack.rec.user_end;
    t->late = ms->late;
    bpf_probe_read_kernel(t->words, n * sizeof(__u64), user_words(&ms->stack));
    t->has_context = (__u64)context_keep(&ms->stack, &ms->context, task, &t->context);
    spent(ms->now_ns);
}

/* Returns the number of ticks of a set with @period in @ns. A fraction is rounded up or down at
 * random, so the average is right. */
static __always_inline __u32 ticks_in(__u64 ns, __u64 period)
{
    __u64 ticks = ns / period, rest = ns % period;

    ticks += (__u64)bpf_get_prandom_u32() * period >> 32 < rest;
    return ticks > ~0U ? ~0U : (__u32)ticks;
}

/* Samples @task, which has a processor again, if a safepoint has waited for it. Not inlined, so
 * that a walk can reuse its part of the BPF stack. */
static __attribute__((noinline)) int comes_back(struct task_struct *task, __u32 host_pid,
                                                const struct moment_process *p, __u64 now_ns)
{
    struct off_thread *t = off_thread_of(task, /* create= */ false);
    __u64 since = p->since_ns, off_ns, n, words;
    struct moment_scratch *ms;
    struct stack_scratch *s;
    __u32 sets;
    long kernel;

    off_ns = t ? t->off_ns : 0;
    if (!t || !off_ns)
        return 0;
    t->off_ns = 0;
    if (!since || t->epoch != epoch || (t->late == LATE_LATER && off_ns >= since))
        return 0;
    if (off_ns < since)
        off_ns = since;
    ms = my_scratch();
    if (!ms || off_ns >= now_ns)
        return 0;
    s = &ms->stack;
    begin_record(&s->rec, task, host_pid, thread_number(task), now_ns);
    bpf_probe_read_kernel_str(s->rec.comm, sizeof(s->rec.comm), task->comm);
    s->rec.flags = (__u8)t->flags | SAMPLE_IN_KERNEL;
    s->rec.user_end = (__u8)t->end;
    kernel = bpf_get_task_stack(task, s->frames, STACK_MAX * sizeof(__u64), 0);
    n = kernel > 0 ? (__u64)kernel / sizeof(__u64) : 0;
    if (n >= STACK_MAX) {
        n = STACK_MAX;
        s->rec.flags |= SAMPLE_KERNEL_CUT;
    }
    s->rec.kernel_count = (__u8)n;
    words = t->count;
    if (words > MOMENT_OFF_WORDS)
        words = MOMENT_OFF_WORDS;
    s->rec.user_count = (__u16)words;
    bpf_probe_read_kernel(user_words(s), words * sizeof(__u64), t->words);
    words += n;
    if (t->has_context)
        context_put(s, &t->context, (__u32)words);
    words += s->rec.context_count;
    sets = wanted_sets(host_pid);
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        __u64 period = periods[i];

        s->rec.weight = period && sets & 1U << i ? ticks_in(now_ns - off_ns, period) : 0;
        if (!s->rec.weight)
            continue;
        s->rec.set = (__u8)i;
        write_sample(s, (__u32)words);
    }
    spent(now_ns);
    return 0;
}

/* Returns the VM of @task, if it has probes; else NULL. */
static __always_inline struct moment_process *vm_of(struct task_struct *task, __u32 *ret_pid)
{
    __u32 pid = task->tgid && !(task->flags & TASK_KERNEL_THREAD) ? process_number(task) : 0;

    *ret_pid = pid;
    return pid ? bpf_map_lookup_elem(&vms, &pid) : NULL;
}

SEC("tp_btf/sched_switch")
int late_switch(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)ctx[1];
    struct moment_process *p;
    __u32 pid;

    p = vm_of(task, &pid);
    if (p)
        leaves(task, pid, p, bpf_ktime_get_ns());
    task = (struct task_struct *)ctx[2];
    p = vm_of(task, &pid);
    if (p)
        comes_back(task, pid, p, bpf_ktime_get_ns());
    return 0;
}
