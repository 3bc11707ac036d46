/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock that a Java thread waits for, read from its own memory, in its own context: a fixed few
 * loads with its rights. Offsets come from flamed and are not trusted. flamed interprets the words.
 *
 * The JavaThread of a thread that waits for a monitor refers to it. The java.lang.Thread of a
 * parked one refers to the blocker. Both references are valid from before the wait until the thread
 * is back.
 */
#pragma once

#include "sample/stack.bpf.h"
#include "unwind/oop.h"

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

/* Reads the word at @at; 0: unreadable. */
static __always_inline __u64 lock_word(__u64 at)
{
    __u64 word = 0;

    if (at < 4096 || at & ~UNWIND_PC_MASK)
        return 0;
    return bpf_probe_read_user(&word, sizeof(word), (const void *)at) ? 0 : word;
}

/* Reads the four bytes at @at; 0: unreadable. */
static __always_inline __u32 lock_half(__u64 at)
{
    __u32 half = 0;

    if (at < 4096 || at & ~UNWIND_PC_MASK)
        return 0;
    return bpf_probe_read_user(&half, sizeof(half), (const void *)at) ? 0 : half;
}

/* Returns the object behind the reference at @at, which lies in an object; 0: none. */
static __always_inline __u64 lock_field(const struct unwind_locks *l, __u64 at)
{
    __u64 oop;

    if (l->oop_bytes != 4)
        return unwind_oop(l, lock_word(at));
    oop = lock_half(at);
    return oop ? l->oop_base + (oop << (l->oop_shift & 31)) : 0;
}

/* Returns the object behind the reference at @at, which is not in an object. @handle: @at holds the
 * address of the reference. */
static __always_inline __u64 lock_root(const struct unwind_locks *l, __u64 at, bool handle)
{
    __u64 oop = lock_word(at);

    return unwind_oop(l, handle ? lock_word(oop) : oop);
}

/* Returns the class word of @object; 0: unreadable. If it is the object of a class, returns the
 * address of that class's Klass, with the bits of UNWIND_LOCK_OF_CLASS. */
static __always_inline __u64 lock_class(const struct unwind_locks *l, __u64 object)
{
    __u64 word, klass;

    word = l->klass_bytes == 4 ? lock_half(object + l->klass) : lock_word(object + l->klass);
    if (l->compact && (word & 3) == 3) /* moved: the mark holds the new address */
        word = lock_word(word & ~3ULL);
    if (!l->class_class || word >> (l->mark_shift & 63) != l->class_class)
        return word;
    klass = lock_word(object + l->class_klass);
    return klass ? klass | UNWIND_LOCK_OF_CLASS : word;
}

/* Returns the JavaThread of the running thread, by its thread pointer; 0: it runs no Java. Some of
 * the VM's own threads are smaller than a JavaThread, so reads must not fail on them. */
static __always_inline __u64 lock_current_thread(const struct unwind_locks *l, __u64 pointer)
{
    __u64 thread;

    if (!l->thread_vtable)
        return 0;
    if (l->current_module) {
        pointer = lock_word(pointer + UNWIND_DTV_AT);
        pointer = lock_word(pointer + (__u64)l->current_module * UNWIND_DTV_BYTES);
    }
    thread = lock_word(pointer + (__u64)l->current_word * 8);
    return lock_half(thread) == l->thread_vtable ? thread : 0;
}

/* Reads what @thread, a JavaThread of the process @p, waits for. */
static __always_inline void lock_of_thread(struct lock_words *ret, const struct unwind_process *p,
                                           __u64 thread)
{
    const struct unwind_locks *l = &p->vm.locks;
    __u64 monitor, object;

    ret->kind = UNWIND_LOCK_NONE;
    ret->class_word = ret->owner = 0;
    monitor = lock_word(thread + l->pending_monitor);
    if (monitor) {
        ret->kind = UNWIND_LOCK_MONITOR;
        ret->owner = lock_word(monitor + l->monitor_owner);
    } else {
        monitor = lock_word(thread + l->waiting_monitor);
        if (monitor)
            ret->kind = UNWIND_LOCK_WAIT;
    }
    if (monitor) {
        object = lock_root(l, monitor + l->monitor_object, l->monitor_handle);
    } else {
        object = lock_root(l, thread + l->thread_object, l->thread_handle);
        if (!object)
            return;
        object = lock_field(l, object + l->park_blocker);
        if (!object)
            return;
        ret->kind = UNWIND_LOCK_PARK;
        if (l->exclusive_owner)
            ret->owner = lock_field(l, object + l->exclusive_owner);
        if (ret->owner)
            ret->owner = lock_word(ret->owner + l->eetop);
    }
    if (object)
        ret->class_word = lock_class(l, object);
}

/* Reads what the running thread waits for. The JavaThread comes from the thread pointer @pointer.
 * If the vtable of JavaThread is not known, it comes from the table, by @pid and @tid. The table
 * may have the JavaThread of an earlier thread with that number. Not static: the kernel's verifier
 * then checks it once and on its own. */
__attribute__((noinline)) int lock_read(struct lock_words *ret, __u32 pid, __u32 tid, __u64 pointer)
{
    struct unwind_process *p = bpf_map_lookup_elem(&processes, &pid);
    __u64 key = (__u64)pid << 32 | tid, *known = NULL, thread;

    if (!ret)
        return 0;
    ret->kind = UNWIND_LOCK_NONE;
    ret->class_word = ret->owner = 0;
    if (!p || !p->vm.locks.klass_bytes)
        return 0;
    if (!p->vm.locks.thread_vtable)
        known = bpf_map_lookup_elem(&threads, &key);
    thread = known ? *known : lock_current_thread(&p->vm.locks, pointer);
    if (thread)
        lock_of_thread(ret, p, thread);
    return 0;
}
