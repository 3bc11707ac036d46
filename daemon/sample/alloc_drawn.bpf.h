/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The weight of an object that the JVM itself has drawn, and reported to its agent. Each byte that
 * a thread allocates ends an interval with the same probability. So an object is drawn with a
 * probability of 1 - exp(-size/interval), and its weight is its size divided by that probability.
 */
#pragma once

#include "sample/alloc_worth.bpf.h"

/* By process id. */
MAP(agents, HASH, ALLOC_PROCESSES_MAX, __u32, struct alloc_agent);

#define SHARE_STEPS 8 /* per 1 of x = size/interval */
#define SHARE_BITS 16 /* binary places after the point in SHARES */
#define SHARE_STEP_BITS 13
#define SHARES_TO 8 /* above this x, the weight is the size */

/* x / (1 - exp(-x)); a line between two values is right to 1 in 3,000. */
static const __u32 SHARES[SHARES_TO * SHARE_STEPS + 1] = {
    65536,  69717,  74069,  78590,  83280,  88136,  93156,  98337,  103676, 109170, 114815,
    120606, 126539, 132608, 138809, 145138, 151587, 158153, 164829, 171610, 178491, 185467,
    192532, 199681, 206909, 214212, 221584, 229021, 236518, 244072, 251679, 259334, 267035,
    274777, 282558, 290375, 298225, 306105, 314013, 321946, 329903, 337881, 345879, 353895,
    361927, 369974, 378035, 386108, 394193, 402288, 410392, 418505, 426625, 434753, 442887,
    451026, 459171, 467320, 475474, 483631, 491792, 499956, 508123, 516292, 524464,
};

/* Returns the weight of an object of @bytes that was drawn with @interval. */
static __always_inline __u64 drawn_worth(__u64 bytes, __u64 interval)
{
    __u64 x, at, rest, low, high;

    if (bytes >= SHARES_TO * interval)
        return bytes;
    x = (bytes << SHARE_BITS) / interval;
    at = (x >> SHARE_STEP_BITS) & (SHARES_TO * SHARE_STEPS - 1);
    rest = x & ((1 << SHARE_STEP_BITS) - 1);
    low = SHARES[at];
    high = SHARES[at + 1];
    return interval * (low + ((high - low) * rest >> SHARE_STEP_BITS)) >> SHARE_BITS;
}

/* Returns the weight of the object of a call of flamed_agent_sampled(); 0: not a sample. The
 * arguments are the handle of a class, the bytes of the object, and the interval of the thread's
 * next draw. The last one is the object's number if the agent tracks it. Unreadable data counts as
 * lost for @wanted (bits). */
static __always_inline __u64 weigh_drawn(struct alloc_scratch *as, __u32 wanted, __u32 host_pid,
                                         __u64 cookie)
{
    __u64 handle = as->args.n[0], bytes = as->args.n[1], next = as->args.n[2];
    struct task_struct *task = bpf_get_current_task_btf();
    struct alloc_agent *p = bpf_map_lookup_elem(&agents, &host_pid);
    __u64 object, interval = next;
    struct allocating *t;

    if (!p || p->epoch != ALLOC_COOKIE_EPOCH(cookie) || !bytes || bytes >= SIZE_MAX_BYTES ||
        !next || next > ALLOC_INTERVAL_MAX)
        return 0;
    t = bpf_task_storage_get(&allocators, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!t || !read_word(&object, handle & ~7ULL) ||
        !read_word(&as->what.klass, object + p->class_klass) || !as->what.klass) {
        lose_other(task, host_pid, wanted);
        return 0;
    }
    as->what.object = (__u32)as->args.n[3];
    as->what.collections = 0;
    if (as->what.object && p->collections &&
        bpf_probe_read_user(&as->what.collections, sizeof(as->what.collections),
                            (const void *)p->collections) == 0)
        as->what.collections++;
    if (t->drawn_epoch == p->epoch && t->drawn)
        interval = t->drawn;
    t->drawn_epoch = p->epoch;
    t->drawn = next;
    return drawn_worth(bytes, interval);
}
