/* SPDX-License-Identifier: Apache-2.0 */
/* Samples per bucket of time, by JVM or by category: out of the flight recorder, and of stored
 * captures for what lies further back than it reaches. */
#include "capture/json.h"
#include "capture/recorder.h"

#define TIMELINE_SERIES_MAX 64
/* So much more than the recorder may hold has to be asked for before stored captures are read:
 * what pages ask for each JVM every few seconds is answered from memory alone. */
#define TIMELINE_SLACK_NS (60 * NSEC_PER_SEC)

/* One line of it, counted by bucket. */
struct series {
    char name[256];
    int32_t host_pid; /* 0: not of one process */
    uint64_t *samples;
    uint64_t total;
};

static struct series *series_of(struct series *list, size_t *count, const char *name,
                                int32_t host_pid, size_t buckets)
{
    for (size_t i = 0; i < *count; i++) {
        if (list[i].host_pid == host_pid && strcmp(list[i].name, name) == 0)
            return &list[i];
    }
    if (*count == TIMELINE_SERIES_MAX)
        return NULL;
    list[*count].samples = calloc(buckets, sizeof(uint64_t));
    if (!list[*count].samples)
        return NULL;
    snprintf(list[*count].name, sizeof(list[*count].name), "%s", name);
    list[*count].host_pid = host_pid;
    return &list[(*count)++];
}

static json_t *series_json(const struct series *s, size_t buckets, const char *key)
{
    json_t *samples = json_array();

    for (size_t i = 0; i < buckets; i++)
        json_array_append_new(samples, json_integer((json_int_t)s->samples[i]));
    return json_pack("{s:s, s:o, s:I, s:o}", key, s->name, "pid",
                     s->host_pid ? json_integer(s->host_pid) : json_null(), "total",
                     (json_int_t)s->total, "samples", samples);
}

static void timeline_count(const struct profile *p, bool by_jvm, uint64_t from_ns, uint64_t to_ns,
                           size_t buckets, struct series *list, size_t *count, uint64_t *others)
{
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        const struct profile_process *process = &p->processes[p->threads[s->thread].process];
        uint64_t at = p->start_realtime_ns + s->time_ns - p->start_ns;
        size_t bucket =
            (size_t)((double)(at - MIN(at, from_ns)) / (double)(to_ns - from_ns) * (double)buckets);
        struct series *line =
            by_jvm ? series_of(list, count, intern_get(p->strings, process->name).p,
                               process->host_pid, buckets)
                   : series_of(
                         list, count,
                         CATEGORY_NAMES[MIN(PROFILE_SAMPLE_CATEGORY(s->flags), CATEGORY_COUNT - 1)],
                         0, buckets);

        if (!line) {
            *others += s->count;
            continue;
        }
        line->samples[MIN(bucket, buckets - 1)] += s->count;
        line->total += s->count;
    }
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

int backend_timeline(void *ctx, const struct target_selector *t, const struct time_range *range,
                     size_t buckets, const char *by, json_t **ret, struct error *err)
{
    struct engine *e = ctx;
    _cleanup_free_ struct series *list = calloc(TIMELINE_SERIES_MAX, sizeof(*list));
    struct time_range whole = *range;
    _cleanup_(profile_unrefp) struct profile *p = NULL;
    bool by_jvm = strcmp(by, "jvm") == 0;
    uint64_t others = 0, oldest_ns, now = clock_realtime_ns();
    double hz = e->recorder ? 1e9 / (double)e->recorder->period_ns : 0.0;
    unsigned sources = PAST_RECORDER;
    json_t *series = json_array();
    size_t count = 0;
    int r;

    whole.to_ns = MIN(whole.to_ns, now);
    if (whole.from_ns + e->opts.recorder_keep_ns + TIMELINE_SLACK_NS < now)
        sources |= PAST_STORE;
    r = past_profile(e, t, &whole, "cpu", sources, &p, &oldest_ns, err);
    if (r == BACKEND_NOT_FOUND) /* nothing ran is an answer too */
        r = 0;
    if (r == 0 && (!list || !series || whole.from_ns >= whole.to_ns))
        r = -ENOMEM;
    if (r != 0) {
        json_decref(series);
        return r;
    }
    if (p) {
        timeline_count(p, by_jvm, whole.from_ns, whole.to_ns, buckets, list, &count, &others);
        hz = 1e9 / (double)MAX(p->period, UINT64_C(1));
    }
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(series, series_json(&list[i], buckets, by_jvm ? "jvm" : "category"));
        free(list[i].samples);
    }
    *ret = timeline_json(&whole, buckets, hz, oldest_ns, series, others);
    return *ret ? 0 : -ENOMEM;
}
