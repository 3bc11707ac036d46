/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads which request the running thread works on (unwind/context_steps.h), in the thread's context
 * and with its rights. Every program that makes samples reads the request when it takes the user's
 * stack.
 */
#pragma once

#include "sample/current.bpf.h"
#include "unwind/context.h"

/* By process id. */
LAZY_MAP(contexts, HASH, STACK_CONTEXTS_MAX, __u32, struct context_path);

/* The number of paths in the table. If it is 0, no sample searches for a path. */
MAP(contexts_put, ARRAY, 1, __u32, __u32);

/* Implements context_read_bytes() of unwind/context_steps.h. */
static __always_inline bool context_read_bytes(struct context_work *w, void *to, __u32 bytes,
                                               __u64 from)
{
    (void)w;
    return bpf_probe_read_user(to, bytes, (const void *)from) == 0;
}

/* Implements context_now_ns() of unwind/context_steps.h. */
static __always_inline __u64 context_now_ns(void)
{
    return bpf_ktime_get_ns();
}

#define CONTEXT_WALK_NS 200000 /* time limit of a walk, which takes some 10 us */
#include "unwind/context_steps.h"

/* Returns true if data of flamed on the image @known is valid for the image @exec_id. @known 0:
 * valid for any image, because the process had no sample yet. */
static __always_inline bool is_of_image(__u32 known, __u32 exec_id)
{
    return !known || known == exec_id;
}

/* Returns true if the running thread's program is the one that the broker took @path for. After an
 * exec the process has another stack, at a random place. */
static __always_inline bool is_of_program(const struct context_path *path)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct mm_struct *mm = task->mm; /* NULL: a kernel thread, or an ended one */

    return path->stack_start && mm && mm->start_stack == path->stack_start;
}

/* Reads into @w the request of the running thread. @pid, @tid and @exec_id are the keys of flamed's
 * data on the thread and its image. The JavaThread comes from that data or from the thread pointer
 * @pointer. Returns 1 if its process has a path. Not static: the kernel's verifier then checks it
 * once and on its own. */
__attribute__((noinline)) int context_read(struct context_work *w, __u32 pid, __u32 tid,
                                           __u32 exec_id, __u64 pointer)
{
    struct context_path *path = bpf_map_lookup_elem(&contexts, &pid);
    struct unwind_process *p;
    __u64 key = (__u64)pid << 32 | tid, *known = NULL, thread;

    if (!w || !path || !is_of_program(path))
        return 0;
    p = bpf_map_lookup_elem(&processes, &pid);
    context_begin(w, path);
    w->pointer = pointer;
    if (!p || !is_of_image(path->exec_id, exec_id) || !is_of_image(p->exec_id, exec_id))
        return 1;
    if (path->ids == CONTEXT_IDS_RECORD) { /* this context needs no Java thread */
        context_walk(w, path, p, 0);
        return 1;
    }
    if (!p->vm.locks.klass_bytes)
        return 1;
    if (!p->vm.locks.thread_vtable) {
        known = bpf_map_lookup_elem(&threads, &key);
        if (!known)
            return 1;
    }
    /* The thread pointer takes precedence: the thread's number may belong to an earlier thread. */
    thread = known ? *known : current_thread(&p->vm.locks, pointer);
    if (thread) {
        context_walk(w, path, p, thread);
        if (w->torn) { /* once more: a read is hardly torn twice in a row */
            context_begin(w, path);
            context_walk(w, path, p, thread);
        }
    } else { /* the thread runs no Java */
        w->out.state = CONTEXT_NO_REQUEST;
    }
    return 1;
}

/* Returns true if the request of @task, which runs, may be read. */
static __always_inline bool has_context(const struct task_struct *task)
{
    __u32 zero = 0, *put = bpf_map_lookup_elem(&contexts_put, &zero);

    return put && *put && !(task->flags & (TASK_KERNEL_THREAD | TASK_EXITING));
}

/* Reads the request of @task, which runs and has its record in @s, into @ret. Returns 1 if its
 * process has a path. Not inlined: its part of the stack is free again for a walk. */
static __attribute__((noinline, unused)) int context_keep(struct stack_scratch *s,
                                                          struct context_work *w,
                                                          struct task_struct *task,
                                                          struct sample_context *ret)
{
    if (!has_context(task) || !context_read(w, s->rec.host_pid, s->rec.host_tid, s->rec.exec_id,
                                            THREAD_POINTER(task->thread)))
        return 0;
    bpf_probe_read_kernel(ret, sizeof(*ret), &w->out);
    return 1;
}

/* Puts @context behind the first @words words of @s, and sets context_count in the record. Not
 * static, for the same reason as context_read(). */
__attribute__((noinline)) int context_put(struct stack_scratch *s, struct sample_context *context,
                                          __u32 words)
{
    if (!s || !context || words > STACK_MAX + SAMPLE_USER_MAX)
        return 0;
    bpf_probe_read_kernel(&s->frames[words], sizeof(*context), context);
    s->rec.context_count = CONTEXT_WORDS;
    return 0;
}

/* Reads the request of @task, which runs, and puts it behind the first @words words of @s. Returns
 * the new number of words. */
static __always_inline __u32 take_context(struct stack_scratch *s, struct context_work *w,
                                          struct task_struct *task, __u32 words)
{
    if (!has_context(task) || !context_read(w, s->rec.host_pid, s->rec.host_tid, s->rec.exec_id,
                                            THREAD_POINTER(task->thread)))
        return words;
    context_put(s, &w->out, words);
    return words + s->rec.context_count;
}
