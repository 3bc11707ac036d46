/* SPDX-License-Identifier: Apache-2.0 */
/* Takes samples into a capture: decides whether a capture takes a sample, and sets the sample's
 * value and names. */
#include "capture/capture_impl.h"

uint64_t capture_draw(const struct capture *c, const struct sample_record *rec)
{
    uint64_t x = rec->time_ns ^ c->random ^ (uint64_t)rec->host_tid << 32;

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9); /* the mixing of splitmix64 */
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Returns true for a random share of samples. The choice is random, as a periodic one would distort
 * profiles. */
static bool capture_keeps(const struct capture *c, const struct capture_event *event,
                          const struct sample_record *rec)
{
    double share = source_share(event, rec);

    return share >= 1.0 || (double)(capture_draw(c, rec) >> 11) * 0x1p-53 < share;
}

bool capture_spans(const struct capture *c, const struct sample_record *rec)
{
    return rec->time_ns >= c->start_ns && rec->time_ns < c->end_ns;
}

static void capture_warn_process(struct capture *c, const struct process *p)
{
    const char *name = process_title(p);

    if (p->jvm == JVM_UNSUPPORTED)
        record_warn_process(c->record, "Java frames of %d (%s) have no names: %s", p->id.host_pid,
                            name, p->reason);
    else if (p->jvm == JVM_STARTING)
        record_warn_process(c->record,
                            "JVM %d (%s) was still starting: its first Java frames have no names",
                            p->id.host_pid, name);
}

/* Warns once of a native image without names; the kind of image is known once its file was read. */
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
    const struct code_later later = { .add = deferred_add, .cookie = c->names.later };

    if (!c->names.later || !proc_id_equal(&in->process->id, &c->names.attach_id)) {
        incoming_name(in, c->names.symbols != SYMBOLS_NONE);
        return;
    }
    deferred_set_time(c->names.later, in->rec->time_ns);
    incoming_name_later(in, &later);
}

/* Returns the verdict on the process of @in if @c takes the sample. NULL: @c does not take it, or
 * has no room for another process. */
static struct seen_verdict *capture_wanted(struct captures *captures, struct capture *c,
                                           const struct capture_event *event,
                                           const struct incoming *in)
{
    const struct sample_record *rec = in->rec;
    struct seen_verdict *v = capture_verdict(captures, c, in->process, rec->time_ns);

    if ((v ? !v->wanted : !target_matches(c->target, in->process)) || !capture_keeps(c, event, rec))
        return NULL;
    if (!v)
        record_drop(c->record, rec->weight);
    return v;
}

static void capture_take(struct captures *captures, struct capture *c, struct capture_event *event,
                         struct incoming *in)
{
    const struct sample_record *rec = in->rec;
    struct seen_verdict *v = capture_wanted(captures, c, event, in);
    const uint32_t *frames = in->naming->stack->frames;
    struct profile_sample sample;
    struct seen_run *run;
    uint32_t thread;

    if (!v)
        return;
    capture_name(c, in);
    if (in->waits || in->naming->stack->left_out)
        return;
    if (!v->warned) {
        v->warned = true;
        capture_warn_process(c, in->process);
        capture_note_symbols(c, in->process);
    }
    capture_warn_image(c, v, in->process);
    v->samples += rec->weight;
    v->generated += in->naming->stack->generated ? rec->weight : 0;
    if (capture_thread(c, v->process, in, &thread, &run) < 0) {
        record_drop(c->record, rec->weight);
        return;
    }
    incoming_sample(in, &sample);
    sample.thread = thread;
    sample.event = (uint8_t)(event - c->events);
    sample.context = capture_context(captures, c, in, thread);
    source_weigh(event, rec, run, &sample);
    if (c->names.inlined)
        frames = inlined_stack(c->names.inlined, in->process, in->naming->stack,
                               RECORD_LATER + LATER_PLACES_MAX);
    if (event->source->keep)
        event->source->keep(event, in, &sample, frames, in->naming->stack->count);
    else
        record_sample(c->record, &sample, frames, in->naming->stack->count);
}

/* Returns whether @c covers the time of the sample. */
static bool capture_covers(const struct capture *c, const struct capture_event *event,
                           const struct sample_record *rec)
{
    return event->source->covers ? event->source->covers(event, rec) : capture_spans(c, rec);
}

void captures_sample(struct captures *captures, struct incoming *in)
{
    for (struct capture *c = captures->running; c; c = c->next) {
        for (size_t i = 0; i < c->event_count && !in->waits; i++) {
            struct capture_event *event = &c->events[i];

            if (!(capture_event_sets(event) & 1u << in->rec->set) ||
                !capture_covers(c, event, in->rec))
                continue;
            if (!event->source->note || !event->source->note(event, in))
                capture_take(captures, c, event, in);
        }
    }
}

bool captures_want_process(struct captures *captures, uint32_t set, const struct process *p,
                           uint64_t now_ns)
{
    for (struct capture *c = captures->running; c; c = c->next) {
        const struct seen_verdict *v = NULL;

        if (!(capture_sets(c) & 1u << set) || c->state == CAPTURE_PREPARING)
            continue;
        if (!target_is_node(c->target))
            v = capture_verdict(captures, c, p, now_ns);
        if (v ? v->wanted : target_matches(c->target, p)) /* no room: capture_wanted() counts */
            return true;
    }
    return false;
}

bool captures_want(const struct captures *captures, uint32_t set)
{
    for (const struct capture *c = captures->running; c; c = c->next) {
        if (capture_sets(c) & 1u << set)
            return true;
    }
    return false;
}
