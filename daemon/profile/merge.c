/* SPDX-License-Identifier: Apache-2.0 */
/* Merges several profiles: their names into a new frame table, their samples into a new record. */
#include "profile/record_impl.h"

#include "base/cleanup.h"
#include "profile/import_frames.h"
#include "profile/merged_processes.h"

#define MERGE_ENTRIES_MAX ((size_t)8 << 20)
#define MERGE_STRING_BYTES_MAX ((size_t)512 << 20)
#define MERGE_SAMPLES_MAX ((size_t)20000000)
#define MERGE_DEPTH_MAX 16384

#define MERGE_NONE UINT32_MAX

struct merger {
    const struct profile_slice *slice; /* borrowed */
    struct profile meta;               /* its strings are borrowed */
    struct frame_table *table;
    struct record *record;
    struct merged_processes images;
    const struct profile *p; /* the profile that is being added */
    struct frame_importer names;
    uint32_t *places;    /* [p->stack_count]: place in record, MERGE_NONE: not merged yet */
    uint32_t *threads;   /* [p->thread_count]: id in record, MERGE_NONE: not wanted */
    uint32_t *processes; /* [p->process_count]: id in record, MERGE_NONE: not merged yet */
    uint32_t *contexts;  /* [p->context_count]: id in record, MERGE_NONE: not merged yet */
    uint32_t path[MERGE_DEPTH_MAX];
    /* By event of p: index in the merged profile (PROFILE_EVENTS_MAX: no room), and remainder of
     * rounding so far. */
    uint8_t events[PROFILE_EVENTS_MAX];
    uint64_t carry[PROFILE_EVENTS_MAX];
    bool rounded, crowded;
    bool joined; /* the profiles are of the same time */
};

static int merge_process(struct merger *m, uint32_t index, uint32_t *ret)
{
    struct profile_process process = m->p->processes[index];
    int r = 0;

    if (m->processes[index] == MERGE_NONE) {
        process.owner = 0; /* only some profiles know it, so it is not part of the key */
        r = process_each_string(&process, frame_import_string, &m->names);
        if (r == 0)
            r = merged_process_add(&m->images, m->record, &process, m->p->start_realtime_ns,
                                   &m->processes[index]);
    }
    if (r == 0)
        *ret = m->processes[index];
    return r;
}

/* Adds the wanted threads to the record. Returns their number, or -ENOMEM. */
static int merge_threads(struct merger *m)
{
    const struct profile_slice *slice = m->slice;
    int r = 0, wanted = 0;

    for (size_t i = 0; i < m->p->thread_count && r == 0; i++) {
        struct profile_thread t = m->p->threads[i];

        m->threads[i] = MERGE_NONE;
        if (slice->wants && !slice->wants(slice->cookie, m->p, &m->p->processes[t.process]))
            continue;
        wanted++;
        r = merge_process(m, t.process, &t.process) ?:
            frame_import_string(&m->names, &t.name) ?:
            record_thread(m->record, &t, &m->threads[i]);
    }
    return r < 0 ? r : wanted;
}

/* Adds the moments of wanted processes that end within the slice. Profiles of the same time have
 * the same moments. */
static int merge_moments(struct merger *m)
{
    int r = 0;

    if (m->joined && m->record->moment_count)
        return 0;
    for (size_t i = 0; i < m->p->moment_count && r == 0; i++) {
        struct profile_moment one = m->p->moments[i];
        /* may wrap; so do the additions below */
        uint64_t by = m->p->start_realtime_ns - m->p->start_ns;

        one.start_ns += by;
        one.end_ns += by;
        if (one.end_ns < m->slice->from_ns || one.end_ns >= m->slice->to_ns ||
            (m->slice->wants &&
             !m->slice->wants(m->slice->cookie, m->p, &m->p->processes[one.process])))
            continue;
        r = merge_process(m, one.process, &one.process) ?:
            moment_each_string(&one, frame_import_string, &m->names) ?:
            record_moment(m->record, &one);
        if (r == -ENOSPC)
            r = 0; /* a full record counts the dropped moments */
    }
    return r;
}

