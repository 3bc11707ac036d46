/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event alloc: allocations of Java threads, by probes in libjvm.so (capture/probe/probes.h) or by
 * an agent (source=agent).
 */
#include "capture/source/agent_sampling.h"

#include "capture/capture_impl.h"
#include "capture/probe/probes.h"

#define FIXED_SAMPLES 50 /* samples; fewer show no loop */
#define FIXED_SHARE 0.4  /* share of equal steps that shows a loop */

struct heap {
    struct agent_sampling agent; /* first; used with source=agent */
    bool stubs_warned;           /* the warning about a JVM that is probed at its stubs was added */
    uint32_t allocs, same_steps; /* samples without SAMPLE_ALONE; those with SAMPLE_SAME_STEP */
};

static const struct source_texts TEXTS = { .first = "what it allocated at first is",
                                           .what = "what",
                                           .cannot = " allocates cannot be sampled",
                                           .is = " allocates is" };

static bool by_agent(const struct capture_event *e)
{
    return e->capture->wish.source == ALLOC_SOURCE_AGENT;
}

static int heap_begin(struct capture_event *e, struct error *err)
{
    if (by_agent(e)) {
        e->empty = AGENT_SAMPLING_EMPTY;
        return agent_sampling_begin(e, "source=agent", "source", err);
    }
    record_warn(e->capture->record,
                "allocations are sampled where a thread's buffer (TLAB) is full, as JFR does: "
                "a loop that always allocates the same sequence may show only some of its "
                "places");
    return 0;
}

static void heap_sets(const struct capture_event *e, struct event_ref *ret)
{
    ret[0] = (struct event_ref){ e->info, by_agent(e) ? e->info->name : e->name,
                                 by_agent(e) ? EVENT_WAY_AGENT : EVENT_WAY_OWN };
}

#define SYMBOLS_JDK 11 /* first JDK with functions through which all allocations go */

/* If @p is probed at its stubs, warns once of the allocations that the probes miss. */
static void warn_stubs(struct capture_event *e, const struct process *p)
{
    struct capture *c = e->capture;
    struct heap *h = e->state;

    if (h->stubs_warned || !probes_by_stubs(&c->captures->probes, &p->id))
        return;
    h->stubs_warned = true;
    record_warn(
        c->record,
        "%d: allocations are sampled at the calls of its allocation stubs%s. Allocations of "
        "native code (JNI) and of the VM are not seen, nor clone() and lambdas outside of "
        "C2's code; their bytes count for other places%s",
        p->id.host_pid,
        p->jdk < SYMBOLS_JDK ? ", as on each JDK 8" : ", because libjvm.so has no symbols",
        p->jdk < SYMBOLS_JDK ? "" : ". Install the JDK's debug symbols to see them");
}

static int heap_prepare(struct capture_event *e, struct process *p, struct error *err)
{
    int r;

    if (by_agent(e))
        return agent_sampling_prepare(e, p, err);
    r = source_prepare_jvm(e, &e->capture->captures->probes, p, &TEXTS, err);
    if (r == 0 && p)
        warn_stubs(e, p);
    return r;
}

static void heap_hold(const struct capture_event *e, const struct proc_id *p)
{
    if (by_agent(e))
        agent_sampling_hold(e, p);
    else if (p)
        probe_table_want(&e->capture->captures->probes, p, PROBE_NO_SET);
}

static void heap_want(struct capture_event *e, struct process *p, uint64_t now_ns)
{
    (void)now_ns;
    if (!by_agent(e) && source_want_jvm(e, &e->capture->captures->probes, p, &TEXTS))
        warn_stubs(e, p);
}

static void heap_weight(struct capture_event *e, const struct sample_record *rec,
                        struct seen_run *run, struct profile_sample *sample)
{
    struct heap *h = e->state;

    (void)run;
    sample->value = source_value(e, rec);
    if (rec->klass && !(rec->flags & SAMPLE_ALONE)) {
        h->allocs++;
        h->same_steps += (rec->flags & SAMPLE_SAME_STEP) != 0;
    }
}

/* Warns if the samples at full buffers repeat a fixed sequence. */
static void heap_warn(const struct capture_event *e)
{
    const struct heap *h = e->state;

    if (by_agent(e) || h->allocs < FIXED_SAMPLES || (double)h->same_steps < FIXED_SHARE * h->allocs)
        return;
    record_warn(e->capture->record,
                "%.0f %% of the samples of alloc repeat the one before: the same class and size, "
                "the same number of bytes later. Allocation repeats in a fixed pattern, as in a "
                "loop: some of its places may be missing here, and others show too much. Use "
                "source=agent, which shows all of them",
                100.0 * h->same_steps / h->allocs);
}

const struct event_source event_source_heap = {
    .state_bytes = sizeof(struct heap),
    .begin = heap_begin,
    .sets = heap_sets,
    .prepare = heap_prepare,
    .hold = heap_hold,
    .want = heap_want,
    .poll = agent_sampling_poll,
    .weight = heap_weight,
    .settle = agent_sampling_settle,
    .warn = heap_warn,
    .empty = { "no Java thread of the target filled its buffer (TLAB)", EMPTY_BYTES_BY_CHANCE },
    .release = agent_sampling_release
};
