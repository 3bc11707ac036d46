/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event live: keeps samples of objects until the end, when each JVM's memory shows which objects
 * are alive.
 */
#include "capture/source/agent_sampling.h"

#include "attach/attachment.h"
#include "capture/capture_impl.h"
#include "capture/live.h"

struct objects {
    struct agent_sampling agent;       /* first */
    struct live *live[AGENT_JVMS_MAX]; /* one for each JVM, as agents use the same ids of objects */
};

static int objects_begin(struct capture_event *e, struct error *err)
{
    struct objects *o = e->state;
    int r = agent_sampling_begin(e, "event=live", "event", err);

    for (size_t i = 0; i < o->agent.count && r == 0; i++) {
        r = live_new(e->capture->record, &o->live[i]);
        if (r == 0)
            attachment_take_live(o->agent.jvms[i].attachment);
    }
    return r;
}

static void objects_keep(struct capture_event *e, const struct incoming *in,
                         const struct profile_sample *s, const uint32_t *frames, size_t n)
{
    struct record *record = e->capture->record;
    struct objects *o = e->state;
    struct live_sample kept = { in->rec->object, in->rec->collections, *s };
    uint32_t stack;
    size_t i = 0;

    while (i < o->agent.count && !proc_id_equal(&o->agent.jvms[i].id, &in->process->id))
        i++;
    if (i == o->agent.count || record_hold(record, frames, n, &stack) != 0)
        return;
    kept.sample.stack = stack;
    if (!live_keep(o->live[i], o->agent.jvms[i].attachment, &kept))
        record_drop(record, 1);
}

static void objects_ended(struct capture_event *e)
{
    struct objects *o = e->state;

    for (size_t i = 0; i < o->agent.count; i++) {
        const struct agent_jvm *j = &o->agent.jvms[i];
        struct process *p = discover_find(e->capture->captures->discover, j->id.host_pid);

        if (p && !p->exited && proc_id_equal(&p->id, &j->id))
            live_look(o->live[i], j->attachment, p->vm);
    }
}

struct settling {
    struct capture *c;
    struct frame_table *table;
    uint32_t frames[1 + STACK_FRAMES_MAX];
};

/* Returns the frame of age @age; 0: there is no room. */
static uint32_t age_frame(struct frame_table *table, uint32_t age)
{
    struct frame frame = { .kind = FRAME_THREAD };
    struct function f = { 0 };
    char text[16];
    uint32_t id;

    snprintf(text, sizeof(text), "%u", age);
    if (frame_table_string(table, span_of(text), &f.name) < 0 ||
        frame_table_function(table, &f, &frame.function) < 0 ||
        frame_table_frame(table, &frame, &id) < 0)
        return 0;
    return id;
}

static void settle(void *cookie, const struct live_sample *s, uint32_t objects, uint32_t age)
{
    struct settling *to = cookie;
    struct profile_sample sample = s->sample;
    size_t n = record_held(to->c->record, sample.stack, to->frames + 1, STACK_FRAMES_MAX);

    to->frames[0] = age == LIVE_NO_AGE ? 0 : age_frame(to->table, age);
    if (to->c->wish.counts_objects)
        sample.count = objects;
    record_sample(to->c->record, &sample, to->frames + !to->frames[0], n + !!to->frames[0]);
}

/* Adds warnings about what the result @f of JVM @j lacks. @whose: by agent_jvm_prefix(). */
static void warn(struct capture *c, const struct agent_jvm *j, const char *whose,
                 const struct live_found *f)
{
    if (!f->looked) {
        if (j->since_ns)
            record_warn(c->record,
                        "%swhich objects are alive is not known: at the end the agent or the JVM "
                        "was gone, or did not answer",
                        whose);
        return;
    }
    if (!f->any_looked_at && f->alive)
        record_warn(c->record,
                    "%sno collection has looked at these objects since they were allocated, so all "
                    "count as alive; take more seconds, or have the JVM collect (jcmd PID GC.run)",
                    whose);
    else if (f->any_looked_at && !f->collections)
        record_warn(c->record,
                    "%sthis JVM does not count its collections, so objects have no age. Objects "
                    "that none has looked at are left out (%llu samples)",
                    whose, (unsigned long long)f->young);
    else if (f->any_looked_at)
        record_warn(c->record,
                    "%s%u collection%s begun during it. Objects that none has looked at are left "
                    "out (%llu samples): they may not be reachable",
                    whose, f->collections, f->collections == 1 ? " has" : "s have",
                    (unsigned long long)f->young);
    if (f->thinned)
        record_warn(c->record,
                    "%smore than %u objects were to be followed: a random share of them was, and "
                    "counts for the others. The sum of bytes is not changed by that",
                    whose, STREAM_LIVE_MAX);
    if (f->missed)
        record_warn(c->record,
                    "%sthe agent could not follow %llu objects: its memory or its table was full",
                    whose, (unsigned long long)f->missed);
}

static void objects_settle(struct capture_event *e, uint64_t end_ns)
{
    struct capture *c = e->capture;
    _cleanup_free_ struct settling *to = calloc(1, sizeof(*to));
    struct objects *o = e->state;
    char prefix[AGENT_JVM_BYTES];

    agent_sampling_settle(e, end_ns);
    if (!to)
        return;
    to->c = c;
    to->table = c->captures->frames;
    for (size_t i = 0; i < o->agent.count; i++) {
        const struct agent_jvm *j = &o->agent.jvms[i];
        struct live_found found;

        live_each(o->live[i], settle, to, &found);
        warn(c, j, agent_jvm_prefix(&o->agent, j, prefix), &found);
    }
}

static size_t objects_kept(const struct capture_event *e)
{
    const struct objects *o = e->state;
    size_t count = 0;

    for (size_t i = 0; i < o->agent.count; i++)
        count += live_count(o->live[i]);
    return count;
}

static void objects_release(struct capture_event *e)
{
    struct objects *o = e->state;

    for (size_t i = 0; i < o->agent.count; i++) {
        if (o->live[i])
            attachment_leave_live(o->agent.jvms[i].attachment);
        o->live[i] = live_free(o->live[i]);
    }
    agent_sampling_release(e);
}

const struct event_source event_source_objects = {
    .state_bytes = sizeof(struct objects),
    .at_end = true,
    .begin = objects_begin,
    .prepare = agent_sampling_prepare,
    .hold = agent_sampling_hold,
    .poll = agent_sampling_poll,
    .keep = objects_keep,
    .ended = objects_ended,
    .settle = objects_settle,
    .empty = { "none of the objects that the JVM picked was still reachable", EMPTY_DRAWN },
    .kept = objects_kept,
    .release = objects_release
};
