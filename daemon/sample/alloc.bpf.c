// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Memory that Java threads allocate. A thread allocates in a buffer of its own (TLAB), which no
 * program sees. The program runs where HotSpot takes the slow path: the buffer is full, or the
 * object goes outside of it. The object that did not fit is a sample: it stands for all bytes that
 * its thread allocated since the previous sample (alloc_worth.bpf.h). Large objects are sampled
 * more often than small ones, in proportion to their bytes. So samples of small and of large
 * objects have the same weight. Objects nearly as large as a buffer are the exception: each of them
 * takes the slow path, and stands for its own bytes alone. A sample with less weight than the
 * interval becomes a record with a chance of weight / interval.
 *
 * The same program runs at the start of counted functions (alloc_calls.bpf.h). Each call has weight
 * 1 there, and one call of each interval is sampled. It also runs at functions that request memory
 * from a C library: the weight of a call is the requested bytes, and samples are drawn as above.
 * For sets of event nativelive, the program of native_live.bpf.h runs at these functions instead.
 *
 * It also runs at a function of the agent, which the agent calls for each object that the JVM
 * itself draws (alloc_drawn.bpf.h).
 */
#include "sample/alloc_calls.bpf.h"
#include "sample/alloc_drawn.bpf.h"
#include "sample/alloc_paced.bpf.h"
#include "sample/native_live.bpf.h"
#include "sample/probe_stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Written by the loader. */
__u32 alloc_sets; /* bit set: sets that sample allocations at probes in libjvm.so */
__u32 agent_sets; /* bit set: sets that sample allocations that agents report */
__u32 live_sets;  /* bit set, part of agent_sets: sets of objects that agents track */

/* Draws a sample of @weight in process @host_pid for the sets of @wanted (bits) at a pace. Returns
 * the records' value; 0: not sampled. */
static __always_inline __u64 draw_at_pace(__u32 wanted, __u32 host_pid, __u64 weight)
{
    struct alloc_process *p = bpf_map_lookup_elem(&vms, &host_pid);

    return p && weight && wanted & paced_sets ? draw_paced(p, paced_ns, weight) : 0;
}

/* Returns the sets of @wanted (bits) that sample the event of process @host_pid that @cookie names,
 * and puts its value for each into @as. Not static, so that the verifier checks the walk that
 * follows only once, and not on each path through this function. */
__attribute__((noinline)) int choose(struct alloc_scratch *as, __u32 wanted, __u32 host_pid,
                                     __u64 cookie)
{
    __u32 kind = ALLOC_COOKIE_KIND(cookie);
    __u64 weight, paced;
    __u32 sets = 0, set;

    if (!as)
        return 0;
    as->flags = 0;
    if (kind >= ALLOC_MALLOC) {
        set = set_of(kind);
        as->what.klass = as->what.object = 0;
        as->what.bytes = asked(host_pid, kind, &as->args);
        as->values[set] = draw(set, as->what.bytes);
        return as->values[set] ? 1U << set : 0;
    }
    if (kind >= ALLOC_CALL) {
        set = set_of(kind);
        as->what.klass = as->what.object = 0;
        return takes_call(set, &as->values[set]) ? 1U << set : 0;
    }
    weight = kind == ALLOC_BY_AGENT ? weigh_drawn(as, wanted, host_pid, cookie)
                                    : weigh_object(as, wanted, host_pid, cookie);
    if (!as->what.object)
        wanted &= ~live_sets;
    paced = draw_at_pace(wanted, host_pid, weight);
    UNWIND_LOOP
    for (__u32 i = 0; weight && i < STACK_SETS_MAX; i++) {
        as->values[i] = !(wanted & 1U << i) ? 0 : paced_sets & 1U << i ? paced : draw(i, weight);
        if (as->values[i])
            sets |= 1U << i;
    }
    return (int)sets;
}

static __always_inline int called(probe_registers *ctx)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u32 host_pid = process_number(task);
    __u64 cookie = bpf_get_attach_cookie(ctx);
    __u32 kind = ALLOC_COOKIE_KIND(cookie);
    __u32 sets = wanted_sets(host_pid);
    struct alloc_scratch *as;
    struct arguments args;

    take_arguments(ctx, &args);
    sets &= kind >= ALLOC_CALL       ? 1U << set_of(kind)
            : kind == ALLOC_BY_AGENT ? agent_sets
                                     : alloc_sets;
    if (!sets)
        return 0;
    as = take_scratch();
    if (!as) {
        lose_other(task, host_pid, sets);
        return 0;
    }
    as->args = args;
    sets = (__u32)choose(as, sets, host_pid, cookie);
    if (sets)
        take_sample(task, as, sets, host_pid);
    give_scratch(as);
    return 0;
}

SEC("uprobe")
int alloc_probe(probe_registers *ctx)
{
    use_thread_stack(ctx);
    return is_going(bpf_get_attach_cookie(ctx)) ? 0 : called(ctx);
}
