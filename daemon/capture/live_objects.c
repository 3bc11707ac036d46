/* SPDX-License-Identifier: Apache-2.0 */
/* Event live of a capture: its samples wait for the end, which says whose objects are alive. */
#include "capture/capture_impl.h"

int capture_begin_live(struct capture *c)
{
    int r = capture_has(c, EVENT_OBJECTS) ? live_new(&c->live) : 0;

    if (r == 0 && c->live)
        attachment_take_live(c->agent);
    return r;
}

void capture_keep_live(struct capture *c, const struct sample_record *rec,
                       const struct profile_sample *s, const uint32_t *frames, size_t n)
{
    struct live_sample kept = { rec->object, rec->collections, *s };

    if (!c->live || record_hold(c->record, frames, n, &kept.sample.stack) != 0)
        return;
    if (!live_keep(c->live, c->agent, &kept))
        record_drop(c->record, 1);
}

void capture_look_live(struct captures *captures, struct capture *c)
{
    struct process *p;

    if (!c->live)
        return;
    p = discover_find(captures->discover, c->agent_id.host_pid);
    if (p && !p->exited && proc_id_equal(&p->id, &c->agent_id))
        live_look(c->live, c->agent, p->vm);
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
    if (to->c->counts_objects)
        sample.count = objects;
    record_sample(to->c->record, &sample, to->frames + !to->frames[0], n + !!to->frames[0]);
}

static void warn(struct capture *c, const struct live_found *f)
{
    if (!f->looked) {
        if (c->agent_ns)
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

void capture_settle_live(const struct captures *captures, struct capture *c)
{
    _cleanup_free_ struct settling *to = c->live ? calloc(1, sizeof(*to)) : NULL;
    struct live_found found;

    if (!to)
        return;
    to->c = c;
    to->table = captures->frames;
    live_each(c->live, settle, to, &found);
    warn(c, &found);
}
