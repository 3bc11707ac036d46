// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What a JVM does as a whole: safepoints, operations of the VM, collections. libjvm.so marks where
 * (USDT); moment_probe tells when, with the name. While the VM waits for its threads to stop,
 * late_tick samples those that it waits for. Ticks at other times cost a look at a map.
 */
#include "sample/stack.bpf.h"

#include "sample/moment_abi.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MOMENT_PROCESSES_MAX);
    __type(key, __u32); /* process id */
    __type(value, struct moment_process);
} vms SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, MOMENT_RING_BYTES);
} moments SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, MOMENT_COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

/* As in cpu.bpf.c: late_tick does not run inside itself. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct stack_scratch);
} scratches SEC(".maps");

static __always_inline void count(__u32 which, __u64 n)
{
    __u64 *c = bpf_map_lookup_elem(&counters, &which);

    if (c)
        __sync_fetch_and_add(c, n);
}

/* ---- probes ---- */

/* Where the name lies that a probe tells; 0: nowhere. */
static __always_inline __u64 name_address(struct pt_regs *ctx, __u64 cookie)
{
    __u64 regs[MOMENT_REGISTERS] = {
        [MOMENT_RAX] = ctx->rax, [MOMENT_RBX] = ctx->rbx, [MOMENT_RCX] = ctx->rcx,
        [MOMENT_RDX] = ctx->rdx, [MOMENT_RSI] = ctx->rsi, [MOMENT_RDI] = ctx->rdi,
        [MOMENT_RBP] = ctx->rbp, [MOMENT_RSP] = ctx->rsp, [MOMENT_R8] = ctx->r8,
        [MOMENT_R9] = ctx->r9,   [MOMENT_R10] = ctx->r10, [MOMENT_R11] = ctx->r11,
        [MOMENT_R12] = ctx->r12, [MOMENT_R13] = ctx->r13, [MOMENT_R14] = ctx->r14,
        [MOMENT_R15] = ctx->r15,
    };
    __u32 operand = MOMENT_COOKIE_OPERAND(cookie);
    __u64 at = regs[MOMENT_COOKIE_REGISTER(cookie) & (MOMENT_REGISTERS - 1)];

    if (operand == MOMENT_IN_REGISTER)
        return at;
    if (operand != MOMENT_IN_MEMORY ||
        bpf_probe_read_user(&at, sizeof(at), (void *)(at + MOMENT_COOKIE_OFFSET(cookie))))
        return 0;
    return at;
}

/* From begin to the first operation, or the end: the VM waits for its threads. Whether the process
 * has such probes. */
static __always_inline bool note_wait(__u32 host_pid, __u64 cookie, __u64 now_ns)
{
    struct moment_process *p = bpf_map_lookup_elem(&vms, &host_pid);
    __u32 kind = MOMENT_COOKIE_KIND(cookie);

    if (!p || p->epoch != MOMENT_COOKIE_EPOCH(cookie))
        return false;
    if (kind <= MOMENT_OPERATION_BEGIN)
        p->since_ns = kind == MOMENT_SAFEPOINT_BEGIN ? now_ns : 0;
    return true;
}

SEC("uprobe")
int moment_probe(struct pt_regs *ctx)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    __u64 cookie = bpf_get_attach_cookie(ctx), name;
    struct moment_record rec = { .time_ns = bpf_ktime_get_ns(),
                                 .kind = MOMENT_COOKIE_KIND(cookie),
                                 .exec_id = (__u32)task->self_exec_id,
                                 .start_boottime_ns = task->group_leader->start_boottime };

    rec.host_pid = pid_ns_inum ? pid_number(task->group_leader->thread_pid) : (__u32)task->tgid;
    rec.host_tid = pid_ns_inum ? pid_number(task->thread_pid) : (__u32)task->pid;
    if (!note_wait(rec.host_pid, cookie, rec.time_ns))
        return 0;
    name = name_address(ctx, cookie);
    if (name && bpf_probe_read_user_str(rec.name, sizeof(rec.name), (void *)name) < 0)
        rec.name[0] = '\0';
    if (bpf_ringbuf_output(&moments, &rec, sizeof(rec), BPF_RB_NO_WAKEUP))
        count(MOMENT_LOST_RING, 1);
    return 0;
}

/* ---- late threads ---- */

/* Where the VM describes the thread of @s: by the VM's list, or by its register while it is in Java
 * code, if it is too new for the list. 0: not known, or none of Java's. */
static __always_inline __u64 java_thread(struct stack_scratch *s, struct task_struct *task)
{
    struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
    __u64 key = (__u64)s->rec.host_pid << 32 | s->rec.host_tid,
          *thread = bpf_map_lookup_elem(&threads, &key);
    struct unwind_process *p;
    __u64 pc, known;

    if (thread) {
        known = *thread;
        /* Else clang reads this and the register by one instruction. */
        asm volatile("" : "+r"(known));
        return known;
    }
    p = tables_of(s);
    pc = regs->ip;
    return p && pc >= p->vm.code_low && pc < p->vm.code_high ? regs->r15 : 0;
}

/* Whether a safepoint waits for the thread, by what the VM says that it does. */
static __always_inline bool is_late(const struct moment_process *p, __u64 thread)
{
    __u32 state;

    return thread &&
           bpf_probe_read_user(&state, sizeof(state), (void *)(thread + p->thread_state)) == 0 &&
           state > MOMENT_THREAD_NEW && state < MOMENT_THREAD_STATES &&
           state != MOMENT_THREAD_NATIVE && state != MOMENT_THREAD_BLOCKED;
}

SEC("perf_event")
int late_tick(struct bpf_perf_event_data *ctx)
{
    __u32 set = bpf_get_attach_cookie(ctx) & (STACK_SETS_MAX - 1), zero = 0, host_pid, host_tid,
          words;
    __u64 ids = bpf_get_current_pid_tgid(), now_ns, took_ns, since_ns;
    struct moment_process *p;
    struct task_struct *task;
    struct stack_scratch *s;

    if (!ids)
        return 0;
    task = (struct task_struct *)bpf_get_current_task_btf();
    host_pid = pid_ns_inum ? pid_number(task->group_leader->thread_pid) : (__u32)(ids >> 32);
    p = bpf_map_lookup_elem(&vms, &host_pid);
    since_ns = p ? p->since_ns : 0;
    if (!since_ns || !(wanted_sets(host_pid) & (1U << set)))
        return 0;
    host_tid = pid_ns_inum ? pid_number(task->thread_pid) : (__u32)ids;
    s = bpf_map_lookup_elem(&scratches, &zero);
    if (!s) {
        count(MOMENT_LOST_BUG, 1);
        return 0;
    }
    now_ns = bpf_ktime_get_ns();
    begin_record(&s->rec, task, host_pid, host_tid, now_ns);
    if (!is_late(p, java_thread(s, task)))
        return 0;
    if (over_budget(now_ns, STACK_BUDGET_NS)) {
        count(MOMENT_LOST_BUDGET, 1);
        return 0;
    }
    s->rec.set = set;
    words = take_stacks(ctx, INTERRUPTED_KERNEL(ctx), task, s);
    if (bpf_ringbuf_output(&ring, s, sizeof(s->rec) + words * sizeof(__u64), BPF_RB_NO_WAKEUP))
        count(MOMENT_LOST_RING, 1);
    else
        count(MOMENT_SAMPLES, 1);
    took_ns = bpf_ktime_get_ns() - now_ns;
    spend(took_ns);
    count(MOMENT_TIME_NS, took_ns);
    return 0;
}
