/* SPDX-License-Identifier: Apache-2.0 */
#include "store/samples.h"

#include "base/cleanup.h"
#include "store/blob.h"

#define SAMPLES_MAX ((uint64_t)1000000000) /* limit of samples_max; each takes a byte or more */
#define SAMPLES_WHO_MAX 1000000u           /* processes, threads */
#define SAMPLES_COLUMNS_MAX 7
/* First number of a blob with services of processes; older blobs begin with the process count. */
#define SAMPLES_SERVICES (SAMPLES_WHO_MAX + 1)

/* First number of a blob with requests of samples. The requests follow it; a column of them follows
 * the other columns. */
#define SAMPLES_CONTEXTS (SAMPLES_WHO_MAX + 2)
#define SAMPLES_CONTEXTS_MAX 1000000u

/* The column of modes and flags also has the number of threads, from this bit on. */
#define STANDS_SHIFT 17
#define STATE_END (((uint32_t)PROFILE_STANDS_MAX + 1) << STANDS_SHIFT)

/* Returns the number of columns: events and values have columns only if samples differ in them. */
static size_t samples_columns(const struct profile *meta)
{
    return meta->event_count > 1 || meta->events[0].valued ? SAMPLES_COLUMNS_MAX
                                                           : SAMPLES_COLUMNS_MAX - 2;
}

/* ---- writing ---- */

static void encode_string(struct dictionary *e, const struct profile *p, uint32_t id,
                          struct buf *out)
{
    uint32_t there;

    dictionary_add_string(e, intern_get(p->strings, id), &there); /* "" if @e is full */
    blob_add_number(out, there);
}

static void encode_who(struct dictionary *e, const struct profile *p, struct buf *out)
{
    blob_add_number(out, SAMPLES_SERVICES);
    blob_add_number(out, p->process_count);
    for (size_t i = 0; i < p->process_count; i++) {
        struct profile_process process = p->processes[i];

        dictionary_add_process(e, p, &process);
        process_encode(&process, out);
    }
    blob_add_number(out, p->thread_count);
    for (size_t i = 0; i < p->thread_count; i++) {
        blob_add_number(out, (uint32_t)p->threads[i].host_tid);
        blob_add_number(out, p->threads[i].process);
        encode_string(e, p, p->threads[i].name, out);
    }
}

static void encode_contexts(struct dictionary *e, const struct profile *p, struct buf *out)
{
    blob_add_number(out, SAMPLES_CONTEXTS);
    blob_add_number(out, p->context_count);
    for (size_t i = 0; i < p->context_count; i++) {
        const struct profile_context *c = &p->contexts[i];

        blob_add_number(out, c->state);
        blob_add_number(out, c->trace_high);
        blob_add_number(out, c->trace_low);
        blob_add_number(out, c->span);
        blob_add_number(out, c->root);
        encode_string(e, p, c->operation, out);
    }
}

/* Writes the moments at the end of the blob, if there are any: older blobs have none. */
static void encode_moments(struct dictionary *e, const struct profile *p, struct buf *out)
{
    uint64_t time_ns = p->start_ns;

    blob_add_number(out, p->moment_count);
    for (size_t i = 0; i < p->moment_count; i++) { /* sorted by start, as samples by time */
        const struct profile_moment *m = &p->moments[i];
        uint64_t at = MAX(m->start_ns, time_ns);

        blob_add_number(out, at - time_ns);
        blob_add_number(out, m->end_ns - MIN(at, m->end_ns));
        blob_add_number(out, m->reach_ns);
        encode_string(e, p, m->name, out);
        blob_add_number(out, m->process);
        blob_add_number(out, m->kind);
        if (profile_moment_counts(m->kind))
            blob_add_number(out, m->count);
        if (profile_moment_is_somebodys(m->kind)) {
            encode_string(e, p, m->by, out);
            encode_string(e, p, m->compiler, out);
        }
        time_ns = at;
    }
}

/* Returns the mode, the flags and the number of threads in one number. Older blobs have no number
 * of threads. */
static uint32_t state_of(const struct profile_sample *s)
{
    return (uint32_t)s->stands << STANDS_SHIFT | (uint32_t)s->flags << 1 | (s->mode & 1);
}

