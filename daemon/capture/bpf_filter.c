/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the filter of the BPF programs in step with the running captures. */
#include "base/list.h"
#include "capture/capture_impl.h"

/* Limit of the time that reading symbols of new processes blocks the engine. */
#define FILTER_PREPARE_NS (100 * NSEC_PER_MSEC)
/* Limit of the time that searching JVMs for tracers, for the recorder, blocks the engine. The last
 * search may exceed it. */
#define FILTER_TRACERS_NS (10 * NSEC_PER_MSEC)
/* Limit of the time that searching for places of tracers and of probes, for the recorder, blocks
 * the engine. */
#define FILTER_ALLOCS_NS (20 * NSEC_PER_MSEC)
/* A process stays in the filter this long after its first thread has ended: others may still
 * run. */
#define FILTER_EXITED_NS (2 * NSEC_PER_SEC)

struct filtered_process {
    int32_t host_pid;
    uint32_t sets; /* bit n: set n samples it */
};

struct reconcile {
    struct captures *captures;
    struct id_table wanted; /* struct filtered_process */
    uint64_t now_ns;
};

static void reconcile_add(struct reconcile *rc, int32_t host_pid, uint32_t sets)
{
    struct filtered_process f = { host_pid, sets };
    uint32_t id;

    if (sets)
        id_table_add(&rc->wanted, &f, &id);
}

/* Probes @p for the events of @c that are ready. */
static void reconcile_probes(struct reconcile *rc, struct capture *c, struct process *p)
{
    for (size_t i = 0; i < c->event_count; i++) {
        struct capture_event *event = &c->events[i];

        if (event->ready && event->source->want)
            event->source->want(event, p, rc->now_ns);
    }
}

/* Returns whether @c needs the Java threads: for waits for locks, and for requests of threads that
 * cannot find their own JavaThread or still wait. flamed must load the tables of these threads
 * before the first sample. */
static bool asks_for_threads(const struct capture *c)
{
    return c->wish.context || ANY_OF(i, c->event_count, c->events[i].source->reads_threads);
}

/* Keeps @p in the filter for FILTER_EXITED_NS: its first thread has ended, but others may still
 * run. */
static void reconcile_exited(struct reconcile *rc, struct process *p)
{
    struct filtered_process f = { .host_pid = p->id.host_pid };
    uint32_t id;

    if (rc->now_ns - MIN(p->exited_ns, rc->now_ns) >= FILTER_EXITED_NS)
        return;
    for (struct capture *c = rc->captures->running; c; c = c->next) {
        if (id_table_find(&c->members.processes, &p->id, &id) && c->members.verdicts[id].wanted) {
            f.sets |= capture_sets(c);
            capture_note_end(c, &c->members.verdicts[id], p);
        }
    }
    if (id_table_find(&rc->captures->filter.processes, &f, &id))
        reconcile_add(rc, f.host_pid, f.sets);
}

static int reconcile_process(void *cookie, struct process *p)
{
    struct reconcile *rc = cookie;
    bool threads = false;
    uint32_t sets = 0;

    if (p->exited) {
        if (p->replaced)
            event_sources_replaced(rc->captures, p);
        reconcile_exited(rc, p);
        return 0;
    }
    for (struct capture *c = rc->captures->running; c; c = c->next) {
        struct seen_verdict *v;

        if (c->state == CAPTURE_PREPARING)
            continue;
        if (target_is_node(c->target)) {
            reconcile_probes(rc, c, p);
            capture_want_context(rc->captures, c, p);
            threads |= p->jvm == JVM_READY && asks_for_threads(c);
            continue;
        }
        v = capture_verdict(rc->captures, c, p, rc->now_ns);
        if (v && v->wanted) {
            sets |= capture_sets(c);
            reconcile_probes(rc, c, p);
            capture_want_context(rc->captures, c, p);
            threads |= p->jvm == JVM_READY && asks_for_threads(c);
        }
    }
    captures_want_context(rc->captures, p, rc->now_ns + FILTER_TRACERS_NS);
    recorded_allocs_want(rc->captures, p, rc->now_ns, rc->now_ns + FILTER_ALLOCS_NS);
    if (sets || threads)
        unwinding_prepare(rc->captures->unwinding, p, rc->now_ns);
    if (threads)
        anchors_all(rc->captures->anchors, p, rc->now_ns);
    if (sets) {
        symbolizer_prepare(rc->captures->symbolizer, p, rc->now_ns + FILTER_PREPARE_NS);
    }
    reconcile_add(rc, p->id.host_pid, sets);
    return 0;
}

/* Keeps the probes in the agents of @c, and those of its one process for events that are not
 * sampled yet. captures_poll() requests the missing ones. */
