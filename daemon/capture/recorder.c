/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "capture/profile_process.h"
#include "capture/request_context.h"
#include "event/events.h"
#include "profile/handlers.h"
#include "profile/waits.h"

/* Returns what @s says of its operation; RECORDED_USES: nothing. */
static enum recorded_use use_of(const struct profile *p, const struct profile_sample *s)
{
    if (s->event == RECORDER_CPU)
        return RECORDED_CPU_NS;
    if (s->event == RECORDER_ALLOC)
        return RECORDED_ALLOC_BYTES;
    return s->event == RECORDER_OFFCPU && sample_state(p, s) == STATE_BLOCKED ? RECORDED_WAIT_NS
                                                                              : RECORDED_USES;
}

/* Adds a sample to the operation of its JVM that a tracer, or else the stack, names. */
static void count_operation(struct recorder *rec, const struct profile *p,
                            struct handlers *handlers, const struct profile_sample *s)
{
    _cleanup_buf_ struct buf name = BUF_UPTO(HANDLERS_TEXT_MAX);
    const struct profile_process *process = &p->processes[p->threads[s->thread].process];
    const struct proc_id of = { .host_pid = process->host_pid,
                                .exec_no = process->exec_no,
                                .start_ticks = process->start_ticks };
    enum recorded_use use = use_of(p, s);
    uint32_t id, handler = handlers_of(handlers, s),
                 told = s->context < p->context_count ? p->contexts[s->context].operation : 0;

    if (!(told || handler) || use == RECORDED_USES || !id_table_find(&rec->jvms, &of, &id) ||
        id >= rec->counters_cap)
        return;
    if (told)
        buf_add_span(&name, intern_get(p->strings, told));
    else
        handlers_name(handlers, handler, &name);
    recorded_operations_add(&rec->counters[id].operations, buf_span(&name), use, s->value);
}

/* Counts the operations of a finished slice, as its requests have their final names. */
static void take_slice(void *cookie, struct profile *p)
{
    _cleanup_(handlers_freep) struct handlers *handlers = NULL;

    if (!p->contexts || handlers_new(p, &handlers) < 0)
        return;
    for (size_t i = 0; i < p->sample_count; i++)
        count_operation(cookie, p, handlers, &p->samples[i]);
}

static int recorder_open(struct recorder *rec, const struct recorder_opts *o, struct error *err)
{
    struct profile_event events[RECORDER_EVENTS];
    const struct event_ref cpu = event_ref_of(events_default());
    const struct event_info *alloc = events_row(EVENT_ALLOC);
    uint64_t real_period;
    int r;

    rec->frames = o->frames;
    rec->contexts = o->contexts;
    rec->allocs = o->allocs;
    rec->period_ns = (uint64_t)(1e9 / o->hz);
    events[RECORDER_CPU] = profile_event_of(events_default(), rec->period_ns);
    events[RECORDER_OFFCPU] = profile_event_of(events_find("offcpu"), NSEC_PER_SEC);
    events[RECORDER_LOCK] = profile_event_of(events_find("lock"), NSEC_PER_SEC);
    events[RECORDER_ALLOC] = profile_event_of(alloc, alloc->default_period);
    id_table_init(&rec->jvms, sizeof(struct proc_id), RECORDER_JVMS_MAX);
    r = flight_new(o->frames, events, o->allocs ? RECORDER_EVENTS : RECORDER_ALLOC, o->keep_ns,
                   o->max_bytes, &rec->flight);
    if (r == 0)
        flight_on_finish(rec->flight, FLIGHT_TO_RECORDER, take_slice, rec);
    if (r == 0 && o->discover)
        r = looks_new(&(struct looks_opts){ .broker = o->broker,
                                            .discover = o->discover,
                                            .frames = o->frames,
                                            .flight = rec->flight,
                                            .contexts = o->contexts,
                                            .event = RECORDER_OFFCPU,
                                            .lock_event = RECORDER_LOCK,
                                            .deliver = o->deliver,
                                            .walk = o->walk,
                                            .cookie = o->cookie },
                      &rec->looks);
    if (r == 0)
        r = sample_sets_take(o->sets, o->broker, &cpu, rec->period_ns,
                             /* may_arm= */ true, &rec->set, &real_period, err);
    return r;
}

int recorder_start(const struct recorder_opts *o, struct recorder **ret, struct error *err)
{
    struct recorder *rec = calloc(1, sizeof(*rec));
    int r;

    if (!rec)
        return -ENOMEM;
    r = recorder_open(rec, o, err);
    if (r < 0) {
        looks_free(rec->looks);
        flight_free(rec->flight);
        free(rec);
        return r;
    }
    *ret = rec;
    return 0;
}

