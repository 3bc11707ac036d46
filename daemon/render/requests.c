/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `requests`: single requests, each on one line of time: its threads, and when each ran or
 * waited, in which span and with which stack. Successive samples of a thread with the same stack
 * are one stretch. docs/formats.md has the schema.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/id_table.h"
#include "render/formats.h"

#define REQUESTS_MAX 1000u /* limit of requests in an answer: the longest ones */
/* limit of stretches of all requests, before the longest requests are chosen */
#define STRETCHES_MAX (1u << 20)
#define STRETCH_NONE UINT32_MAX

struct stretch {
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
    uint64_t samples;
    uint32_t request; /* index in requests */
    uint32_t sample;  /* the first sample: index in the profile */
};

/* The part of a trace that this node sampled. */
struct request_times {
    uint64_t from_ns, to_ns;
    uint32_t operation; /* string of the profile; 0: not known */
    uint32_t first, n;  /* its stretches, after sorting */
};

struct trace_key {
    uint64_t high, low;
};

struct requests {
    const struct view *v;
    struct id_table traces;      /* struct trace_key */
    struct request_times *times; /* [traces.cap] */
    size_t times_cap;
    struct stretch *stretches;
    size_t stretch_cap, count;
    uint64_t no_room;  /* number of samples without room */
    uint32_t *longest; /* [traces.count] */
};

static const struct profile_context *context_at(const struct requests *q, size_t sample)
{
    const struct profile *p = q->v->profile;
    uint32_t context = p->samples[sample].context;

    if (q->v->sample_rows[sample] == VIEW_NO_ROW || context >= p->context_count ||
        !profile_context_has_ids(&p->contexts[context]))
        return NULL;
    return &p->contexts[context];
}

/* Returns the start of the time that a sample stands for: a wait is as long as its value. */
static uint64_t begin_of(const struct profile *p, const struct profile_sample *s)
{
    const struct profile_event *e = &p->events[s->event];
    bool waited = e->valued && strcmp(e->unit, "nanoseconds") == 0;

    return waited ? s->time_ns -
                        MIN(profile_sample_length(s), s->time_ns - MIN(p->start_ns, s->time_ns))
                  : s->time_ns;
}

/* Finds or adds the request of @c. 0 or -errno. */
static int request_of(struct requests *q, const struct profile_context *c, uint32_t *ret)
{
    const struct trace_key key = { c->trace_high, c->trace_low };
    int r = id_table_add(&q->traces, &key, ret);

    if (r < 0)
        return r;
    if (!array_extend(&q->times, &q->times_cap, q->traces.cap))
        return -ENOMEM;
    if (r > 0)
        q->times[*ret] = (struct request_times){ .from_ns = UINT64_MAX };
    if (c->operation)
        q->times[*ret].operation = c->operation;
    return 0;
}

/* Adds sample @i. @open: the last stretch of its thread. 0 or -ENOMEM. */
static int add_sample(struct requests *q, size_t i, uint32_t *open)
{
    const struct profile *p = q->v->profile;
    const struct profile_sample *s = &p->samples[i];
    const struct profile_context *c = context_at(q, i);
    uint64_t from_ns = begin_of(p, s);
    uint32_t request;
    struct stretch *t;
    int r = request_of(q, c, &request);

    if (r < 0)
        return r;
    if (*open == STRETCH_NONE || p->samples[q->stretches[*open].sample].context != s->context ||
        q->v->sample_rows[q->stretches[*open].sample] != q->v->sample_rows[i]) {
        if (q->count == STRETCHES_MAX) {
            q->no_room += s->count;
            return 0;
        }
        if (!array_extend(&q->stretches, &q->stretch_cap, q->count + 1))
            return -ENOMEM;
        *open = (uint32_t)q->count++;
        q->stretches[*open] =
            (struct stretch){ .from_ns = from_ns, .request = request, .sample = (uint32_t)i };
    }
    t = &q->stretches[*open];
    t->to_ns = s->time_ns;
    t->samples += s->count;
    q->times[request].from_ns = MIN(q->times[request].from_ns, from_ns);
    q->times[request].to_ns = MAX(q->times[request].to_ns, s->time_ns);
    return 0;
}

static int collect(struct requests *q)
{
    const struct profile *p = q->v->profile;
    _cleanup_free_ uint32_t *open = calloc(p->thread_count + 1, sizeof(*open));
    int r = open ? 0 : -ENOMEM;

    for (size_t i = 0; i <= p->thread_count && r == 0; i++)
        open[i] = STRETCH_NONE;
    for (size_t i = 0; q->v->sample_rows && i < p->sample_count && r == 0; i++) {
        uint32_t *thread = &open[MIN((size_t)p->samples[i].thread, p->thread_count)];

        if (context_at(q, i))
            r = add_sample(q, i, thread);
        else if (q->v->sample_rows[i] != VIEW_NO_ROW)
            *thread = STRETCH_NONE;
    }
    return r;
}