/* Converts the count of @s to the period of the merged event. Carries the remainder over to the
 * next sample, so that sums are right to one sample. */
static uint32_t merge_count(struct merger *m, const struct profile_sample *s)
{
    const struct profile_event *from = &m->p->events[s->event],
                               *to = &m->meta.events[m->events[s->event]];
    uint64_t scaled;

    if (to->valued || from->period == to->period)
        return s->count;
    scaled = s->count * from->period + m->carry[s->event];
    m->rounded |= scaled % to->period != 0;
    m->carry[s->event] = scaled % to->period;
    return (uint32_t)MIN(scaled / to->period, (uint64_t)UINT32_MAX);
}

/* Stores the place of stack @stack of m->p in *ret. Only frames of wanted samples enter the table.
 * Returns 0 or -errno. */
static int merge_place(struct merger *m, uint32_t stack, uint32_t *ret)
{
    uint32_t at = stack, place = 0, frame;
    size_t n = 0;
    int r = 0;

    for (; m->places[at] == MERGE_NONE && n < MERGE_DEPTH_MAX; at = m->p->stacks[at].parent)
        m->path[n++] = at;
    if (m->places[at] != MERGE_NONE)
        place = m->places[at];
    while (n > 0 && r == 0) {
        r = frame_import(&m->names, m->p->stacks[m->path[--n]].frame, &frame);
        if (r == 0)
            r = record_place(m->record, place, frame, &place);
        if (r == 0)
            m->places[m->path[n]] = place;
    }
    *ret = place;
    return r;
}

/* Cuts @s, with times of CLOCK_REALTIME, to the slice. A sample of several waits is treated as
 * waits of average length that ended together: its count becomes 1, `stands` the number of waits.
 * Returns false if no part of @s is in the slice. */
static bool merge_part(const struct merger *m, struct profile_sample *s)
{
    uint64_t waits = MAX(s->count, UINT32_C(1)), took_ns = s->value / waits, to_ns,
             from_ns = s->time_ns - MIN(took_ns, s->time_ns);

    if (m->slice->whole)
        s->time_ns = MAX(s->time_ns, m->slice->from_ns);
    if (!m->slice->spans || !PROFILE_SAMPLE_STATE(s->flags))
        return s->time_ns >= m->slice->from_ns && s->time_ns < m->slice->to_ns;
    if (!m->slice->whole)
        from_ns = MAX(from_ns, m->slice->from_ns);
    to_ns = MIN(s->time_ns, m->slice->to_ns);
    if (from_ns >= to_ns)
        return false;
    if (to_ns - from_ns < took_ns) /* if nothing is cut, the value stays exact */
        s->value = (to_ns - from_ns) * waits;
    s->count = 1;
    s->stands = waits > 1 ? (uint32_t)MIN(waits, (uint64_t)PROFILE_STANDS_MAX) : 0;
    s->time_ns = MIN(s->time_ns, m->slice->to_ns - 1);
    return true;
}

/* Stores the merged request of @s, a sample of thread @thread, in *ret; 0: none. Returns 0 or
 * -ENOMEM. */
static int merge_context(struct merger *m, const struct profile_sample *s, uint32_t thread,
                         uint32_t *ret)
{
    const struct profile_context *c = &m->p->contexts[s->context];
    uint64_t without = contexts_without_ids(m->record->contexts);
    int r;

    *ret = s->context ? m->contexts[s->context] : 0;
    if (*ret != MERGE_NONE)
        return 0;
    r = record_context(m->record, thread, c, intern_get(m->p->strings, c->operation), s->time_ns,
                       ret);
    /* A request without room is not remembered, so that each of its samples is counted. */
    if (r == 0 && contexts_without_ids(m->record->contexts) == without)
        m->contexts[s->context] = *ret;
    return r;
}