int samples_encode(struct dictionary *e, const struct profile *p, struct buf *out)
{
    _cleanup_free_ uint32_t *nodes = calloc(p->stack_count + 1, sizeof(*nodes));
    uint64_t time_ns = p->start_ns;
    int r = nodes ? dictionary_add_stacks(e, p, nodes) : -ENOMEM;

    if (r < 0)
        return r;
    if (p->context_count)
        encode_contexts(e, p, out);
    encode_who(e, p, out);
    blob_add_number(out, p->sample_count);
    for (size_t i = 0; i < p->sample_count;
         i++) { /* sorted by time; a time before the start counts as the start */
        uint64_t at = MAX(p->samples[i].time_ns, time_ns);

        blob_add_number(out, at - time_ns);
        time_ns = at;
    }
    for (size_t i = 0; i < p->sample_count; i++)
        blob_add_number(out, p->samples[i].thread);
    for (size_t i = 0; i < p->sample_count; i++)
        blob_add_number(out, nodes[p->samples[i].stack]);
    for (size_t i = 0; i < p->sample_count; i++)
        blob_add_number(out, p->samples[i].count);
    for (size_t i = 0; i < p->sample_count; i++)
        blob_add_number(out, state_of(&p->samples[i]));
    if (samples_columns(p) == SAMPLES_COLUMNS_MAX) {
        for (size_t i = 0; i < p->sample_count; i++)
            blob_add_number(out, p->samples[i].event);
        for (size_t i = 0; i < p->sample_count; i++)
            blob_add_number(out, p->events[p->samples[i].event].valued ? p->samples[i].value : 0);
    }
    for (size_t i = 0; i < p->sample_count && p->context_count; i++)
        blob_add_number(out, p->samples[i].context);
    if (p->moment_count)
        encode_moments(e, p, out);
    return out->error;
}

/* ---- reading ---- */

struct decoder {
    const struct dictionary *e;
    const struct profile *meta;
    size_t columns; /* columns of each sample */
    struct record *record;
    uint32_t strings;              /* number of strings in the dictionary */
    uint32_t *processes, *threads; /* ids in the record */
    uint32_t process_count, thread_count;
    struct profile_context *contexts; /* [context_count], as stored */
    uint32_t context_count;
    struct dictionary_places places;
};

static bool take_string(const struct decoder *d, struct span *s, uint32_t *ret)
{
    return blob_take_u32(s, ret) && *ret < d->strings;
}

static int decode_contexts(struct decoder *d, struct span *s)
{
    if (!blob_take_u32(s, &d->context_count) || d->context_count > SAMPLES_CONTEXTS_MAX ||
        d->context_count > s->n)
        return -EBADMSG;
    d->contexts = calloc(d->context_count + 1, sizeof(*d->contexts));
    if (!d->contexts)
        return -ENOMEM;
    for (uint32_t i = 0; i < d->context_count; i++) {
        struct profile_context *c = &d->contexts[i];

        if (!blob_take_u32(s, &c->state) || c->state >= PROFILE_CONTEXT_STATES ||
            !blob_take_number(s, &c->trace_high) || !blob_take_number(s, &c->trace_low) ||
            !blob_take_number(s, &c->span) || !blob_take_number(s, &c->root) ||
            !take_string(d, s, &c->operation))
            return -EBADMSG;
    }
    return 0;
}

static int decode_processes(struct decoder *d, struct span *s)
{
    bool services;
    int r = 0;

    if (!blob_take_u32(s, &d->process_count))
        return -EBADMSG;
    if (d->process_count == SAMPLES_CONTEXTS) {
        r = decode_contexts(d, s);
        if (r < 0)
            return r;
        if (!blob_take_u32(s, &d->process_count))
            return -EBADMSG;
    }
    services = d->process_count == SAMPLES_SERVICES;
    if ((services && !blob_take_u32(s, &d->process_count)) || d->process_count > SAMPLES_WHO_MAX ||
        d->process_count > s->n)
        return -EBADMSG;
    d->processes = calloc(d->process_count + 1, sizeof(*d->processes));
    if (!d->processes)
        return -ENOMEM;
    for (uint32_t i = 0; i < d->process_count && r == 0; i++) {
        struct profile_process p = { 0 };

        if (!process_decode(s, services, &p) || p.name >= d->strings || p.container >= d->strings ||
            p.pod >= d->strings || p.pod_namespace >= d->strings || p.service >= d->strings)
            return -EBADMSG;
        r = record_process(d->record, &p, &d->processes[i]);
    }
    return r;
}

static int decode_threads(struct decoder *d, struct span *s)
{
    int r = 0;

    if (!blob_take_u32(s, &d->thread_count) || d->thread_count > SAMPLES_WHO_MAX ||
        d->thread_count > s->n)
        return -EBADMSG;
    d->threads = calloc(d->thread_count + 1, sizeof(*d->threads));
    if (!d->threads)
        return -ENOMEM;
    for (uint32_t i = 0; i < d->thread_count && r == 0; i++) {
        struct profile_thread t = { 0 };
        uint32_t tid;

        if (!blob_take_u32(s, &tid) || !blob_take_u32(s, &t.process) ||
            t.process >= d->process_count || !take_string(d, s, &t.name))
            return -EBADMSG;
        t.host_tid = (int32_t)tid; /* < 0: a thread pool of the history */
        t.process = d->processes[t.process];
        r = record_thread(d->record, &t, &d->threads[i]);
    }
    return r;
}

/* Reads the next sample, except its time, from @columns; *ret_node gets the node of its stack. */
static int take_sample(const struct decoder *d, struct span columns[SAMPLES_COLUMNS_MAX],
                       struct profile_sample *ret, uint32_t *ret_node)
{
    uint32_t thread, flags, event = 0;

