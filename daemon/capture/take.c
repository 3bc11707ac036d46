/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture takes of a sample: whether it is one of its own, what it is worth, its names. */
#include "capture/capture_impl.h"

/* The share of samples like @rec that is kept. A wait of d is sampled with a chance of d/I. It is
 * kept so often that this is so with the capture's own interval. */
static double capture_share(const struct capture_event *event, const struct sample_record *rec)
{
    uint64_t from = event_period_number(rec->set == event->on_set ? event->on_period
                                                                  : event->set_period),
             to = event_period_number(event->period);

    if (rec->wait_ns) {
        from = MAX(from, MIN(rec->wait_ns, to));
        to = MAX(to, from);
    } else if (event->info->flags & EVENT_VALUED && rec->value) { /* a chance of value/I, too */
        from = MIN(rec->value, to);
    }
    return from >= to ? 1.0 : (double)from / (double)to;
}

/* A number that no two samples have, and a sample that is handed on again has still. */
static uint64_t capture_draw(const struct capture *c, const struct sample_record *rec)
{
    uint64_t x = rec->time_ns ^ c->random ^ (uint64_t)rec->host_tid << 32;

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9); /* the mixing of splitmix64 */
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* How many waits like the one of @rec it stands for: right on average, as not all are sampled. */
static uint32_t capture_waits(const struct capture *c, const struct capture_event *event,
                              const struct sample_record *rec)
{
    double waits = (double)rec->value / (double)rec->wait_ns / capture_share(event, rec);
    double rest = (double)(capture_draw(c, rec) * UINT64_C(0x9e3779b97f4a7c15) >> 11) * 0x1p-53;

    return (uint32_t)MAX(MIN(waits + rest, (double)UINT32_MAX), 1.0);
}

/* True for a random share of them: which ones must not depend on anything periodic. */
static bool capture_keeps(const struct capture *c, const struct capture_event *event,
                          const struct sample_record *rec)
{
    double share = capture_share(event, rec);

    return share >= 1.0 || (double)(capture_draw(c, rec) >> 11) * 0x1p-53 < share;
}

/* What the sample of a wait is worth: the part that lies within @c. 0: nothing of it does. */
static uint64_t capture_value(const struct capture *c, const struct capture_event *event,
                              const struct sample_record *rec)
{
    uint64_t begun = rec->time_ns - MIN(rec->wait_ns, rec->time_ns);
    uint64_t from = MAX(begun, c->start_ns), to = MIN(rec->time_ns, c->end_ns);

    if (from >= to)
        return 0;
    return (uint64_t)((double)rec->value * ((double)(to - from) / (double)rec->wait_ns) /
                          capture_share(event, rec) +
                      0.5);
}

/* What a sample at a pace is worth: the events that it stands for. */
static uint64_t capture_counted(const struct capture_event *event, const struct sample_record *rec)
{
    double events = (double)MAX(rec->value, UINT64_C(1)) / capture_share(event, rec);

    return (uint64_t)(events * (double)event_worth(event->info) + 0.5);
}

/* What a sample of a thread that runs is worth: what the thread has run since the one before it.
 * Before its first sample and after its last it has run a period each, on average; the first is
 * worth the one, the second the other besides. So the sum is right for threads that are met once,
 * and exact to a period or two for the others. */
static uint64_t capture_ran(struct seen_run *run, uint64_t period, const struct sample_record *rec)
{
    uint64_t value = period;

    if (run->samples && rec->time_ns < run->time_ns)
        return 1; /* it had to wait: the one after it has its time */
    if (run->samples && rec->run_ns < run->run_ns)
        run->samples = 0; /* another thread of that number */
    if (run->samples)
        value = MAX(rec->run_ns - run->run_ns + (run->samples == 1 ? period : 0), UINT64_C(1));
    run->run_ns = rec->run_ns;
    run->time_ns = rec->time_ns;
    run->samples += run->samples < 2;
    return value;
}

/* Whether the time of a sample is one of @c. */
static bool capture_covers(const struct capture *c, const struct capture_event *event,
                           const struct sample_record *rec)
{
    uint32_t no = event->flush_no;

    if (!rec->wait_ns)
        return rec->time_ns >= c->start_ns && rec->time_ns < c->end_ns;
    if (rec->flush ? rec->flush != no : no && rec->flushed >= no)
        return false; /* of another capture's flush; or the own one had it already */
    return capture_value(c, event, rec) > 0;
}