/* Adds a sample to the record; counts it as dropped if a limit is reached. 0 or -ENOMEM. */
static int merge_sample(struct merger *m, const struct profile_sample *s, uint32_t thread)
{
    struct profile_sample merged = *s;
    uint32_t place = 0, context = 0;
    int placed, r;

    merged.count = merge_count(m, s);
    if (!merged.count)
        return 0; /* a later sample has its weight */
    placed = merge_place(m, s->stack, &place);
    r = placed == -ENOMEM ? placed : merge_context(m, s, thread, &context);
    if (r < 0)
        return r;
    merged.stack = place;
    merged.thread = thread;
    merged.context = context;
    merged.event = m->events[s->event];
    if (!m->meta.events[merged.event].valued)
        merged.value = 0;
    if (placed == 0)
        r = record_sample_at(m->record, &merged);
    else
        record_drop(m->record, merged.count);
    return r == -ENOMEM ? r : 0;
}

static int merge_samples(struct merger *m)
{
    const struct profile *p = m->p;
    int r = 0;

    for (size_t i = 0; i < p->sample_count && r == 0; i++) {
        struct profile_sample s = p->samples[i];
        uint32_t thread = s.thread < p->thread_count ? m->threads[s.thread] : MERGE_NONE;

        s.time_ns += p->start_realtime_ns - p->start_ns;
        if (thread == MERGE_NONE || m->events[s.event] == PROFILE_EVENTS_MAX || !merge_part(m, &s))
            continue;
        r = merge_sample(m, &s, thread);
    }
    return r;
}

/* Returns the lost samples of @p, scaled by the share of its time within the slice. */
static uint64_t lost_within(const struct merger *m, const struct profile *p)
{
    uint64_t took = p->end_ns - MIN(p->start_ns, p->end_ns), start = p->start_realtime_ns,
             from = MAX(start, m->slice->from_ns), to = MIN(start + took, m->slice->to_ns);

    if (took == 0)
        return start >= m->slice->from_ns && start < m->slice->to_ns ? p->lost : 0;
    return to > from ? (uint64_t)((double)p->lost * (double)(to - from) / (double)took + 0.5) : 0;
}

static void merge_lost(struct merger *m, const struct profile *p)
{
    uint64_t lost = lost_within(m, p);

    m->meta.lost = m->joined ? MAX(m->meta.lost, lost) : m->meta.lost + lost;
}

int merger_new(const struct profile_slice *slice, const struct profile *meta, struct merger **ret)
{
    static const struct profile_slice ALL = { .to_ns = UINT64_MAX };
    struct merger *m = calloc(1, sizeof(*m));
    int r;

    if (!m)
        return -ENOMEM;
    merged_processes_init(&m->images);
    m->slice = slice ? slice : &ALL;
    m->meta = *meta;
    for (uint32_t i = 0; i < PROFILE_EVENTS_MAX; i++)
        m->meta.events[i].period = MAX(m->meta.events[i].period, UINT64_C(1));
    m->meta.start_ns = meta->start_realtime_ns;
    m->meta.end_ns = m->meta.start_ns + (meta->end_ns - meta->start_ns);
    r = frame_table_new(MERGE_ENTRIES_MAX, MERGE_STRING_BYTES_MAX, &m->table)
            ?: record_new(m->table, MERGE_SAMPLES_MAX, &m->record);
    if (r < 0) {
        merger_free(m);
        return r;
    }
    for (size_t i = 0; i < meta->warning_count; i++)
        record_warn(m->record, "%s", meta->warnings[i]);
    *ret = m;
    return 0;
}

struct merger *merger_free(struct merger *m)
{
    if (!m)
        return NULL;
    record_free(m->record);
    merged_processes_deinit(&m->images);
    frame_table_free(m->table);
    free(m);
    return NULL;
}

/* Returns the event that event @i of @p becomes. NULL: event @i is not wanted. */
static const struct profile_event *slice_event(const struct profile_slice *slice,
                                               const struct profile *p, uint32_t i)
{
    if (slice && slice->of && !(slice->of & 1U << i))
        return NULL;
    return slice && slice->as ? slice->as : &p->events[i];
}

/* Maps the events of m->p to those of the merged profile. */
static void merge_events(struct merger *m)
{
    for (uint32_t i = 0; i < m->p->event_count; i++) {
        const struct profile_event *e = slice_event(m->slice, m->p, i);
        uint32_t to = e ? profile_find_event(&m->meta, e) : PROFILE_EVENTS_MAX;

        m->events[i] = (uint8_t)to;
        if (!e)
            continue;
        if (to < PROFILE_EVENTS_MAX)
            m->carry[i] = m->meta.events[to].period / 2;
        m->crowded |= to == PROFILE_EVENTS_MAX;
    }
}

