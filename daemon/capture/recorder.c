/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The always-on part: the flight recorder's samples of the whole node, and from the same samples
 * the CPU time of each JVM by category.
 */
#include "capture/recorder.h"
#include "event/events.h"

static int recorder_open(struct recorder *rec, struct engine *e, double hz, uint64_t keep_ns,
                         size_t max_bytes, struct error *err)
{
    struct profile_event event;
    uint64_t real_period;
    int r;

    rec->period_ns = (uint64_t)(1e9 / hz);
    event = profile_event_of(events_default(), rec->period_ns);
    id_table_init(&rec->jvms, sizeof(struct recorded_jvm_key), RECORDER_JVMS_MAX);
    r = flight_new(e->frames, &event, keep_ns, max_bytes, &rec->flight);
    if (r == 0)
        r = rates_take(&e->rates, e->broker, events_default()->kind, rec->period_ns, &rec->set,
                       &real_period, err);
    return r;
}

int recorder_start(struct engine *e, double hz, uint64_t keep_ns, size_t max_bytes,
                   struct error *err)
{
    struct recorder *rec;
    int r;

    if (hz <= 0 || !e->ring)
        return 0;
    rec = calloc(1, sizeof(*rec));
    if (!rec)
        return -ENOMEM;
    r = recorder_open(rec, e, hz, keep_ns, max_bytes, err);
    if (r < 0) {
        flight_free(rec->flight);
        free(rec);
        return r;
    }
    e->recorder = rec;
    captures_reconcile(e, clock_monotonic_ns());
    return 0;
}

void recorder_stop(struct engine *e)
{
    struct recorder *rec = TAKE_PTR(e->recorder);

    if (!rec)
        return;
    flight_free(rec->flight);
    id_table_deinit(&rec->jvms);
    free(rec->counters);
    free(rec);
}

uint32_t recorder_sets(const struct engine *e)
{
    return e->recorder ? 1u << e->recorder->set : 0;
}

static void recorded_process(struct engine *e, const struct process *p, struct profile_process *ret)
{
    *ret = (struct profile_process){ .start_ticks = p->id.start_ticks,
                                     .host_pid = p->id.host_pid,
                                     .exec_no = p->id.exec_no,
                                     .owner = p->owner };
    frame_table_string(e->frames, span_of(p->main && p->main[0] ? p->main : p->comm), &ret->name);
    frame_table_string(e->frames, span_of(p->container.id), &ret->container);
    frame_table_string(e->frames, span_of(container_pod(&p->container)), &ret->pod);
    frame_table_string(e->frames, span_of(p->container.pod_namespace), &ret->pod_namespace);
}

static void recorder_count(struct recorder *rec, const struct process *p, uint8_t flags,
                           uint32_t weight)
{
    struct recorded_jvm_key key = { p->id.start_ticks, p->id.host_pid, p->id.exec_no };
    uint32_t id;

    if (id_table_add(&rec->jvms, &key, &id) < 0)
        return;
    if (rec->jvms.cap > rec->counters_cap) {
        struct recorded_jvm *c = reallocarray(rec->counters, rec->jvms.cap, sizeof(*c));

        if (!c)
            return;
        memset(c + rec->counters_cap, 0, (rec->jvms.cap - rec->counters_cap) * sizeof(*c));
        rec->counters = c;
        rec->counters_cap = rec->jvms.cap;
    }
    rec->counters[id].samples[PROFILE_SAMPLE_CATEGORY(flags)] += weight;
}

void recorder_sample(struct engine *e, struct incoming *in)
{
    const struct sample_record *s = in->rec;
    struct profile_sample sample;
    struct profile_process pp;
    struct profile_thread t = { .host_tid = (int32_t)s->host_tid };

    incoming_name(e, in, /* java= */ true);
    if (in->waits)
        return;
    recorded_process(e, in->process, &pp);
    t.name = in->thread_name;
    incoming_sample(in, &sample);
    flight_sample(e->recorder->flight, &sample, &pp, &t, e->stack->frames, e->stack->count);
    if (in->process->jvm != JVM_NO)
        recorder_count(e->recorder, in->process, in->flags, s->weight);
}

void recorder_use_table(struct engine *e, const struct frame_table *table)
{
    if (e->recorder)
        flight_use_table(e->recorder->flight, table);
}

void recorder_forget(struct engine *e, const struct process *p)
{
    struct recorded_jvm_key key = { p->id.start_ticks, p->id.host_pid, p->id.exec_no };
    struct recorder *rec = e->recorder;
    struct id_table kept;
    struct recorded_jvm *counters;
    uint32_t id, to;

    if (!rec || !id_table_find(&rec->jvms, &key, &id))
        return;
    id_table_init(&kept, sizeof(key), RECORDER_JVMS_MAX);
    counters = calloc(rec->counters_cap, sizeof(*counters));
    if (!counters)
        return;
    for (uint32_t i = 0; i < rec->jvms.count; i++) {
        if (i != id && id_table_add(&kept, id_table_get(&rec->jvms, i), &to) == 1)
            counters[to] = rec->counters[i];
    }
    id_table_deinit(&rec->jvms);
    free(rec->counters);
    rec->jvms = kept;
    rec->counters = counters;
}
