/* SPDX-License-Identifier: Apache-2.0 */
/* Several profiles into one: their names meet in a fresh frame table, their samples in a fresh
 * record. */
#include "profile/profile.h"

#include "base/cleanup.h"

#define MERGE_ENTRIES_MAX ((size_t)8 << 20)
#define MERGE_STRING_BYTES_MAX ((size_t)512 << 20)
#define MERGE_SAMPLES_MAX ((size_t)20000000)
#define MERGE_DEPTH_MAX 16384

struct merger {
    struct frame_table *table;
    struct record *record;
    const struct profile *p; /* the one being added */
    uint32_t *frames;        /* [p->frame_count]: id in table */
    uint32_t *threads;       /* [p->thread_count]: id in record, UINT32_MAX: not wanted */
    uint32_t stack[MERGE_DEPTH_MAX];
    uint64_t period;
    uint64_t carry; /* what rounding left over so far, in the period's unit */
    bool rounded;
};

static int merge_string(struct merger *m, uint32_t id, uint32_t *ret)
{
    return frame_table_string(m->table, intern_get(m->p->strings, id), ret);
}

static int merge_threads(struct merger *m, const struct profile_slice *slice)
{
    int r = 0;

    for (size_t i = 0; i < m->p->thread_count && r == 0; i++) {
        struct profile_thread t = m->p->threads[i];
        struct profile_process process = m->p->processes[t.process];

        m->threads[i] = UINT32_MAX;
        if (slice->wants && !slice->wants(slice->cookie, m->p, &m->p->processes[t.process]))
            continue;
        r = merge_string(m, process.name, &process.name);
        if (r == 0)
            r = merge_string(m, process.container, &process.container);
        if (r == 0)
            r = merge_string(m, process.pod, &process.pod);
        if (r == 0)
            r = merge_string(m, process.pod_namespace, &process.pod_namespace);
        if (r == 0)
            r = record_process(m->record, &process, &t.process);
        if (r == 0)
            r = merge_string(m, t.name, &t.name);
        if (r == 0)
            r = record_thread(m->record, &t, &m->threads[i]);
    }
    return r;
}

/* @count samples of p's period as samples of the merged one. What does not come out even goes to
 * the next sample, so that sums are right to one sample, whatever the periods are. */
static uint32_t merge_count(struct merger *m, uint32_t count)
{
    uint64_t scaled;

    if (m->p->period == m->period)
        return count;
    scaled = count * m->p->period + m->carry;
    m->rounded |= scaled % m->period != 0;
    m->carry = scaled % m->period;
    return (uint32_t)MIN(scaled / m->period, (uint64_t)UINT32_MAX);
}

static void merge_samples(struct merger *m, const struct profile_slice *slice)
{
    const struct profile *p = m->p;

    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        uint32_t thread = s->thread < p->thread_count ? m->threads[s->thread] : UINT32_MAX;
        uint64_t time_ns = s->time_ns - p->start_ns + p->start_realtime_ns;
        size_t n = 0;

        if (thread == UINT32_MAX || time_ns < slice->from_ns || time_ns >= slice->to_ns)
            continue;
        for (uint32_t at = s->stack; at && n < MERGE_DEPTH_MAX; at = p->stacks[at].parent)
            m->stack[n++] = m->frames[p->stacks[at].frame];
        record_sample(m->record, time_ns, thread, m->stack, n, merge_count(m, s->count), s->mode,
                      s->flags);
    }
}

static int merge_one(struct merger *m, const struct profile *p, const struct profile_slice *slice)
{
    _cleanup_free_ uint32_t *frames = calloc(p->frame_count + 1, sizeof(*frames));
    _cleanup_free_ uint32_t *threads = calloc(p->thread_count + 1, sizeof(*threads));
    int r;

    if (!frames || !threads)
        return -ENOMEM;
    m->p = p;
    m->carry = m->period / 2;
    m->frames = frames;
    m->threads = threads;
    r = profile_frames_into(p, m->table, frames);
    if (r == 0)
        r = merge_threads(m, slice);
    if (r == 0)
        merge_samples(m, slice);
    for (size_t i = 0; i < p->warning_count && r == 0; i++)
        record_warn(m->record, "%s", p->warnings[i]);
    m->frames = m->threads = NULL;
    return r;
}

int profile_merge(struct profile *const *profiles, size_t count, const struct profile_slice *slice,
                  const struct profile *meta, struct profile **ret)
{
    static const struct profile_slice ALL = { .to_ns = UINT64_MAX };
    _cleanup_free_ struct merger *m = calloc(1, sizeof(*m));
    struct profile merged_meta = *meta;
    int r;

    if (!m)
        return -ENOMEM;
    m->period = meta->period;
    for (size_t i = 0; i < count; i++)
        m->period = i ? MIN(m->period, profiles[i]->period) : profiles[i]->period;
    merged_meta.period = m->period = MAX(m->period, UINT64_C(1));
    merged_meta.start_ns = merged_meta.start_realtime_ns;
    merged_meta.end_ns = merged_meta.start_ns + (meta->end_ns - meta->start_ns);
    r = frame_table_new(MERGE_ENTRIES_MAX, MERGE_STRING_BYTES_MAX, &m->table);
    if (r == 0)
        r = record_new(m->table, MERGE_SAMPLES_MAX, &m->record);
    for (size_t i = 0; i < meta->warning_count && r == 0; i++)
        record_warn(m->record, "%s", meta->warnings[i]);
    for (size_t i = 0; i < count && r == 0; i++) {
        merged_meta.lost += profiles[i]->lost;
        r = merge_one(m, profiles[i], slice ? slice : &ALL);
    }
    if (r == 0 && m->rounded)
        record_warn(m->record,
                    "profiles of different rates were added up: counts of the slower ones are "
                    "scaled and rounded");
    if (r == 0)
        r = record_finish(m->record, &merged_meta, ret);
    record_free(m->record);
    frame_table_free(m->table);
    return r == -ENOSPC ? -ENOMEM : r;
}