static void capture_warn_process(struct capture *c, const struct process *p)
{
    const char *name = p->main && p->main[0] ? p->main : p->comm;

    if (p->jvm == JVM_UNSUPPORTED)
        record_warn_process(c->record, "Java frames of %d (%s) have no names: %s", p->id.host_pid,
                            name, p->reason);
    else if (p->jvm == JVM_STARTING)
        record_warn_process(c->record,
                            "JVM %d (%s) was still starting: its first Java frames have no names",
                            p->id.host_pid, name);
}

/* Which it is, is known once its file was read. */
static void capture_warn_image(struct capture *c, struct seen_verdict *v, const struct process *p)
{
    if (v->image_told || p->native_image != IMAGE_NAMELESS)
        return;
    v->image_told = true;
    record_warn_process(c->record, "%d (%s): %s", p->id.host_pid, p->command,
                        process_image_text(p));
}

static void capture_name(struct capture *c, struct incoming *in)
{
    const struct code_later later = { .add = deferred_add, .cookie = c->later };

    if (!c->later || !proc_id_equal(&in->process->id, &c->attach_id)) {
        incoming_name(in, c->symbols != SYMBOLS_NONE);
        return;
    }
    deferred_set_time(c->later, in->rec->time_ns);
    incoming_name_later(in, &later);
}

static void capture_take(struct captures *captures, struct capture *c,
                         const struct capture_event *event, struct incoming *in)
{
    const struct sample_record *rec = in->rec;
    struct seen_verdict *v = capture_verdict(captures, c, in->process, rec->time_ns);
    const uint32_t *frames = in->naming->stack->frames;
    struct profile_sample sample;
    struct seen_run *run;
    uint32_t thread;

    if ((v ? !v->wanted : !target_matches(c->target, in->process)) || !capture_keeps(c, event, rec))
        return;
    if (!v) { /* no room for another process */
        record_drop(c->record, rec->weight);
        return;
    }
    capture_name(c, in);
    if (in->waits || in->naming->stack->left_out)
        return;
    if (!v->warned) {
        v->warned = true;
        capture_warn_process(c, in->process);
        capture_note_symbols(c, in->process);
    }
    capture_warn_image(c, v, in->process);
    if (capture_thread(c, v->process, in, &thread, &run) < 0) {
        record_drop(c->record, rec->weight);
        return;
    }
    incoming_sample(in, &sample);
    sample.thread = thread;
    sample.event = (uint8_t)(event - c->events);
    if (rec->wait_ns) {
        sample.value = capture_value(c, event, rec);
        sample.time_ns = MIN(rec->time_ns, c->end_ns - 1);
        if (c->counts_objects)
            sample.count = capture_waits(c, event, rec);
    } else if (rec->set == event->on_set) {
        sample.value = capture_ran(run, event->period, rec);
    } else if (event->info->flags & EVENT_VALUED) { /* safepoint: a period, until it is weighed */
        sample.value = MAX(rec->value, event->period);
        if (rec->klass && !(rec->flags & SAMPLE_ALONE)) {
            c->allocs++;
            c->same_steps += (rec->flags & SAMPLE_SAME_STEP) != 0;
        }
    } else if (event_is_paced(event->period)) {
        sample.value = capture_counted(event, rec);
    }
    if (c->inlined)
        frames = inlined_stack(c->inlined, in->process, in->naming->stack,
                               RECORD_LATER + LATER_PLACES_MAX);
    if (event->info->flags & EVENT_OBJECTS)
        capture_keep_live(c, rec, &sample, frames, in->naming->stack->count);
    else if (event->info->flags & EVENT_BLOCKS)
        capture_keep_block(captures, c, in, &sample, frames, in->naming->stack->count);
    else
        record_sample(c->record, &sample, frames, in->naming->stack->count);
}

void captures_sample(struct captures *captures, struct incoming *in)
{
    for (struct capture *c = captures->running; c; c = c->next) {
        for (size_t i = 0; i < c->event_count && !in->waits; i++) {
            const struct capture_event *event = &c->events[i];

            if (!(capture_event_sets(event) & 1u << in->rec->set) ||
                !capture_covers(c, event, in->rec))
                continue;
            if (event->info->flags & EVENT_BLOCKS && in->rec->flags & SAMPLE_GIVEN_BACK)
                capture_end_block(captures, c, in);
            else
                capture_take(captures, c, event, in);
        }
    }
}

bool captures_want(const struct captures *captures, uint32_t set)
{
    for (const struct capture *c = captures->running; c; c = c->next) {
        if (capture_sets(c) & 1u << set)
            return true;
    }
    return false;
}
