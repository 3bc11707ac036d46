/* SPDX-License-Identifier: Apache-2.0 */
/* Samples per bucket of time, by JVM or by category, and when JVMs stopped: out of the flight
 * recorder, and of stored captures for what lies further back than it reaches. */
#include "api/api_impl.h"
#include "api/json.h"
#include "event/events.h"

#define TIMELINE_SERIES_MAX 64
#define TIMELINE_JVMS_MAX 256 /* with their categories */
/* So much more than the recorder may hold has to be asked for before stored captures are read:
 * what pages ask for each JVM every few seconds is answered from memory alone. */
#define TIMELINE_SLACK_NS (60 * NSEC_PER_SEC)

/* One line of it, counted by bucket. */
struct series {
    const char *name;     /* of the process, points into the profile's strings; NULL: not of one */
    const char *category; /* literal; NULL: of all */
    int32_t host_pid;
    uint64_t *samples;
    uint64_t total;
};

/* What distinguishes the lines, and the lines so far. */
struct timeline {
    bool by_jvm, by_category;
    size_t buckets, count, max;
    struct series *list; /* [max] */
    uint64_t others;     /* samples for which there was no room */
};

static int timeline_init(struct timeline *t, const char *by, size_t buckets)
{
    t->by_jvm = strcmp(by, "category") != 0;
    t->by_category = strcmp(by, "jvm") != 0;
    t->buckets = buckets;
    t->max = t->by_jvm && t->by_category ? TIMELINE_JVMS_MAX * CATEGORY_COUNT : TIMELINE_SERIES_MAX;
    t->list = calloc(t->max, sizeof(*t->list));
    return t->list ? 0 : -ENOMEM;
}

static void timeline_deinit(struct timeline *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->list[i].samples);
    free(t->list);
}

/* NULL: no room. */
static struct series *series_of(struct timeline *t, const char *name, int32_t host_pid,
                                const char *category)
{
    struct series *s;

    for (size_t i = 0; i < t->count; i++) {
        s = &t->list[i];
        if (s->host_pid == host_pid && s->category == category &&
            (!name || strcmp(s->name, name) == 0))
            return s;
    }
    if (t->count == t->max)
        return NULL;
    s = &t->list[t->count];
    s->samples = calloc(t->buckets, sizeof(uint64_t));
    if (!s->samples)
        return NULL;
    s->name = name;
    s->host_pid = host_pid;
    s->category = category;
    t->count++;
    return s;
}

static json_t *series_json(const struct series *s, size_t buckets)
{
    json_t *samples = json_array(), *value;

    for (size_t i = 0; i < buckets; i++)
        json_array_append_new(samples, json_integer((json_int_t)s->samples[i]));
    value = json_pack("{s:o, s:I, s:o}", "pid", s->name ? json_integer(s->host_pid) : json_null(),
                      "total", (json_int_t)s->total, "samples", samples);
    if (s->name)
        json_object_set_new(value, "jvm", json_string(s->name));
    if (s->category)
        json_object_set_new(value, "category", json_string(s->category));
    return value;
}

/* The line of samples of @process in @category. @known: [processes * categories], what was found
 * before. */
static struct series *line_of(struct timeline *t, const struct profile *p, uint32_t process,
                              size_t category, struct series **known)
{
    struct series **slot = &known[process * CATEGORY_COUNT + category];
    const struct profile_process *of = &p->processes[process];

    if (!*slot)
        *slot = series_of(t, t->by_jvm ? intern_get(p->strings, of->name).p : NULL,
                          t->by_jvm ? of->host_pid : 0,
                          t->by_category ? CATEGORY_NAMES[category] : NULL);
    return *slot;
}

