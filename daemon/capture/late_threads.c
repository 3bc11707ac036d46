/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures of event safepoint: the moments of their JVMs, and a sample for each safepoint that has
 * none of a late thread.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "capture/capture_impl.h"
#include "profile/category.h"

uint32_t capture_moment_name(struct captures *captures, const char *raw)
{
    _cleanup_buf_ struct buf clean = BUF_NULL;
    uint32_t id = 0;

    buf_init(&clean, TEXT_NAME_MAX);
    text_clean(span_of(raw), TEXT_UTF8, TEXT_NAME_MAX, &clean);
    frame_table_string(captures->frames, buf_span(&clean), &id);
    return id;
}

/* The frame of a safepoint that no sample tells of. */
static uint32_t rest_frame(struct captures *captures, const char *name)
{
    struct frame frame = { .kind = FRAME_WAIT_BLOCKED };
    struct function f = { 0 };
    uint32_t id = 0;

    frame_table_string(captures->frames, span_of(name), &f.name);
    frame_table_function(captures->frames, &f, &frame.function);
    frame_table_frame(captures->frames, &frame, &id);
    return id;
}

/* What stands for safepoint @m until the profile is made: a sample of the VM's own thread. */
static void record_rest(struct captures *captures, struct capture *c, size_t event,
                        uint32_t process, struct process *p, const struct moment *m)
{
    struct sample_record rec = { .time_ns = m->start_ns + m->reach_ns,
                                 .host_tid = (uint32_t)m->host_tid,
                                 .weight = 1 };
    struct incoming in = {
        .rec = &rec,
        .process = p,
        .thread_name = symbolizer_thread_name(captures->symbolizer, p, m->host_tid, "VM Thread"),
    };
    struct profile_sample sample = { .time_ns = rec.time_ns,
                                     .value = MAX(m->reach_ns, UINT64_C(1)),
                                     .count = 1,
                                     .event = (uint8_t)event,
                                     .flags = PROFILE_SAMPLE_REST |
                                              CATEGORY_VM << PROFILE_SAMPLE_CATEGORY_SHIFT };
    uint32_t frame = rest_frame(captures, m->reach_ns < 2 * c->events[event].set_period
                                              ? "[too short to see]"
                                              : "[late thread not running]");
    struct seen_run *run;

    if (capture_thread(c, process, &in, &sample.thread, &run) < 0)
        record_drop(c->record, 1);
    else
        record_sample(c->record, &sample, &frame, 1);
}

static void capture_moment(struct captures *captures, struct capture *c, size_t event,
                           struct process *p, const struct moment *m)
{
    struct seen_verdict *v = capture_verdict(captures, c, p, m->end_ns);
    struct profile_moment kept = {
        .start_ns = m->start_ns, .end_ns = m->end_ns, .reach_ns = m->reach_ns, .kind = m->kind
    };

    if (!v || !v->wanted)
        return;
    kept.process = v->process;
    kept.name = capture_moment_name(captures, m->name);
    if (record_moment(c->record, &kept) == 0 && m->kind == MOMENT_IS_SAFEPOINT)
        record_rest(captures, c, event, v->process, p, m);
}

static void take_moment(void *cookie, struct process *p, const struct moment *m)
{
    struct captures *captures = cookie;

    for (struct capture *c = captures->running; c; c = c->next) {
        for (size_t i = 0; i < c->event_count; i++) {
            if (c->events[i].info->kind == EVENT_SAFEPOINT && m->end_ns >= c->start_ns &&
                m->end_ns < c->end_ns)
                capture_moment(captures, c, i, p, m);
        }
    }
}

void captures_take_moments(struct captures *captures)
{
    moments_drain(&captures->moments, captures->discover, take_moment, captures);
}

int capture_weigh(const struct capture *c, struct profile *p)
{
    int r = 0;

    for (uint32_t i = 0; i < c->event_count && r == 0; i++) {
        if (c->events[i].info->kind == EVENT_SAFEPOINT)
            r = profile_weigh_safepoints(p, i);
    }
    return r;
}
