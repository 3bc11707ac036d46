/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock that a Java thread waits for (unwind/lock_steps.h), read in the thread's own context and
 * with its rights.
 */
#pragma once

#include "sample/current.bpf.h"
#include "unwind/lock_walk.h"

/* Implements lock_read_bytes() of unwind/lock_steps.h. */
static __always_inline bool lock_read_bytes(struct lock_walk *w, void *to, __u32 bytes, __u64 from)
{
    (void)w;
    return bpf_probe_read_user(to, bytes, (const void *)from) == 0;
}

/* Implements lock_now_ns() of unwind/lock_steps.h. */
static __always_inline __u64 lock_now_ns(void)
{
    return bpf_ktime_get_ns();
}

#define LOCK_WALK_NS 200000 /* time limit of a walk, which takes some microseconds */
#include "unwind/lock_steps.h"

struct lock_words {
    __u64 class_word; /* 0: unreadable */
    __u64 owner;
    __u32 kind; /* enum unwind_lock */
    __u32 zero;
    __u64 futex; /* address of the futex that the thread waits for, if sets want it; else 0 */
};

/* Futex operations that wait: FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2. */
#define FUTEX_WAITS (1 << 0 | 1 << 6 | 1 << 9 | 1 << 11 | 1 << 13)
#define FUTEX_OPERATION 127 /* mask of the operation, without flags */

/* Returns the futex that @task, which is in the kernel, waits for, by its system call's arguments;
 * 0: none. */
static __always_inline __u64 futex_of(struct task_struct *task)
{
    struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
    __u64 futex, operation, call = user_call(regs, &futex, &operation);

    operation &= FUTEX_OPERATION;
    if (!user_is_64(regs) || call != SYSCALL_FUTEX || operation > 13)
        return 0;
    return FUTEX_WAITS >> operation & 1 ? futex : 0;
}

/* Reads what the running thread waits for; kind UNREAD: that is unknown, as objects moved or are
 * unreadable. The JavaThread comes from the thread pointer @pointer. If the vtable of JavaThread is
 * not known, it comes from the table, by @pid and @tid. The table may have the JavaThread of an
 * earlier thread with that number. Not static: the kernel's verifier then checks it once and on its
 * own. */
__attribute__((noinline)) int lock_read(struct lock_words *ret, __u32 pid, __u32 tid, __u64 pointer)
{
    struct unwind_process *p = bpf_map_lookup_elem(&processes, &pid);
    __u64 key = (__u64)pid << 32 | tid, *known = NULL, thread;
    struct lock_walk w = {};

    if (!ret)
        return 0;
    ret->kind = UNWIND_LOCK_NONE;
    ret->class_word = ret->owner = 0;
    if (!p || !p->vm.locks.klass_bytes)
        return 0;
    if (!p->vm.locks.thread_vtable)
        known = bpf_map_lookup_elem(&threads, &key);
    thread = known ? *known : current_thread(&p->vm.locks, pointer);
    if (!thread)
        return 0;
    lock_of_thread(&w, &p->vm, thread);
    ret->kind = w.kind;
    ret->class_word = w.class_word;
    ret->owner = w.owner;
    return 0;
}