    if (!blob_take_u32(&columns[1], &thread) || thread >= d->thread_count ||
        !blob_take_u32(&columns[2], ret_node) || !blob_take_u32(&columns[3], &ret->count) ||
        ret->count == 0 || !blob_take_u32(&columns[4], &flags) || flags >= STATE_END)
        return -EBADMSG;
    if (d->columns == SAMPLES_COLUMNS_MAX &&
        (!blob_take_u32(&columns[5], &event) || event >= d->meta->event_count ||
         !blob_take_number(&columns[6], &ret->value)))
        return -EBADMSG;
    ret->thread = d->threads[thread];
    ret->event = (uint8_t)event;
    ret->mode = flags & 1;
    ret->flags = (uint16_t)(flags >> 1);
    ret->stands = flags >> STANDS_SHIFT & PROFILE_STANDS_MAX;
    return 0;
}

/* Reads the request of @s from its column. Returns 0 or -errno. */
static int take_context(const struct decoder *d, struct span *column, struct profile_sample *s)
{
    const struct profile_context *c;
    uint32_t context, id;
    int r;

    if (!d->context_count)
        return 0;
    if (!blob_take_u32(column, &context) || context >= d->context_count)
        return -EBADMSG;
    if (!context)
        return 0;
    c = &d->contexts[context];
    r = record_context(d->record, s->thread, c, frame_table_get_string(d->e->table, c->operation),
                       0, &id);
    if (r == 0)
        s->context = id;
    return r;
}

static int decode_sample(struct decoder *d, struct span columns[SAMPLES_COLUMNS_MAX],
                         struct span *contexts, uint64_t *time_ns)
{
    struct profile_sample s = { 0 };
    uint64_t delta;
    uint32_t node;
    int r;

    blob_take_number(&columns[0], &delta);
    r = take_sample(d, columns, &s, &node) ?: take_context(d, contexts, &s);
    if (r < 0)
        return r;
    s.time_ns = *time_ns += delta;
    return dictionary_sample(&d->places, &s, node);
}

static int decode_samples(struct decoder *d, struct span *s)
{
    struct span columns[SAMPLES_COLUMNS_MAX], contexts = SPAN_NULL;
    uint64_t count, time_ns = d->meta->start_ns;
    int r = 0;

    if (!blob_take_number(s, &count) || count > SAMPLES_MAX || count > s->n)
        return -EBADMSG;
    for (size_t i = 0; i < d->columns; i++) {
        if (!blob_take_column(s, count, &columns[i]))
            return -EBADMSG;
    }
    if (d->context_count && !blob_take_column(s, count, &contexts))
        return -EBADMSG;
    for (uint64_t i = 0; i < count && r == 0; i++)
        r = decode_sample(d, columns, &contexts, &time_ns);
    return r;
}

static int decode_moments(struct decoder *d, struct span *s)
{
    uint64_t time_ns = d->meta->start_ns, delta, took_ns;
    uint32_t count;
    int r = 0;

    if (!s->n)
        return 0;
    if (!blob_take_u32(s, &count) || count > PROFILE_MOMENTS_MAX)
        return -EBADMSG;
    for (uint32_t i = 0; i < count && r == 0; i++) {
        struct profile_moment m = { 0 };

        if (!blob_take_number(s, &delta) || !blob_take_number(s, &took_ns) ||
            !blob_take_number(s, &m.reach_ns) || !take_string(d, s, &m.name) ||
            !blob_take_u32(s, &m.process) || m.process >= d->process_count ||
            !blob_take_u32(s, &m.kind) || m.kind >= MOMENT_SORTS ||
            (profile_moment_counts(m.kind) && !blob_take_u32(s, &m.count)) ||
            (profile_moment_is_somebodys(m.kind) &&
             (!take_string(d, s, &m.by) || !take_string(d, s, &m.compiler))))
            return -EBADMSG;
        m.start_ns = time_ns += delta;
        m.end_ns = m.start_ns + took_ns;
        m.process = d->processes[m.process];
        r = record_moment(d->record, &m);
    }
    return r == 0 && s->n ? -EBADMSG : r;
}

int samples_decode(const struct dictionary *e, struct span blob, const struct profile *meta,
                   struct profile **ret)
{
    _cleanup_free_ struct decoder *d = calloc(1, sizeof(*d));
    struct frame_table_counts counts;
    int r;

    if (!d)
        return -ENOMEM;
    frame_table_counts(e->table, &counts);
    d->e = e;
    d->meta = meta;
    d->columns = samples_columns(meta);
    d->strings = counts.strings;
    r = record_new(e->table, SAMPLES_MAX, &d->record) ?:
        dictionary_places_init(&d->places, e, d->record) ?:
        decode_processes(d, &blob) ?:
        decode_threads(d, &blob) ?:
        decode_samples(d, &blob) ?:
        decode_moments(d, &blob) ?:
        record_finish(d->record, meta, ret);
    record_free(d->record);
    dictionary_places_deinit(&d->places);
    free(d->processes);
    free(d->threads);
    free(d->contexts);
    return r;
}