struct recorder *recorder_stop(struct recorder *rec)
{
    if (!rec)
        return NULL;
    looks_free(rec->looks);
    flight_free(rec->flight);
    for (uint32_t i = 0; i < rec->jvms.count && i < rec->counters_cap; i++)
        recorded_operations_deinit(&rec->counters[i].operations);
    id_table_deinit(&rec->jvms);
    free(rec->counters);
    free(rec);
    return NULL;
}

uint32_t recorder_sets(const struct recorder *rec)
{
    return rec ? 1u << rec->set : 0;
}

static bool takes_allocs(const struct recorder *rec, uint32_t set)
{
    return rec->allocs && recorded_allocs_have(rec->allocs, set);
}

bool recorder_takes(const struct recorder *rec, uint32_t set)
{
    return rec && (set == rec->set || (set == LOOKS_SET && rec->looks) || takes_allocs(rec, set));
}

void recorder_tick(struct recorder *rec, uint64_t now_ns)
{
    if (rec)
        looks_tick(rec->looks, now_ns);
}

int recorder_parts(struct recorder *rec, struct flight_range range, struct profile ***ret,
                   size_t *ret_count)
{
    looks_put(rec->looks);
    if (range.to_ns < UINT64_MAX - LOOKED_PUT_NS)
        range.to_ns += LOOKED_PUT_NS; /* waits may be recorded this much later */
    return flight_parts(rec->flight, &range, ret, ret_count);
}

static void recorded_process(struct recorder *rec, struct process *p, struct profile_process *ret)
{
    profile_process_of(rec->frames, p, ret);
    ret->owner = p->owner;
    ret->payer = process_payer(p);
}

static void recorder_count(struct recorder *rec, const struct process *p, uint8_t flags,
                           uint32_t weight)
{
    uint32_t id;

    if (id_table_add(&rec->jvms, &p->id, &id) < 0)
        return;
    if (!array_extend(&rec->counters, &rec->counters_cap, rec->jvms.cap))
        return;
    rec->counters[id].samples[PROFILE_SAMPLE_CATEGORY(flags)] += weight;
}

void recorder_sample(struct recorder *rec, struct incoming *in)
{
    const struct sample_record *s = in->rec;
    struct profile_sample sample;
    struct profile_process pp;
    struct profile_context request = { 0 };
    struct profile_thread t = { .host_tid = (int32_t)s->host_tid };
    bool alloc = takes_allocs(rec, s->set);

    if (alloc && !recorded_allocs_of(rec->allocs, &in->process->id))
        return; /* the sample is from a capture's probes in a JVM that is not recorded */
    incoming_name(in, /* java= */ true);
    if (in->waits)
        return;
    if (s->set == LOOKS_SET) {
        looks_sample(rec->looks, in);
        return;
    }
    recorded_process(rec, in->process, &pp);
    t.name = in->thread_name;
    incoming_sample(in, &sample);
    if (alloc) {
        sample.event = RECORDER_ALLOC;
        sample.value = s->value;
    }
    if (rec->contexts)
        context_recorded(rec->contexts, in, &request);
    flight_sample(rec->flight, &sample,
                  (struct flight_origin){
                      .process = &pp, .thread = &t, .request = rec->contexts ? &request : NULL },
                  in->naming->stack->frames, in->naming->stack->count);
    if (in->process->jvm != JVM_NO && !alloc)
        recorder_count(rec, in->process, in->flags, s->weight);
}

bool recorder_knows(const struct recorder *rec, const struct proc_id *id)
{
    uint32_t found;

    return id_table_find(&rec->jvms, id, &found);
}

void recorder_moment(struct recorder *rec, struct process *p, const struct profile_moment *m)
{
    struct profile_process pp;

    recorded_process(rec, p, &pp);
    flight_moment(rec->flight, m, &pp);
}

void recorder_use_table(struct recorder *rec, struct frame_table *table)
{
    if (!rec)
        return;
    rec->frames = table;
    looks_use_table(rec->looks, table);
    flight_use_table(rec->flight, table);
}

void recorder_forget(struct recorder *rec, const struct process *p)
{
    struct id_table kept;
    struct recorded_jvm *counters;
    uint32_t id, to;

    if (!rec || !id_table_find(&rec->jvms, &p->id, &id) || rec->jvms.count > rec->counters_cap)
        return;
    id_table_init(&kept, sizeof(struct proc_id), RECORDER_JVMS_MAX);
    counters = calloc(rec->counters_cap, sizeof(*counters));
    if (!counters)
        return;
    for (uint32_t i = 0; i < rec->jvms.count; i++) {
        if (i != id && id_table_add(&kept, id_table_get(&rec->jvms, i), &to) == 1)
            counters[to] = rec->counters[i];
        else
            recorded_operations_deinit(&rec->counters[i].operations);
    }
    id_table_deinit(&rec->jvms);
    free(rec->counters);
    rec->jvms = kept;
    rec->counters = counters;
}
