// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Memory that Java threads allocate. A thread allocates in a buffer of its own (TLAB), which no
 * program sees. The program runs where HotSpot takes the slow path: the buffer is full, or the
 * object goes outside of it. The object that did not fit is the sample of all that its thread
 * allocated since the last one (alloc_worth.bpf.h). Large objects miss more often than small ones,
 * as often as their share of the bytes. So the sample is worth the same whatever its size, but for
 * what is nearly as large as a buffer: that always comes here, and stands for itself alone. Of what
 * a sample is worth less than the interval, a share by chance becomes a record.
 *
 * The same program stands where other functions begin whose calls are counted (alloc_calls.bpf.h).
 * There each call is worth one, and of each interval one is sampled. And where memory of a C
 * library is asked for: there each call is worth the bytes, which are thinned as above. Of sets of
 * event nativelive, another program stands at those: native_live.bpf.h.
 *
 * And it stands at a function of the agent, which is called for objects that the JVM itself draws:
 * alloc_drawn.bpf.h.
 */
#include "sample/alloc_calls.bpf.h"
#include "sample/alloc_drawn.bpf.h"
#include "sample/native_live.bpf.h"
#include "sample/probe_stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Written by the loader. */
__u32 alloc_sets; /* bits: those of allocations at probes in libjvm.so */
__u32 agent_sets; /* bits: those of allocations that agents tell, */
__u32 live_sets;  /* and of these: those of objects that agents follow */

/* The sets of @wanted (bits) that take what happened to process @host_pid, as @cookie says, and its
 * value for each, in @as. Not static: so the verifier checks the walk behind it once, and not once
 * for each way that leads there. */
__attribute__((noinline)) int choose(struct alloc_scratch *as, __u32 wanted, __u32 host_pid,
                                     __u64 cookie)
{
    __u32 kind = ALLOC_COOKIE_KIND(cookie);
    __u64 weight;
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
    UNWIND_LOOP
    for (__u32 i = 0; weight && i < STACK_SETS_MAX; i++) {
        as->values[i] = wanted & 1U << i ? draw(i, weight) : 0;
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
