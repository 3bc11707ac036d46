/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of slices. The newest slice is a record being filled. The others are finished profiles
 * without references to shared data, so dropping the oldest frees all of its memory.
 *
 *   oldest                                  newest
 *   [ 10 s ][ 10 s ][ 10 s ] ... [ 10 s ][ being filled ]
 *
 * A slice is longer than 10 s if FLIGHT_SLICES_KEPT of 10 s would not span the time to keep.
 */
#include "store/flight.h"

#define FLIGHT_SLICE_NS (10 * NSEC_PER_SEC) /* shortest slice; longer for a long time to keep */
#define FLIGHT_SLICES_MAX 4096
#define FLIGHT_SLICES_KEPT 3072 /* slices in the time to keep; a large slice ends early */
#define FLIGHT_SLICE_SAMPLES_MAX ((size_t)4000000)

struct flight_slice {
    struct flight_slice *newer;
    struct record *record;     /* record of the newest slice while it is filled; else NULL */
    struct profile *profile;   /* profile of a finished slice; NULL: finishing it failed */
    size_t bytes;              /* bytes of the profile */
    uint64_t start_ns, end_ns; /* span of its samples */
    uint64_t minute_ns;        /* minute of the history; UINT64_MAX: not cut yet */
};

struct flight {
    const struct frame_table *table; /* borrowed */
    struct profile_event events[PROFILE_EVENTS_MAX];
    uint32_t event_count;
    uint64_t keep_ns, slice_ns;
    size_t max_bytes;
    size_t finished_bytes;
    struct flight_slice *oldest, *newest;
    uint64_t since_ns; /* time of the first sample, or end of the last dropped slice */
    struct flight_stats stats;
    struct {
        flight_finish_fn fn; /* NULL: no listener */
        void *cookie;
    } finish[FLIGHT_LISTENERS];
};

int flight_new(const struct frame_table *table, const struct profile_event *events, uint32_t count,
               uint64_t keep_ns, size_t max_bytes, struct flight **ret)
{
    struct flight *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    f->table = table;
    memcpy(f->events, events, count * sizeof(*events));
    f->event_count = count;
    f->keep_ns = keep_ns;
    f->slice_ns = MAX(FLIGHT_SLICE_NS, keep_ns / FLIGHT_SLICES_KEPT);
    f->max_bytes = max_bytes;
    *ret = f;
    return 0;
}

static void flight_drop_oldest(struct flight *f)
{
    struct flight_slice *s = f->oldest;

    f->oldest = s->newer;
    if (!f->oldest)
        f->newest = NULL;
    record_free(s->record);
    profile_unref(s->profile);
    f->finished_bytes -= s->bytes;
    f->since_ns = MAX(f->since_ns, s->end_ns);
    free(s);
    f->stats.slices--;
}

struct flight *flight_free(struct flight *f)
{
    if (!f)
        return NULL;
    while (f->oldest)
        flight_drop_oldest(f);
    free(f);
    return NULL;
}

static size_t flight_bytes(const struct flight *f)
{
    const struct flight_slice *s = f->newest;

    return f->finished_bytes + (s && s->record ? record_bytes(s->record) : 0);
}

/* Finishes @s as a profile with times of CLOCK_MONOTONIC; flight_merge() converts them. */
static int slice_finish(const struct flight *f, const struct flight_slice *s, struct profile **ret)
{
    struct profile meta = { .event_count = f->event_count,
                            .start_ns = s->start_ns,
                            .start_realtime_ns = s->start_ns,
                            .end_ns = s->end_ns };

    memcpy(meta.events, f->events, sizeof(meta.events));
    return record_finish(s->record, &meta, ret);
}

/* Finishes the newest slice as a profile, and passes it to the listeners. */
static void flight_close_newest(struct flight *f)
{
    struct flight_slice *s = f->newest;

    if (!s || !s->record)
        return;
    if (slice_finish(f, s, &s->profile) < 0)
        f->stats.dropped += record_samples(s->record);
    else
        s->bytes = sizeof(*s) + profile_bytes(s->profile);
    f->finished_bytes += s->bytes;
    s->record = record_free(s->record);
    for (size_t i = 0; i < FLIGHT_LISTENERS && s->profile; i++) {
        if (f->finish[i].fn)
            f->finish[i].fn(f->finish[i].cookie, s->profile);
    }
}

void flight_on_finish(struct flight *f, enum flight_listener who, flight_finish_fn fn, void *cookie)
{
    f->finish[who].fn = fn;
    f->finish[who].cookie = cookie;
}

void flight_cut(struct flight *f, uint64_t minute_ns)
{
    flight_close_newest(f);
    for (struct flight_slice *s = f->oldest; s; s = s->newer) {
        if (s->minute_ns == UINT64_MAX)
            s->minute_ns = minute_ns;
    }
}

static int flight_add_slice(struct flight *f, uint64_t time_ns)
{
    struct flight_slice *s = calloc(1, sizeof(*s));
    int r;

    flight_close_newest(f);
    r = s ? record_new(f->table, FLIGHT_SLICE_SAMPLES_MAX, &s->record) : -ENOMEM;

    if (r < 0) {
        free(s);
        return r;
    }
    s->start_ns = s->end_ns = time_ns;
    s->minute_ns = UINT64_MAX;
    if (!f->since_ns)
        f->since_ns = time_ns;
    if (f->newest)
        f->newest->newer = s;
    else
        f->oldest = s;
    f->newest = s;
    f->stats.slices++;
    return 0;
}

