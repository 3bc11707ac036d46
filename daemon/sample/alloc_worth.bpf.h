/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The weight of an object that took HotSpot's slow path of allocation: a share of all bytes that
 * its thread allocated since the last sample.
 */
#pragma once

#include "sample/alloc_sample.bpf.h"

#define STEPS_KEPT 4 /* a power of two */

/* State of a task. "Total" is the number of bytes that the task has allocated so far. */
struct allocating {
    __u64 thread;  /* JavaThread */
    __u64 counted; /* total right after the last sample */
    __u64 carry;   /* bytes before `counted` that no sample stands for yet */
    __u64 buffer;  /* size of its TLAB; 0: unknown */
    __u64 begun;   /* total when it got its TLAB */
    __u64 outside; /* bytes allocated outside of the TLAB since `begun` */
    __u32 epoch;   /* epoch of its process when this was stored; 0: nothing is known */
    /* The interval of the thread's next draw, as its agent reported. */
    __u32 drawn_epoch;
    __u64 drawn;
    __u64 last;              /* total at its last full buffer */
    __u64 steps[STEPS_KEPT]; /* hashes of the last steps; see is_same_step() */
    __u32 step;              /* index of the oldest step */
};

THREAD_MAP(allocators, struct allocating);

/* By process id. */
MAP(vms, HASH, ALLOC_PROCESSES_MAX, __u32, struct alloc_process);

/* The buffer of a thread, and its total of allocated bytes. */
struct thread_bytes {
    __u64 start, top, end, all;
};

/* Reads the buffer and the total of @thread. Returns false if they are unreadable. */
static __always_inline bool read_thread(const struct alloc_vm *vm, __u64 thread,
                                        struct thread_bytes *ret)
{
    if (!read_word(&ret->all, thread + vm->allocated_bytes) ||
        !read_word(&ret->start, thread + vm->tlab_start) ||
        !read_word(&ret->top, thread + vm->tlab_top) ||
        !read_word(&ret->end, thread + vm->tlab_end))
        return false;
    if (ret->top < ret->start || ret->end < ret->top || ret->end - ret->start >= SIZE_MAX_BYTES)
        ret->start = ret->top = ret->end = 0;
    ret->all += ret->top - ret->start;
    return true;
}

/* Returns the weight of an object of @bytes that did not fit into a buffer of @buffer bytes.
 * @since: bytes allocated since the last sample; *ret_carry: how many of these bytes are left for
 * the next sample. */
static __always_inline __u64 worth(__u64 bytes, __u64 buffer, __u64 since, __u64 *ret_carry)
{
    __u64 share = ((buffer - bytes) << 20) / (buffer - bytes / 2),
          mine = (since >> 10) * share >> 10;

    *ret_carry = since - mine;
    return bytes + mine;
}

/* Returns true if the buffer filled up as in one of the thread's last few steps: after as many
 * bytes, and at an equal object. That happens in a program that repeats a fixed sequence of
 * allocations: always the same objects are sampled then. @all: the thread's total. */
static __always_inline bool is_same_step(struct allocating *t, const struct allocated *a, __u64 all)
{
    __u64 step = (all - t->last) * 0x9e3779b97f4a7c15ULL ^ a->klass ^ a->bytes << 48;
    bool same = false;

    UNWIND_LOOP
    for (__u32 i = 0; i < STEPS_KEPT; i++)
        same |= t->steps[i] == step;
    t->last = all;
    t->steps[t->step & (STEPS_KEPT - 1)] = step;
    t->step++;
    return same;
}

/* Returns true if an object's @weight is hardly more than its size: at most a ninth of it are bytes
 * of other objects. That is true of objects too large for any buffer, as each of them takes the
 * slow path. */
static __always_inline bool is_alone(const struct allocated *a, __u64 weight)
{
    return weight - a->bytes <= a->bytes >> 3;
}

