/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as events of a recording. Each event of flamed becomes the matching event of the JDK or
 * of async-profiler, so that their tools show it in the right view.
 */
#include "render/jfr/jfr.h"

/* The recording's type for each event. */
static const struct {
    const char *event;
    enum jfr_type type;
} TYPES[] = {
    { "cpu", JFR_EXECUTION_SAMPLE },     { "alloc", JFR_ALLOCATION_SAMPLE },
    { "live", JFR_LIVE_OBJECT },         { "malloc", JFR_MALLOC },
    { "nativelive", JFR_MALLOC },        { "nativemem", JFR_MALLOC },
    { "lock", JFR_MONITOR_ENTER },       { "nativelock", JFR_NATIVE_LOCK },
    { "offcpu", JFR_WALL_CLOCK_SAMPLE }, { "wall", JFR_WALL_CLOCK_SAMPLE },
};

enum jfr_type jfr_type_of_event(const struct view *v, uint32_t i)
{
    const struct profile_event *e = &v->profile->events[i];

    for (size_t k = 0; k < ARRAY_SIZE(TYPES); k++)
        if (!strcmp(TYPES[k].event, e->name))
            return TYPES[k].type;
    if (e->valued && strcmp(e->unit, "nanoseconds") == 0)
        return JFR_WALL_CLOCK_SAMPLE;
    /* if it is the only event, it has the form of CPU time, so that every tool shows it */
    return v->opts.every_event ? JFR_EVENT_SAMPLE : JFR_EXECUTION_SAMPLE;
}

/* Returns the event type of a wait for a lock, by its stack: JavaMonitorEnter only for a
 * monitor. */
static enum jfr_type type_of_wait(const struct view *v, const struct view_row *row)
{
    static const struct {
        const char *name;
        enum jfr_type type;
    } WAYS[] = {
        { "[notify]", JFR_MONITOR_WAIT },
        { "[lock]", JFR_THREAD_PARK },
        { "[condition]", JFR_THREAD_PARK },
        { "[park]", JFR_THREAD_PARK },
    };

    for (uint32_t i = row->n; i > 0 && i + 2 > row->n; i--) {
        struct span name = view_string(v, v->frames[v->stack[row->first + i - 1]].name);

        for (size_t k = 0; k < ARRAY_SIZE(WAYS); k++)
            if (span_eq_str(name, WAYS[k].name))
                return WAYS[k].type;
    }
    return JFR_MONITOR_ENTER;
}

/* Returns the address of a futex, which is the leaf's name; else 0. */
static uint64_t address_of(const struct view *v, const struct view_row *row)
{
    struct span name =
        row->n ? view_string(v, v->frames[v->stack[row->first + row->n - 1]].name) : SPAN_NULL;

    return span_starts_with(name, "0x") ? strtoull(name.p, NULL, 16) : 0; /* a NUL follows it */
}

/* Returns the number of periods of a sample. The remainder is carried to the next sample, so that
 * the sum is the event's time. */
static uint64_t periods_of(const struct profile *p, const struct profile_sample *s, uint64_t *carry)
{
    uint64_t period = MAX(p->events[s->event].period, UINT64_C(1)), n;

    n = (s->value + *carry) / period;
    *carry = (s->value + *carry) % period;
    return MIN(n, (uint64_t)INT32_MAX);
}

static void add_thread_and_stack(const struct jfr_pools *pools, size_t i, struct buf *out)
{
    const struct profile *p = pools->v->profile;
    const struct profile_sample *s = &p->samples[i];

    jfr_add_number(out, s->thread < p->thread_count ? pools->key_of_thread[s->thread] : 0);
    jfr_add_number(out, pools->trace_of_row[pools->v->sample_rows[i]]);
}

/* Writes a sample of CPU time, repeated by its count. */
static void add_execution(const struct jfr_pools *pools, size_t i, struct buf *out)
{
    const struct profile_sample *s = &pools->v->profile->samples[i];

    for (uint32_t n = 0; n < s->count && !out->error; n++) {
        size_t begin = jfr_begin_small(out, JFR_EXECUTION_SAMPLE);

        jfr_add_number(out, s->time_ns);
        add_thread_and_stack(pools, i, out);
        jfr_add_number(out, JFR_STATE_DEFAULT);
        jfr_end_small(out, begin);
    }
}