/* Returns whether a warning is only valid for its whole profile, not for a part of its samples. */
static bool is_of_whole(const char *warning)
{
    return strstr(warning, RECORD_COUNTED_TEXT) || strstr(warning, PROFILE_SEVERAL_TEXT) ||
           strstr(warning, PROFILE_EMPTY_TEXT) == warning;
}

int merger_add(struct merger *m, const struct profile *p)
{
    _cleanup_free_ uint32_t *places = malloc((p->stack_count + 1) * sizeof(*places));
    _cleanup_free_ uint32_t *threads = calloc(p->thread_count + 1, sizeof(*threads));
    _cleanup_free_ uint32_t *contexts = malloc((p->context_count + 1) * sizeof(*contexts));
    _cleanup_free_ uint32_t *processes = malloc((p->process_count + 1) * sizeof(*processes));
    int wanted, r = frame_importer_init(&m->names, p, m->table);

    if (r < 0 || !places || !threads || !contexts || !processes) {
        frame_importer_deinit(&m->names);
        return -ENOMEM;
    }
    memset(places, 0xff, (p->stack_count + 1) * sizeof(*places)); /* MERGE_NONE */
    places[0] = 0;
    m->p = p;
    merge_events(m);
    m->places = places;
    m->threads = threads;
    memset(contexts, 0xff, (p->context_count + 1) * sizeof(*contexts));
    m->contexts = contexts;
    memset(processes, 0xff, (p->process_count + 1) * sizeof(*processes));
    m->processes = processes;
    wanted = merge_threads(m);
    if (wanted < 0)
        r = wanted;
    if (wanted > 0) {
        merge_lost(m, p);
        r = merge_samples(m);
    }
    if (r == 0)
        r = merge_moments(m);
    for (size_t i = 0; i < p->warning_count && r == 0; i++) {
        if (!is_of_whole(p->warnings[i]))
            record_warn(m->record, "%s", p->warnings[i]);
    }
    frame_importer_deinit(&m->names);
    m->places = m->threads = m->contexts = m->processes = NULL;
    m->p = NULL;
    return r == -ENOSPC ? -ENOMEM : r;
}

int merger_finish(struct merger *m, struct profile **ret)
{
    if (m->crowded)
        record_warn(m->record,
                    "samples of more than %d events cannot be added up: the others were left out; "
                    "choose with event=",
                    PROFILE_EVENTS_MAX);
    if (m->rounded)
        record_warn(m->record, "profiles of different rates were added up: counts of the slower "
                               "ones are scaled and rounded");
    frame_table_seal(m->table); /* frees memory, because the profile needs as much again */
    record_seal(m->record);
    return record_finish(m->record, &m->meta, ret);
}

static int merge_all(struct profile *const *profiles, size_t count,
                     const struct profile_slice *slice, const struct profile *meta, bool joined,
                     struct profile **ret)
{
    _cleanup_(merger_freep) struct merger *m = NULL;
    struct profile merged_meta = *meta;
    int r;

    merged_meta.event_count = 0;
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < profiles[i]->event_count; k++) {
            const struct profile_event *e = slice_event(slice, profiles[i], k);

            if (e)
                profile_add_event(&merged_meta, e);
        }
    r = merger_new(slice, &merged_meta, &m);
    if (r == 0)
        m->joined = joined;
    for (size_t i = 0; i < count && r == 0; i++)
        r = merger_add(m, profiles[i]);
    return r == 0 ? merger_finish(m, ret) : r;
}

int profile_merge(struct profile *const *profiles, size_t count, const struct profile_slice *slice,
                  const struct profile *meta, struct profile **ret)
{
    return merge_all(profiles, count, slice, meta, /* joined= */ false, ret);
}

int profile_join(struct profile *const *profiles, size_t count, const struct profile *meta,
                 struct profile **ret)
{
    return merge_all(profiles, count, NULL, meta, /* joined= */ true, ret);
}