/* Returns the weight of an object that is allocated already; 0: not a sample. */
static __always_inline __u64 weigh(struct allocating *t, const struct alloc_process *p,
                                   const struct allocated *a, const struct thread_bytes *b)
{
    __u64 before = b->all - a->bytes, buffer = b->end - b->start, old = t->buffer, since;
    bool known = t->epoch == p->epoch && t->thread == a->thread;
    bool fitted;

    if (!known) {
        t->epoch = p->epoch;
        t->thread = a->thread;
        t->carry = t->outside = 0;
        /* Earlier allocations are unknown, so the sample stands for about one buffer. */
        t->counted = before - (a->outside ? b->top - b->start : buffer);
        old = buffer;
        t->begun = before - (b->top - b->start);
    }
    if (a->outside) {
        t->buffer = old = buffer;
        t->outside += a->bytes;
        fitted = false;
    } else {
        /* The object fitted into the old buffer, so a collection took that buffer away. The object
         * is here by chance, not because of its size. */
        fitted = known && old && before - t->begun - t->outside + a->bytes <= old;
        t->buffer = buffer;
        t->begun = before;
        t->outside = 0;
    }
    if (fitted)
        return 0;
    if (a->bytes >= old) {
        t->counted += a->bytes; /* the object counts for itself alone */
        return a->bytes;
    }
    since = before - t->counted + t->carry;
    if (since >= SIZE_MAX_BYTES)
        since = old;
    t->counted = b->all;
    return worth(a->bytes, old, since, &t->carry);
}

/* Returns the weight of an object before its allocation; 0: not a sample. Does not depend on where
 * the object will be: in a new buffer or outside. */
static __always_inline __u64 weigh_before(struct allocating *t, const struct alloc_process *p,
                                          const struct allocated *a, const struct thread_bytes *b)
{
    bool known = t->epoch == p->epoch && t->thread == a->thread;
    __u64 buffer = b->end - b->start, since;

    if (buffer && a->bytes <= b->end - b->top)
        return 0; /* the object fits into the buffer */
    if (!known) {
        t->epoch = p->epoch;
        t->thread = a->thread;
        t->carry = t->outside = t->buffer = 0;
        /* Earlier allocations are unknown, so the sample stands for the contents of the buffer. */
        t->counted = t->begun = b->all - (b->top - b->start);
    }
    if (!buffer) { /* a collection took the buffer away; no sample if the object fitted into it */
        buffer = t->buffer;
        if (b->all - t->begun + a->bytes <= buffer)
            return 0;
    }
    t->buffer = buffer;
    t->begun = b->all;
    if (a->bytes >= buffer) {
        t->counted += a->bytes;
        return a->bytes;
    }
    since = b->all - t->counted + t->carry;
    if (since >= SIZE_MAX_BYTES)
        since = buffer;
    t->counted = b->all + a->bytes;
    return worth(a->bytes, buffer, since, &t->carry);
}

/* Returns the weight of the object of a call with the arguments of @as and the cookie @cookie; 0:
 * not a sample. If memory for the task's state is missing, counts a lost sample for @wanted
 * (bits). */
static __always_inline __u64 weigh_object(struct alloc_scratch *as, __u32 wanted, __u32 host_pid,
                                          __u64 cookie)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct alloc_process *p = bpf_map_lookup_elem(&vms, &host_pid);
    struct allocated *a = &as->what;
    struct thread_bytes bytes;
    struct allocating *t;
    __u64 weight;

    if (!p || p->epoch != ALLOC_COOKIE_EPOCH(cookie))
        return 0;
    __sync_fetch_and_add(&p->hits, 1);
    set_by_arguments(&p->vm, ALLOC_COOKIE_KIND(cookie), &as->args, a);
    if (!a->thread || !a->bytes || a->bytes >= SIZE_MAX_BYTES)
        return 0;
    t = bpf_task_storage_get(&allocators, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!t) {
        lose_other(task, host_pid, wanted);
        return 0;
    }
    if (!read_thread(&p->vm, a->thread, &bytes))
        return 0;
    weight = a->before ? weigh_before(t, p, a, &bytes) : weigh(t, p, a, &bytes);
    if (weight && is_alone(a, weight)) {
        as->flags = SAMPLE_ALONE;
        t->last += a->bytes; /* steps leave out bytes outside of buffers */
    } else if (weight && is_same_step(t, a, bytes.all)) {
        as->flags = SAMPLE_SAME_STEP;
    }
    return weight;
}
