/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The request of a thread that leaves its processor, stored for the end of its wait, where there is
 * task work. Other requests are read at the end, in the thread's own context. But ZGC may have
 * moved the tracer's objects by then, and updates references only when the program loads them. A
 * wait without a stored request then has none.
 */
#pragma once

#include "sample/wait.bpf.h"

struct left_context {
    __u64 from_ns, to_ns; /* range of the starts of its waits; 0: none */
    struct sample_context context;
};

THREAD_MAP(left_contexts, struct left_context);

/* Returns true if the request of a waiting thread of process @pid must be read when it leaves. At
 * the end of the wait it may be another one: ZGC may have freed and reused the memory. */
static __always_inline bool is_left_with(__u32 pid)
{
    struct context_path *path = bpf_map_lookup_elem(&contexts, &pid);

    return path && path->at_leave;
}

/* Reads the request of the running thread, which is about to leave for the wait @w from @off_ns on.
 * If an older wait still lacks its record, the thread has not run its own code since. The stored
 * request is still right then, and is kept. Not static, as draw(). */
__attribute__((noinline)) int leave_context(struct wait *w, __u64 off_ns)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u32 pid = process_number(task);
    struct context_path *path = bpf_map_lookup_elem(&contexts, &pid);
    struct left_context *left;
    struct off_scratch *os;
    __u64 late;

    if (!w || !path || !path->at_leave)
        return 0;
    left = bpf_task_storage_get(&left_contexts, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!left)
        return 0;
    late = w->late_key;
    if (late && bpf_map_lookup_elem(&lates, &late)) {
        if (left->to_ns)
            left->to_ns = off_ns;
        return 0;
    }
    left->to_ns = 0;
    if (over_budget(off_ns, STACK_BUDGET_NS))
        return 0;
    os = take_scratch();
    if (!os)
        return 0;
    if (context_read(&os->context, pid, thread_number(task), (__u32)task->self_exec_id,
                     THREAD_POINTER(task->thread))) {
        bpf_probe_read_kernel(&left->context, sizeof(left->context), &os->context.out);
        left->from_ns = left->to_ns = off_ns;
    }
    give_scratch(os);
    spend(bpf_ktime_get_ns() - off_ns);
    return 0;
}

/* Puts the stored request of the running thread's wait, which began at @since, behind the first
 * @words words of @s. Returns 1 if there is one. Not static, as draw(). */
__attribute__((noinline)) int put_left_context(struct stack_scratch *s, __u64 since, __u32 words)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct left_context *left = bpf_task_storage_get(&left_contexts, task, 0, 0);

    if (!s || !left || !since || since < left->from_ns || since > left->to_ns)
        return 0;
    context_put(s, &left->context, words);
    return 1;
}
