/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of waiting: a sample is a wait, which ends when its thread runs again, or by a flush at
 * the end of the capture. Event wall also has samples of running threads.
 */
#include "capture/capture_impl.h"

struct waits {
    uint32_t flush_no; /* number of the flush at the end; 0: none yet */
    bool untracked;    /* a JVM does not list all of its virtual threads */
    bool left_out;     /* there was no room for the virtual threads of a JVM */
    double missed_ns;  /* waits of virtual threads that are in no sample */
};

enum { WAITING, RUNNING }; /* the sets of event wall */

/* Returns the value of a wait's sample: the part of it within @c. 0: none. */
static uint64_t wait_value(const struct capture_event *e, const struct sample_record *rec)
{
    struct capture *c = e->capture;
    uint64_t begun = rec->time_ns - MIN(rec->wait_ns, rec->time_ns);
    uint64_t from = MAX(begun, c->start_ns), to = MIN(rec->time_ns, c->end_ns);

    if (from >= to)
        return 0;
    return (uint64_t)((double)rec->value * ((double)(to - from) / (double)rec->wait_ns) /
                          source_share(e, rec) +
                      0.5);
}

/* Returns the number of waits that @rec stands for, since not all are sampled: right on average. */
static uint32_t wait_count(const struct capture_event *e, const struct sample_record *rec)
{
    double waits = (double)rec->value / (double)rec->wait_ns / source_share(e, rec);
    double rest =
        (double)(capture_draw(e->capture, rec) * UINT64_C(0x9e3779b97f4a7c15) >> 11) * 0x1p-53;

    return (uint32_t)MAX(MIN(waits + rest, (double)UINT32_MAX), 1.0);
}

static bool waits_cover(const struct capture_event *e, const struct sample_record *rec)
{
    const struct waits *w = e->state;

    if (!rec->wait_ns)
        return capture_spans(e->capture, rec);
    if (rec->flush ? rec->flush != w->flush_no : w->flush_no && rec->flushed >= w->flush_no)
        return false; /* of another capture's flush, or counted by its own flush already */
    return wait_value(e, rec) > 0;
}

static void waits_weight(struct capture_event *e, const struct sample_record *rec,
                         struct seen_run *run, struct profile_sample *sample)
{
    struct capture *c = e->capture;

    (void)run;
    if (!rec->wait_ns) {
        sample->value = source_value(e, rec);
        return;
    }
    sample->value = wait_value(e, rec);
    sample->time_ns = MIN(rec->time_ns, c->end_ns - 1);
    if (c->wish.counts_objects)
        sample->count = wait_count(e, rec);
}

static bool waits_flush(struct capture_event *e)
{
    struct waits *w = e->state;
    uint32_t pending;

    return broker_sample_flush(e->capture->captures->broker, e->sets[WAITING].set, &w->flush_no,
                               &pending, NULL) == 0 &&
           pending > 0;
}

/* Flushes pending stacks: on a busy machine, their threads may wait for a processor for long. */
static void waits_lates(const struct capture_event *e)
{
    const struct waits *w = e->state;

    if (w->flush_no)
        broker_sample_lates(e->capture->captures->broker, e->sets[WAITING].set, NULL);
}

/* Requests waits of virtual threads without a carrier, which are read from the JVM
 * (engine/virtual_waits.h). */
static void want_virtual(struct capture_event *e, struct process *p, uint64_t now_ns, bool locks)
{
    const struct virtual_wish *wish;
    struct waits *w = e->state;

    if (p->jvm != JVM_READY || !p->vm || hotspot_vm_jdk(p->vm) < 21 ||
        e->sets[WAITING].set == NO_SET)
        return;
    wish = virtual_wishes_add(&e->capture->captures->virtual_wishes, &p->id, process_payer(p),
                              e->sets[WAITING].set, locks, now_ns);
    w->left_out |= !wish;
    w->untracked |= wish && wish->untracked;
}

static void waits_want(struct capture_event *e, struct process *p, uint64_t now_ns)
{
    want_virtual(e, p, now_ns, /* locks= */ false);
}

static void locks_want(struct capture_event *e, struct process *p, uint64_t now_ns)
{
    want_virtual(e, p, now_ns, /* locks= */ true);
}

static void waits_warn(const struct capture_event *e)
{
    const struct waits *w = e->state;

    if (w->untracked)
        record_warn(e->capture->record,
                    "virtual threads that no executor has started are missing in %s: the JVM runs "
                    "with -Djdk.trackAllThreads=false",
                    e->name);
    if (w->left_out)
        record_warn(
            e->capture->record,
            "virtual threads without a carrier are missing in %s of some JVMs: it has those "
            "of %u JVMs at most",
            e->name, VIRTUAL_JVMS_MAX);
    if (w->missed_ns > 0)
        record_warn(e->capture->record,
                    "%.1f s of waits of virtual threads are missing in %s: looks at their JVMs "
                    "were more than a second apart; profile fewer JVMs at a time",
                    w->missed_ns / 1e9, e->name);
}