/* Writes a sample of time, with its number of periods. */
static void add_wall_clock(const struct jfr_pools *pools, size_t i, uint64_t *carry,
                           struct buf *out)
{
    const struct profile *p = pools->v->profile;
    const struct profile_sample *s = &p->samples[i];
    size_t begin = jfr_begin_small(out, JFR_WALL_CLOCK_SAMPLE);

    jfr_add_number(out, s->time_ns);
    add_thread_and_stack(pools, i, out);
    jfr_add_number(out,
                   sample_state(p, s) == STATE_BLOCKED ? JFR_STATE_SLEEPING : JFR_STATE_RUNNABLE);
    jfr_add_number(out, periods_of(p, s, carry));
    jfr_end_small(out, begin);
}

/* Writes a wait, which ends at the sample's time. */
static void add_wait(const struct jfr_pools *pools, size_t i, enum jfr_type type, struct buf *out)
{
    const struct profile *p = pools->v->profile;
    const struct profile_sample *s = &p->samples[i];
    uint32_t row = pools->v->sample_rows[i];
    size_t begin = jfr_begin_small(out, type);

    jfr_add_number(out, s->time_ns - MIN(s->value, s->time_ns - MIN(p->start_ns, s->time_ns)));
    jfr_add_number(out, s->value);
    add_thread_and_stack(pools, i, out);
    if (type != JFR_NATIVE_LOCK)
        jfr_add_number(out, pools->object_of_row[row]);
    if (type == JFR_THREAD_PARK)
        jfr_add_number(out, 0); /* no timeout is known */
    if (type != JFR_NATIVE_LOCK)
        jfr_add_number(out, 0); /* owner, notifier and end are not known either */
    jfr_add_number(out, address_of(pools->v, &pools->v->rows[row]));
    jfr_end_small(out, begin);
}

/* Writes a sample of memory, with its whole value. */
static void add_memory(const struct jfr_pools *pools, size_t i, enum jfr_type type, struct buf *out)
{
    const struct profile_sample *s = &pools->v->profile->samples[i];
    size_t begin = jfr_begin_small(out, type);

    jfr_add_number(out, s->time_ns);
    add_thread_and_stack(pools, i, out);
    jfr_add_number(out, type == JFR_MALLOC ? 0 : pools->object_of_row[pools->v->sample_rows[i]]);
    jfr_add_number(out, s->value);
    if (type == JFR_LIVE_OBJECT)
        jfr_add_number(out, s->time_ns);
    jfr_end_small(out, begin);
}

/* Writes a sample of another event, with its whole value. */
static void add_other(const struct jfr_pools *pools, size_t i, struct buf *out)
{
    const struct profile *p = pools->v->profile;
    const struct profile_sample *s = &p->samples[i];
    const struct profile_event *e = &p->events[s->event];
    size_t begin = jfr_begin(out, JFR_EVENT_SAMPLE);

    jfr_add_number(out, s->time_ns);
    add_thread_and_stack(pools, i, out);
    jfr_add_string(out, span_of(e->name));
    jfr_add_number(out, s->value);
    jfr_add_string(out, span_of(e->unit));
    jfr_end(out, begin);
}

void jfr_add_sample(const struct jfr_pools *pools, size_t i, uint64_t carry[PROFILE_EVENTS_MAX],
                    struct buf *out)
{
    const struct view *v = pools->v;
    uint32_t event = v->profile->samples[i].event;
    enum jfr_type type = jfr_type_of_event(v, event);

    switch (type) {
    case JFR_EXECUTION_SAMPLE:
        add_execution(pools, i, out);
        return;
    case JFR_WALL_CLOCK_SAMPLE:
        add_wall_clock(pools, i, &carry[event], out);
        return;
    case JFR_MONITOR_ENTER:
        add_wait(pools, i, type_of_wait(v, &v->rows[v->sample_rows[i]]), out);
        return;
    case JFR_NATIVE_LOCK:
        add_wait(pools, i, type, out);
        return;
    case JFR_ALLOCATION_SAMPLE:
    case JFR_LIVE_OBJECT:
    case JFR_MALLOC:
        add_memory(pools, i, type, out);
        return;
    default:
        add_other(pools, i, out);
    }
}
