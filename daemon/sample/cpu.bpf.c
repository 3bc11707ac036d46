// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The programs behind the perf events. They decide whether a tick is wanted, take the kernel's and
 * the user's stack, and write one record into the ring buffer. They run in the context of the event
 * (CPU time: in a hard interrupt). The attach cookie is the set's number. cpu_tick has an event for
 * each set and CPU; point_tick has one for each set, a tracepoint. They know nothing of JVMs.
 */
#include "sample/context.bpf.h"
#include "sample/stack.bpf.h"

#include "sample/pick.bpf.h"
#include "sample/point.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* CPU time that samples may take in each STACK_BUDGET_WINDOW_NS of a processor. */
__u64 budget_ns = STACK_BUDGET_NS;

/* By set: which of its wanted events are sampled. */
struct pick_rate rates[STACK_SETS_MAX];

MAP(counters, PERCPU_ARRAY, STACK_COUNTERS, __u32, __u64);

/* The translated filters of tracepoints, by set. */
MAP(point_filters, ARRAY, STACK_SETS_MAX, __u32, struct point_filter);

struct scratch {
    struct stack_scratch stack;
    struct block blocks[STACK_SETS_MAX];
    __u64 value; /* value of the sample in work; kept here, because the BPF stack is nearly full */
    struct point_room room;
    struct context_work context;
};

/* One per CPU is enough: the kernel neither nests nor preempts perf_event programs. */
MAP(scratches, PERCPU_ARRAY, 1, __u32, struct scratch);

static __always_inline void count(__u32 which, __u64 n)
{
    __u64 *c = bpf_map_lookup_elem(&counters, &which);

    if (c)
        *c += n;
}

#define WAKE_EVERY_NS 50000000ull /* shortest time between two samples that wake flamed */

__u64 woke_ns; /* when a sample woke flamed last */

/* Returns the flags for the ring. A sample of a process without tables wakes flamed, so that flamed
 * can read the data for names before the process ends. */
static __always_inline __u64 wake_flags(const struct sample_record *rec)
{
    return rec->user_end != UNWIND_END_NO_PROCESS || rec->time_ns - woke_ns < WAKE_EVERY_NS
               ? BPF_RB_NO_WAKEUP
               : BPF_RB_FORCE_WAKEUP;
}

static __always_inline void take_sample(void *ctx, bool in_kernel, struct task_struct *task,
                                        struct stack_scratch *s, struct context_work *w)
{
    __u32 words = take_context(s, w, task, take_stacks(ctx, in_kernel, task, s));
    __u64 flags = wake_flags(&s->rec);

    if (bpf_ringbuf_output(&ring, s, sizeof(s->rec) + words * sizeof(__u64), flags)) {
        count(STACK_LOST_RING, 1);
        lose_record(&s->rec);
    } else {
        count(STACK_SAMPLES, 1);
        if (flags == BPF_RB_FORCE_WAKEUP)
            woke_ns = s->rec.time_ns;
    }
}

/* Returns true if the tracepoint's filter of set @set accepts the event of @ctx. */
static __always_inline bool passes(const void *ctx, struct scratch *s, __u32 set)
{
    const struct point_filter *f = bpf_map_lookup_elem(&point_filters, &set);

    return !f || point_takes(ctx, f, &s->room);
}

/* Returns true if this event of set @set is a sample, and stores its value in @s. @ctx: the context
 * of a perf event; NULL for a tracepoint. */
static __always_inline bool is_sample(struct bpf_perf_event_data *ctx, struct scratch *s, __u32 set)
{
    if (!ctx || rates[set].pace_ns != PICK_PACE_KERNEL)
        return is_picked(&s->blocks[set], &rates[set], &s->value);
    s->value = ctx->sample_period;
    return true;
}

/* Handles an event of the set of @cookie. @event: true if @ctx belongs to a perf event. */
static __always_inline int tick(void *ctx, bool event, bool in_kernel, __u64 cookie)
{
    __u64 ids = bpf_get_current_pid_tgid(), now_ns, took_ns;
    __u32 zero = 0, set = PICK_COOKIE_SET(cookie);
    __u32 host_pid = ids >> 32, host_tid = (__u32)ids;
    struct task_struct *task;
    struct scratch *s;

    count(STACK_RUNS, 1);
    if (rates[set].start != PICK_COOKIE_START(cookie)) /* an old link, still to be taken away */
        return 0;
    if (!host_pid) /* the idle task; kernels that can stop its ticks do */
        return 0;
    task = (struct task_struct *)bpf_get_current_task_btf();
    if (pid_ns_inum) {
        host_pid = pid_number(task->group_leader->thread_pid);
        host_tid = pid_number(task->thread_pid);
    }
    if (!(wanted_sets(host_pid) & (1U << set)))
        return 0;
    if (!host_pid) {
        count(STACK_HIDDEN, 1);
        return 0;
    }
    s = bpf_map_lookup_elem(&scratches, &zero);
    if (!s) {
        count(STACK_LOST_OTHER, 1);
        return 0;
    }
    if (!event && !passes(ctx, s, set))
        return 0;
    if (!is_sample(event ? ctx : NULL, s, set))
        return 0;
    now_ns = bpf_ktime_get_ns();
    if (over_budget(now_ns, budget_ns)) {
        count(STACK_LOST_BUDGET, 1);
        lose_of(task, host_pid, 1U << set, /* costly= */ true);
        return 0;
    }
    begin_record(&s->stack.rec, task, host_pid, host_tid, now_ns);
    s->stack.rec.set = set;
    s->stack.rec.value = s->value;
    take_sample(ctx, in_kernel, task, &s->stack, &s->context);
    took_ns = bpf_ktime_get_ns() - now_ns;
    spend(took_ns);
    count(STACK_TIME_NS, took_ns);
    return 0;
}

SEC("perf_event")
int cpu_tick(struct bpf_perf_event_data *ctx)
{
    return tick(ctx, /* event= */ true, INTERRUPTED_KERNEL(ctx), bpf_get_attach_cookie(ctx));
}

/* The kernel has one guard for this program and cpu_tick, so neither runs inside the other. Must
 * not return 0: that would hide the event from perf's users of the tracepoint. */
SEC("tracepoint")
int point_tick(void *ctx)
{
    tick(ctx, /* event= */ false, /* in_kernel= */ true, bpf_get_attach_cookie(ctx));
    return 1;
}