/* Returns how much of @missed lies within @c. */
static uint64_t missed_within(const struct capture *c, const struct virtual_missed *missed)
{
    uint64_t from = MAX(missed->from_ns, c->start_ns), to = MIN(missed->to_ns, c->end_ns);

    return to > from ? to - from : 0;
}

void waits_miss_virtual(struct captures *captures, const struct virtual_wish *w,
                        const struct process *p, const struct virtual_missed *missed)
{
    for (struct capture *c = captures->running; c; c = c->next) {
        for (size_t i = 0; i < c->event_count; i++) {
            struct capture_event *e = &c->events[i];
            bool locks = e->source->want == locks_want;
            struct waits *waits = e->state;

            if (!e->ready || (e->source->want != waits_want && !locks) ||
                !((locks ? w->lock_sets : w->sets) & 1u << e->sets[WAITING].set) ||
                !(target_is_node(c->target) || target_matches(c->target, p)))
                continue;
            waits->missed_ns +=
                (double)missed_within(c, missed) * (locks ? missed->lockers : missed->threads);
        }
    }
}

bool waits_take_virtual(const struct captures *captures, uint32_t set, bool locks)
{
    for (const struct capture *c = captures->running; c; c = c->next) {
        for (size_t i = 0; i < c->event_count; i++) {
            const struct capture_event *e = &c->events[i];

            if (e->ready && e->sets[WAITING].set == set &&
                e->source->want == (locks ? locks_want : waits_want))
                return true;
        }
    }
    return false;
}

#define WAITS                                                                                      \
    .state_bytes = sizeof(struct waits), .covers = waits_cover, .flush = waits_flush,              \
    .lates = waits_lates

const struct event_source event_source_offcpu = {
    WAITS, .weight = waits_weight, .want = waits_want, .warn = waits_warn,
    .empty = { "no thread of the target waited", EMPTY_BY_CHANCE }
};
const struct event_source event_source_lock = {
    WAITS,
    .weight = waits_weight,
    .want = locks_want,
    .warn = waits_warn,
    .reads_threads = true,
    .empty = { "no Java thread of the target waited for a lock or a condition", EMPTY_BY_CHANCE }
};
const struct event_source event_source_nativelock = {
    WAITS, .weight = waits_weight, .reads_threads = true,
    .empty = { "no native code of the target waited for a futex", EMPTY_BY_CHANCE }
};

/* ---- event wall ---- */

static void wall_sets(const struct capture_event *e, struct event_ref *ret)
{
    (void)e;
    ret[WAITING] = event_ref_of(events_row(EVENT_OFFCPU));
    ret[RUNNING] = event_ref_of(events_row(EVENT_CPU));
}

/* Returns the value of a sample of a running thread: its CPU time since the sample before. On
 * average, the thread has run one period before its first sample and one after its last. The first
 * sample counts one of these, and the second adds the other. So the sum is right for threads with
 * one sample, and exact to a period or two for others. */
static uint64_t ran(struct seen_run *run, uint64_t period, const struct sample_record *rec)
{
    uint64_t value = period;

    if (run->samples && rec->time_ns < run->time_ns)
        return 1; /* the sample was held: the one after it has its time */
    if (run->samples && rec->run_ns < run->run_ns)
        run->samples = 0; /* another thread with that number */
    if (run->samples)
        value = MAX(rec->run_ns - run->run_ns + (run->samples == 1 ? period : 0), UINT64_C(1));
    run->run_ns = rec->run_ns;
    run->time_ns = rec->time_ns;
    run->samples += run->samples < 2;
    return value;
}

static void wall_weight(struct capture_event *e, const struct sample_record *rec,
                        struct seen_run *run, struct profile_sample *sample)
{
    if (!rec->wait_ns && rec->set == e->sets[RUNNING].set)
        sample->value = ran(run, e->period, rec);
    else
        waits_weight(e, rec, run, sample);
}

static void wall_warn(const struct capture_event *e)
{
    waits_warn(e);
    if (e->sets[RUNNING].set != NO_SET)
        capture_warn_dropped(e->capture, e->sets[RUNNING].period);
}

const struct event_source event_source_wall = { WAITS,
                                                .sets = wall_sets,
                                                .weight = wall_weight,
                                                .want = waits_want,
                                                .warn = wall_warn,
                                                .empty = { "no thread of the target ran or waited",
                                                           EMPTY_BY_CHANCE } };
