/* SPDX-License-Identifier: Apache-2.0 */
/* Event live: samples of objects wait for the end, which says whose objects are alive. */
#include "capture/source/agent_sampling.h"

#include "attach/attachment.h"
#include "capture/capture_impl.h"
#include "capture/live.h"

struct objects {
    struct agent_sampling agent; /* first */
    struct live *live;
};

static int objects_begin(struct capture_event *e, struct error *err)
{
    struct objects *o = e->state;
    int r = agent_sampling_begin(e, "event=live", "event", err);

    if (r == 0)
        r = live_new(&o->live);
    if (r == 0)
        attachment_take_live(o->agent.attachment);
    return r;
}

static void objects_keep(struct capture_event *e, const struct incoming *in,
                         const struct profile_sample *s, const uint32_t *frames, size_t n)
{
    struct capture *c = e->capture;
    struct objects *o = e->state;
    struct live_sample kept = { in->rec->object, in->rec->collections, *s };
    uint32_t stack;

    if (record_hold(c->record, frames, n, &stack) != 0)
        return;
    kept.sample.stack = stack;
    if (!live_keep(o->live, o->agent.attachment, &kept))
        record_drop(c->record, 1);
}

static void objects_ended(struct capture_event *e)
{
    struct objects *o = e->state;
    struct process *p = discover_find(e->capture->captures->discover, o->agent.id.host_pid);

    if (p && !p->exited && proc_id_equal(&p->id, &o->agent.id))
        live_look(o->live, o->agent.attachment, p->vm);
}

struct settling {
    struct capture *c;
    struct frame_table *table;
    uint32_t frames[1 + STACK_FRAMES_MAX];
};

/* The frame that says an age. 0: there is no room for one. */
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

static void warn(struct capture *c, const struct objects *o, const struct live_found *f)
{
    if (!f->looked) {
        if (o->agent.since_ns)
            record_warn(c->record, "nothing is known of what is alive: at the end the agent or the "
                                   "JVM was gone, or did not answer");
        return;
    }
    if (!f->any_looked_at && f->alive)
        record_warn(c->record,
                    "no collection has looked at these objects since they were allocated, so all "
                    "count as alive; take more seconds, or have the JVM collect (jcmd PID GC.run)");
    else if (f->any_looked_at && !f->collections)
        record_warn(c->record,
                    "this JVM does not count its collections, so objects have no age. Objects that "
                    "none has looked at are left out (%llu samples)",
                    (unsigned long long)f->young);
    else if (f->any_looked_at)
        record_warn(c->record,
                    "%u collection%s begun during it. Objects that none has looked at are left out "
                    "(%llu samples): nothing tells whether they are reachable",
                    f->collections, f->collections == 1 ? " has" : "s have",
                    (unsigned long long)f->young);
    if (f->thinned)
        record_warn(c->record,
                    "more than %u objects were to be followed: a random share of them was, and "
                    "counts for the others. The sum of bytes is not changed by that",
                    STREAM_LIVE_MAX);
    if (f->missed)
        record_warn(c->record, "the agent had no memory or place to follow %llu objects",
                    (unsigned long long)f->missed);
}

static void objects_settle(struct capture_event *e, uint64_t end_ns)
{
    struct capture *c = e->capture;
    _cleanup_free_ struct settling *to = calloc(1, sizeof(*to));
    struct objects *o = e->state;
    struct live_found found;

    (void)end_ns;
    agent_sampling_settle(e, end_ns);
    if (!to)
        return;
    to->c = c;
    to->table = c->captures->frames;
    live_each(o->live, settle, to, &found);
    warn(c, o, &found);
}

static size_t objects_kept(const struct capture_event *e)
{
    const struct objects *o = e->state;

    return live_count(o->live);
}

static void objects_release(struct capture_event *e)
{
    struct objects *o = e->state;

    if (o->live)
        attachment_leave_live(o->agent.attachment);
    o->live = live_free(o->live);
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
    .empty = { "none of the objects that the JVM drew was reachable any more", EMPTY_DRAWN },
    .kept = objects_kept,
    .release = objects_release
};
