/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For BPF programs: the members of a thread that they read, and the head of its record.
 */
#pragma once

#include "sample/registers.bpf.h"

#include "sample/map.bpf.h"
#include "sample/pid_number.bpf.h"
#include "sample/sample_abi.h"
#include "sample/stack_abi.h"
#include "unwind/state.h"

#define STACK_MAX 127 /* limit of frames of bpf_get_stack() itself */

/* The few kernel fields needed; offsets come from the running kernel's BTF. */
struct sched_info {
    unsigned long pcount;                         /* times that it got a processor */
    unsigned long long run_delay;                 /* total ns in run queues */
    unsigned long long last_arrival, last_queued; /* by the scheduler's clock; last_queued 0: not
                                                   * queued */
} __attribute__((preserve_access_index));

struct cfs_rq {
    int throttle_count; /* number of throttled cgroups: its own, and those above */
} __attribute__((preserve_access_index));

struct sched_entity {
    struct cfs_rq *cfs_rq;
    __u64 sum_exec_runtime;      /* ns, up to the scheduler's last update */
    __u64 prev_sum_exec_runtime; /* its value when the thread last got a processor */
} __attribute__((preserve_access_index));

struct mm_struct {
    unsigned long start_stack;
} __attribute__((preserve_access_index));

struct task_struct {
    unsigned int flags;
    struct mm_struct *mm;
    int pid, tgid;
    struct pid *thread_pid;
    struct task_struct *group_leader;
    __u64 start_time, start_boottime;
    __u64 self_exec_id;
    unsigned long nvcsw, nivcsw; /* times that it left the processor, by itself or not */
    unsigned int __state;
    __u32 on_cpu; /* int, or __u8 since Linux 7.2; declared unsigned, because libbpf then adapts to
                   * the smaller type */
    int exit_state;
    bool throttled; /* from 6.18 on: off its run queue until its cgroup has quota again */
    char comm[SAMPLE_COMM_BYTES];
    struct sched_info sched_info;
    struct sched_entity se;
    struct thread_struct thread;
} __attribute__((preserve_access_index));

/* Returns the number of @task's process in flamed's pid namespace, 0 if it has none there. */
static __always_inline __u32 process_number(struct task_struct *task)
{
    return pid_ns_inum ? pid_number(task->group_leader->thread_pid) : (__u32)task->tgid;
}

/* Returns the number of @task in flamed's pid namespace. */
static __always_inline __u32 thread_number(struct task_struct *task)
{
    return pid_ns_inum ? pid_number(task->thread_pid) : (__u32)task->pid;
}

#define TASK_KERNEL_THREAD 0x00200000 /* PF_KTHREAD */
#define TASK_EXITING 0x00000004       /* PF_EXITING */
struct seq_file;

struct bpf_iter_meta {
    union {
        struct seq_file *seq;
        __u64 : 64;
    };
} __attribute__((preserve_access_index));

struct bpf_iter__task {
    union {
        struct bpf_iter_meta *meta;
        __u64 : 64;
    };
    union {
        struct task_struct *task;
        __u64 : 64;
    };
} __attribute__((preserve_access_index));

/* Returns how often @task got a processor; Call it before the task is known to wait. 0: unknown. */
static __always_inline __u64 runs_of(struct task_struct *task)
{
    return bpf_core_field_exists(task->sched_info.pcount) ? task->sched_info.pcount : 0;
}

/* Returns how long @task has waited for a processor so far, in ns; 0 if the kernel does not count
 * it. */
static __always_inline __u64 run_delay_of(struct task_struct *task)
{
    return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

/* Returns true if @task, which leaves its processor, does so because its cgroup has used up its CPU
 * quota. */
static __always_inline bool is_throttled(struct task_struct *task)
{
    if (bpf_core_field_exists(task->throttled))
        return task->throttled;
    if (!bpf_core_field_exists(task->se.cfs_rq->throttle_count))
        return false; /* this kernel has no such limit */
    return task->se.cfs_rq->throttle_count > 0;
}

/* ---- the record ---- */

/* Begins a record of a thread, without frames, value and name. */
static __always_inline void begin_record(struct sample_record *rec, struct task_struct *task,
                                         __u32 host_pid, __u32 host_tid, __u64 time_ns)
{
    rec->time_ns = time_ns;
    rec->start_boottime_ns = task->group_leader->start_boottime;
    rec->exec_id = (__u32)task->self_exec_id;
    rec->host_pid = host_pid;
    rec->host_tid = host_tid;
    rec->weight = 1;
    rec->value = rec->wait_ns = rec->klass = rec->run_ns = rec->unloads = 0;
    rec->flush = rec->flushed = 0;
    rec->kernel_count = rec->context_count = 0;
    rec->user_count = 0;
    rec->flags = 0;
    rec->user_end = UNWIND_END_ROOT;
    rec->lock = UNWIND_LOCK_NONE;
    rec->lock_class = rec->lock_owner = 0;
    rec->object = rec->collections = 0;
}

/* Copies the registers that a walk of @task starts from. @task does not run; @runs is its earlier
 * runs_of(). Returns false if its code has 32 bits. */
static __always_inline bool put_registers(__u64 *to, struct task_struct *task, __u64 runs)
{
    struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
    struct unwind_registers more;

    if (!user_is_64(regs))
        return false;
    to[SAMPLE_REGISTER_RUNS] = runs;
    to[SAMPLE_REGISTER_PC] = user_pc(regs);
    to[SAMPLE_REGISTER_SP] = user_sp(regs);
    to[SAMPLE_REGISTER_FP] = user_fp(regs);
    user_registers(&more, regs);
    to[SAMPLE_REGISTER_THREAD] = more.thread;
    to[SAMPLE_REGISTER_LINK] = more.link;
    to[SAMPLE_REGISTER_METHOD] = more.method;
    to[SAMPLE_REGISTER_BCP] = more.bcp;
    return true;
}