static int by_request(const void *a, const void *b, void *cookie)
{
    const struct profile *p = ((const struct requests *)cookie)->v->profile;
    const struct stretch *x = a, *y = b;
    uint32_t s = p->samples[x->sample].thread, t = p->samples[y->sample].thread;

    if (x->request != y->request)
        return x->request < y->request ? -1 : 1;
    if (s != t)
        return s < t ? -1 : 1;
    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static int by_length(const void *a, const void *b, void *cookie)
{
    const struct requests *q = cookie;
    const struct request_times *x = &q->times[*(const uint32_t *)a],
                               *y = &q->times[*(const uint32_t *)b];
    uint64_t m = x->to_ns - x->from_ns, n = y->to_ns - y->from_ns;

    if (m != n)
        return m < n ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Sorts stretches by request, thread and time, and requests by their length. */
static int sort_all(struct requests *q)
{
    if (q->count)
        qsort_r(q->stretches, q->count, sizeof(*q->stretches), by_request, q);
    for (size_t i = 0; i < q->count; i++) {
        struct request_times *t = &q->times[q->stretches[i].request];

        if (!t->n++)
            t->first = (uint32_t)i;
    }
    q->longest = calloc((size_t)q->traces.count + 1, sizeof(*q->longest));
    if (!q->longest)
        return -ENOMEM;
    for (uint32_t i = 0; i < q->traces.count; i++)
        q->longest[i] = i;
    if (q->traces.count)
        qsort_r(q->longest, q->traces.count, sizeof(*q->longest), by_length, q);
    return 0;
}

/* ---- output ---- */

static void add_frames(const struct view *v, struct buf *out)
{
    buf_add_str(out, ",\n\"frames\":[");
    for (size_t i = 0; i < v->frame_count; i++) {
        buf_add_str(out, i ? ",\n" : "\n");
        render_add_json_string(out, view_string(v, v->frames[i].name));
    }
    buf_add_char(out, ']');
}

static void add_stretch(const struct requests *q, const struct stretch *t, uint64_t base_ns,
                        struct buf *out)
{
    const struct profile *p = q->v->profile;
    const struct profile_sample *s = &p->samples[t->sample];
    const struct view_row *row = &q->v->rows[q->v->sample_rows[t->sample]];
    enum thread_state state = sample_state(p, s);

    buf_printf(
        out, "\n{\"at_ns\":%llu,\"ns\":%llu,\"event\":", (unsigned long long)(t->from_ns - base_ns),
        (unsigned long long)(t->to_ns - t->from_ns));
    render_add_json_string(out, span_of(p->events[s->event].name));
    if (state != STATE_NONE)
        buf_printf(out, ",\"state\":\"%s\"", STATE_NAMES[state]);
    if (state == STATE_BLOCKED && row->wait != WAIT_BLOCKED)
        buf_printf(out, ",\"wait\":\"%s\"", WAIT_NAMES[row->wait]);
    buf_printf(out, ",\"span\":\"%016llx\",\"samples\":%llu,\"frames\":[",
               (unsigned long long)p->contexts[s->context].span, (unsigned long long)t->samples);
    for (uint32_t i = 0; i < row->n; i++)
        buf_printf(out, "%s%u", i ? "," : "", q->v->stack[row->first + i]);
    buf_add_str(out, "]}");
}

static void add_thread(const struct profile *p, uint32_t thread, struct buf *out)
{
    const struct profile_thread *t = &p->threads[thread];

    buf_printf(out, "{\"tid\":%d,\"pid\":%d,\"name\":", t->host_tid,
               p->processes[t->process].host_pid);
    render_add_json_string(out, intern_get(p->strings, t->name));
    buf_add_str(out, ",\"process\":");
    render_add_json_string(out, intern_get(p->strings, p->processes[t->process].name));
    buf_add_str(out, ",\"stretches\":[");
}

static void add_threads(const struct requests *q, const struct request_times *t, struct buf *out)
{
    const struct profile *p = q->v->profile;
    uint32_t before = UINT32_MAX;

    for (uint32_t i = t->first; i < t->first + t->n && !out->error; i++) {
        uint32_t thread = p->samples[q->stretches[i].sample].thread;

        if (thread != before) {
            buf_add_str(out, before == UINT32_MAX ? "\n" : "]},\n");
            add_thread(p, thread, out);
        } else {
            buf_add_char(out, ',');
        }
        before = thread;
        add_stretch(q, &q->stretches[i], t->from_ns, out);
    }
    if (t->n)
        buf_add_str(out, "]}");
}

static void add_request(const struct requests *q, uint32_t id, struct buf *out)
{
    const struct profile *p = q->v->profile;
    const struct request_times *t = &q->times[id];
    const struct trace_key *key = id_table_get(&q->traces, id);

    buf_printf(out, "\n{\"trace\":\"%016llx%016llx\",\"operation\":", (unsigned long long)key->high,
               (unsigned long long)key->low);
    render_add_json_string(out, intern_get(p->strings, t->operation));
    buf_printf(out, ",\"start_unix_ns\":%llu,\"ns\":%llu,\"threads\":[",
               (unsigned long long)(p->start_realtime_ns + t->from_ns - p->start_ns),
               (unsigned long long)(t->to_ns - t->from_ns));
    add_threads(q, t, out);
    buf_add_str(out, "]}");
}

static void requests_deinit(struct requests *q)
{
    id_table_deinit(&q->traces);
    free(q->times);
    free(q->stretches);
    free(q->longest);
}

int render_requests(const struct view *v, const struct render_opts *o, struct buf *out,
                    struct error *err)
{
    _cleanup_(requests_deinit) struct requests q = { .v = v };
    uint32_t shown;
    int r;

    id_table_init(&q.traces, sizeof(struct trace_key), PROFILE_CONTEXTS_MAX);
    r = collect(&q) ?: sort_all(&q);
    if (r < 0)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    shown = MIN(q.traces.count, REQUESTS_MAX);
    buf_add_str(out, "{\"format\":\"flamed-requests\",\"version\":1,\n");
    render_add_meta(v, o, out);
    add_frames(v, out);
    buf_add_str(out, ",\n\"requests\":[");
    for (uint32_t i = 0; i < shown && !out->error; i++) {
        if (i)
            buf_add_char(out, ',');
        add_request(&q, q.longest[i], out);
    }
    buf_printf(out, "],\n\"left_out\":{\"requests\":%u,\"samples\":%llu}}\n",
               q.traces.count - shown, (unsigned long long)q.no_room);
    return render_result(out, err);
}