/* 0 or -ENOMEM. */
static int timeline_count(struct timeline *t, const struct profile *p, uint64_t from_ns,
                          uint64_t to_ns)
{
    _cleanup_free_ struct series **known =
        calloc(p->process_count * CATEGORY_COUNT + 1, sizeof(struct series *));

    if (!known)
        return -ENOMEM;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        uint64_t at = p->start_realtime_ns + s->time_ns - p->start_ns;
        size_t bucket = (size_t)((double)(at - MIN(at, from_ns)) / (double)(to_ns - from_ns) *
                                 (double)t->buckets);
        struct series *line =
            line_of(t, p, p->threads[s->thread].process,
                    MIN(PROFILE_SAMPLE_CATEGORY(s->flags), CATEGORY_COUNT - 1), known);

        if (!line) {
            t->others += s->count;
            continue;
        }
        line->samples[MIN(bucket, t->buckets - 1)] += s->count;
        line->total += s->count;
    }
    return 0;
}

static json_t *timeline_json(const struct time_range *range, size_t buckets, double hz,
                             uint64_t oldest_ns, json_t *series, uint64_t others)
{
    return json_pack("{s:o, s:o, s:o, s:f, s:f, s:o, s:I}", "from", json_time(range->from_ns), "to",
                     json_time(range->to_ns), "oldest",
                     oldest_ns ? json_time(oldest_ns) : json_null(), "bucket_seconds",
                     (double)(range->to_ns - range->from_ns) / 1e9 / (double)buckets, "hz", hz,
                     "series", series, "others", (json_int_t)others);
}

/* What limits @p, or, where nothing is known, that less is kept than was asked for. */
static json_t *warnings_json(const struct profile *p, const char *reach)
{
    json_t *list = json_array();

    for (size_t i = 0; p && i < p->warning_count; i++)
        json_array_append_new(list, json_string(p->warnings[i]));
    if (!p && reach[0])
        json_array_append_new(list, json_string(reach));
    return list;
}

int backend_timeline(void *ctx, const struct target_selector *t, const struct time_range *range,
                     size_t buckets, const char *by, json_t **ret, size_t *ret_count,
                     struct error *err)
{
    struct api *api = ctx;
    struct time_range whole = *range;
    _cleanup_(profile_unrefp) struct profile *p = NULL;
    _cleanup_(timeline_deinit) struct timeline lines = { 0 };
    struct past_recorder recorder;
    uint64_t now = clock_realtime_ns();
    double hz;
    unsigned sources = PAST_RECORDER;
    json_t *series;
    size_t left_out = 0;
    int r;

    whole.to_ns = MIN(whole.to_ns, now);
    if (whole.from_ns + api->engine.opts->recorder_keep_ns + TIMELINE_SLACK_NS < now)
        sources |= PAST_STORE;
    r = past_profile(api, t, &whole, events_default()->name, sources, &p, &recorder, err);
    hz = recorder.period_ns ? clock_hz(recorder.period_ns) : 0.0;
    if (r == BACKEND_NOT_FOUND) /* nothing ran is an answer too */
        r = 0;
    if (r == 0 && whole.from_ns >= whole.to_ns)
        r = -ENOMEM;
    if (r == 0)
        r = timeline_init(&lines, by, buckets);
    if (r == 0 && p) {
        r = timeline_count(&lines, p, whole.from_ns, whole.to_ns);
        hz = clock_hz(p->events[0].period);
    }
    if (r != 0)
        return r;
    series = json_array();
    for (size_t i = 0; i < lines.count; i++)
        json_array_append_new(series, series_json(&lines.list[i], buckets));
    *ret_count = lines.count;
    *ret = timeline_json(&whole, buckets, hz, recorder.oldest_ns, series, lines.others);
    if (!*ret)
        return -ENOMEM;
    json_object_set_new(*ret, "warnings", warnings_json(p, recorder.reach));
    json_object_set_new(*ret, "moments", p ? timeline_moments(p, &left_out) : json_array());
    json_object_set_new(*ret, "moments_left_out", json_integer((json_int_t)left_out));
    return 0;
}