static void reconcile_coming(struct captures *captures, const struct capture *c)
{
    int32_t pid = target_single_pid(c->target);
    const struct process *p = pid ? discover_find(captures->discover, pid) : NULL;

    for (size_t i = 0; i < c->event_count; i++) {
        const struct capture_event *event = &c->events[i];
        bool coming = p && (!event->ready || c->state == CAPTURE_PREPARING);

        if (!event->refused && event->source->hold)
            event->source->hold(event, coming ? &p->id : NULL);
    }
    if (p && c->wish.context)
        probe_table_want(&captures->contexts, &p->id, PROBE_NO_SET);
}

/* Puts processes into the filter that are new in @wanted, or have other sets there than before. A
 * process that stays sampled is never out of the filter. */
static void filter_put(struct captures *captures, const struct id_table *wanted)
{
    uint32_t id;

    for (uint32_t i = 0; i < wanted->count; i++) {
        const struct filtered_process *f = id_table_get(wanted, i);

        if (!id_table_find(&captures->filter.processes, f, &id))
            broker_filter_process(captures->broker, f->host_pid, f->sets, NULL);
    }
}

/* Removes processes from the filter that are not in @wanted. */
static void filter_drop(struct captures *captures, const struct id_table *wanted)
{
    struct id_table pids; /* int32_t */
    bool complete = true;
    uint32_t id;

    id_table_init(&pids, sizeof(int32_t), DISCOVER_PROCESSES_MAX);
    for (uint32_t i = 0; i < wanted->count && complete; i++) {
        const struct filtered_process *f = id_table_get(wanted, i);

        complete = id_table_add(&pids, &f->host_pid, &id) >= 0;
    }
    for (uint32_t i = 0; i < captures->filter.processes.count && complete; i++) {
        const struct filtered_process *f = id_table_get(&captures->filter.processes, i);

        if (!id_table_find(&pids, &f->host_pid, &id))
            broker_filter_process(captures->broker, f->host_pid, 0, NULL);
    }
    id_table_deinit(&pids);
}

void captures_filter_stopped(struct captures *captures, uint32_t set)
{
    captures->filter.all &= ~(1u << set);
    /* If that was the last set of its event, the probes are gone with it, and are put again. The
     * recorder's set of alloc stays, and so do its probes in libjvm.so. */
    probe_table_lost(&captures->moments.table, PROBE_NO_SET);
    if (!captures->recording.allocs.runs)
        probe_table_lost(&captures->probes, PROBE_NO_SET);
    probe_table_lost(&captures->agents, PROBE_NO_SET);
    probe_table_lost(&captures->virtual_threads.yields, PROBE_NO_SET);
    probe_table_lost(&captures->calls, set);
    for (uint32_t i = 0; i < captures->filter.processes.count; i++) {
        struct filtered_process *f = id_table_at(&captures->filter.processes, i);

        f->sets &= ~(1u << set);
    }
    id_table_rehash(&captures->filter.processes);
}

void captures_reconcile(struct captures *captures, uint64_t now_ns)
{
    struct probe_table *const probed[] = {
        &captures->probes, &captures->agents,   &captures->moments.table,
        &captures->calls,  &captures->contexts, &captures->virtual_threads.yields
    };
    struct reconcile rc = { .captures = captures, .now_ns = now_ns };
    uint32_t all;

    captures->filter.reconciled_ns = now_ns;
    recorded_allocs_begin(captures, now_ns);
    all = captures->recording.sets;
    id_table_init(&rc.wanted, sizeof(struct filtered_process), DISCOVER_PROCESSES_MAX);
    for (struct capture *c = captures->running; c; c = c->next) {
        if (target_is_node(c->target) && c->state != CAPTURE_PREPARING)
            all |= capture_sets(c);
    }
    for (size_t i = 0; i < ARRAY_SIZE(probed); i++)
        probe_table_sweep_begin(probed[i]);
    for (const struct capture *c = captures->running; c; c = c->next)
        reconcile_coming(captures, c);
    if (captures->running || captures->recording.requests || captures->recording.allocs.on)
        discover_each(captures->discover, reconcile_process, &rc);
    recorded_allocs_end(captures);
    for (size_t i = 0; i < ARRAY_SIZE(probed); i++)
        probe_table_sweep_end(probed[i], captures->broker);
    event_sources_swept(captures);
    if (all != captures->filter.all && broker_filter_all(captures->broker, all, NULL) == 0)
        captures->filter.all = all;
    filter_put(captures, &rc.wanted);
    filter_drop(captures, &rc.wanted);
    id_table_deinit(&captures->filter.processes);
    captures->filter.processes = rc.wanted;
}