/* Drops the oldest slices by age, number and memory. The newest slice stays. */
static void flight_retain(struct flight *f, uint64_t now_ns)
{
    while (f->oldest != f->newest) {
        bool old = now_ns > f->oldest->end_ns + f->keep_ns;

        if (!old && f->stats.slices <= FLIGHT_SLICES_MAX && flight_bytes(f) <= f->max_bytes)
            break;
        if (!old)
            f->stats.short_ns = now_ns;
        flight_drop_oldest(f);
    }
}

/* Gets the slice for @time_ns. Begins a new slice if the newest is over, or holds a quarter of all
 * memory. */
static int flight_slice_for(struct flight *f, uint64_t time_ns, struct flight_slice **ret)
{
    struct flight_slice *s = f->newest;
    bool late = s && time_ns < s->start_ns; /* true: a late sample, from another CPU */
    int r = 0;

    if (late)
        time_ns = s->start_ns;
    if (!s || !s->record || time_ns - s->start_ns >= f->slice_ns ||
        (!late && record_bytes(s->record) > f->max_bytes / 4)) {
        r = flight_add_slice(f, time_ns);
        flight_retain(f, time_ns);
    }
    if (!f->newest || !f->newest->record)
        return r < 0 ? r : -ENOMEM;
    *ret = f->newest;
    return 0;
}

/* Gets the id of @request, of thread @thread, in @s, as read at @time_ns. Returns 0 or -ENOMEM. */
static int slice_request(const struct flight *f, const struct flight_slice *s, uint32_t thread,
                         const struct profile_context *request, uint64_t time_ns, uint32_t *ret)
{
    *ret = 0;
    return request
               ? record_context(s->record, thread, request,
                                frame_table_get_string(f->table, request->operation), time_ns, ret)
               : 0;
}

int flight_sample(struct flight *f, const struct profile_sample *sample,
                  struct flight_origin origin, const uint32_t *stack, size_t n)
{
    struct profile_sample copy = *sample;
    struct profile_thread t = *origin.thread;
    struct flight_slice *s;
    uint32_t id, request = 0;
    int r;

    r = flight_slice_for(f, sample->time_ns, &s) ?:
        record_process(s->record, origin.process, &t.process) ?:
        record_thread(s->record, &t, &id) ?:
        slice_request(f, s, id, origin.request, sample->time_ns, &request);
    if (r == 0) {
        copy.thread = id;
        copy.context = request;
        r = record_sample(s->record, &copy, stack, n);
    }
    if (r < 0) {
        f->stats.dropped += sample->event == 0 ? sample->count : 0;
        return r;
    }
    s->end_ns = MAX(s->end_ns, sample->time_ns);
    f->stats.samples += sample->event == 0 ? sample->count : 0;
    if (flight_bytes(f) > f->max_bytes) /* the slice being filled has grown */
        flight_retain(f, s->end_ns);
    return 0;
}

int flight_moment(struct flight *f, const struct profile_moment *m,
                  const struct profile_process *process)
{
    struct profile_moment copy = *m;
    struct flight_slice *s;
    int r = flight_slice_for(f, m->end_ns, &s) ?:
            record_process(s->record, process, &copy.process) ?:
            record_moment(s->record, &copy);

    if (r == 0)
        s->end_ns = MAX(s->end_ns, m->end_ns);
    return r;
}

void flight_use_table(struct flight *f, const struct frame_table *table)
{
    flight_close_newest(f);
    f->table = table;
}

int flight_parts(struct flight *f, const struct flight_range *range, struct profile ***ret,
                 size_t *ret_count)
{
    struct profile **parts = calloc(f->stats.slices + 1, sizeof(struct profile *));
    size_t count = 0;
    int r = parts ? 0 : -ENOMEM;

    for (struct flight_slice *s = f->oldest; s && r == 0; s = s->newer) {
        if (s->end_ns < range->from_ns || s->start_ns >= range->to_ns ||
            s->minute_ns < range->minute_ns)
            continue;
        if (s->record)
            r = slice_finish(f, s, &parts[count]);
        else if (s->profile)
            parts[count] = profile_ref(s->profile);
        if (r == 0 && parts[count])
            count++;
    }
    if (r < 0) {
        flight_parts_free(parts, count);
        return r;
    }
    *ret = parts;
    *ret_count = count;
    return 0;
}

void flight_parts_free(struct profile **parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        profile_unref(parts[i]);
    free(parts);
}

int flight_merge(struct profile *const *parts, size_t count, const struct profile_slice *slice,
                 const struct profile *meta, struct profile **ret)
{
    struct profile monotonic = *meta;
    int r;

    /* profile_merge() expects CLOCK_REALTIME, but the parts have CLOCK_MONOTONIC. profile_shift()
     * converts the result. */
    monotonic.start_realtime_ns = meta->start_ns;
    r = profile_merge(parts, count, slice, &monotonic, ret);
    if (r == 0)
        profile_shift(*ret, meta->start_realtime_ns);
    return r;
}

void flight_stats(const struct flight *f, struct flight_stats *ret)
{
    *ret = f->stats;
    ret->bytes = flight_bytes(f);
    ret->max_bytes = f->max_bytes;
    ret->keep_ns = f->keep_ns;
    ret->oldest_ns = f->oldest ? f->since_ns : 0;
}
