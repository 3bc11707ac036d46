/* SPDX-License-Identifier: Apache-2.0 */
/* Samples per bucket of time, by JVM or by category, and when JVMs stopped. Data come from the
 * flight recorder for the latest time, from sums of the history before that, and from stored
 * captures for older times. */
#include "api/json.h"
#include "api/past_impl.h"

#include <math.h>

#define TIMELINE_SERIES_MAX 64     /* series in an answer, the heaviest ones */
#define TIMELINE_COLLECTED_MAX 512 /* series while counting; a day may have many JVMs */
#define TIMELINE_JVMS_MAX 256      /* limit of JVMs if the series have categories */
/* Stored captures are read only for requests that begin more than this before the recorder's oldest
 * sample. So web pages, which ask for each JVM every few seconds, are answered from memory. */
#define TIMELINE_SLACK_NS (60 * NSEC_PER_SEC)

/* One series, counted by bucket. */
struct series {
    char *name;           /* owned: the process's name; NULL: all processes */
    const char *category; /* literal; NULL: all categories */
    int32_t host_pid;
    double *samples; /* by bucket; a part of the history may span several buckets */
    double total;
};

/* A timeline in the making. */
struct timeline {
    struct time_range range;
    bool by_jvm, by_category;
    size_t buckets, count, max;
    struct series *list; /* [max] */
    double others;       /* samples of series without room */
    uint64_t now_ns;     /* CLOCK_REALTIME */
    uint64_t period_ns;  /* of the counted samples; 0: no sample yet */
    bool no_memory;
};

static int timeline_init(struct timeline *t, const char *by, const struct time_range *range,
                         size_t buckets)
{
    t->range = *range;
    t->now_ns = clock_realtime_ns();
    t->by_jvm = strcmp(by, "category") != 0;
    t->by_category = strcmp(by, "jvm") != 0;
    t->buckets = buckets;
    t->max =
        t->by_jvm && t->by_category ? TIMELINE_JVMS_MAX * CATEGORY_COUNT : TIMELINE_COLLECTED_MAX;
    t->list = calloc(t->max, sizeof(*t->list));
    return t->list ? 0 : -ENOMEM;
}

static void series_deinit(struct series *s)
{
    free(s->name);
    free(s->samples);
}

static void timeline_deinit(struct timeline *t)
{
    for (size_t i = 0; i < t->count; i++)
        series_deinit(&t->list[i]);
    free(t->list);
}

/* Finds or adds the series with these values. NULL: no room or no memory. */
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
    *s = (struct series){ .host_pid = host_pid, .category = category };
    s->samples = calloc(t->buckets, sizeof(*s->samples));
    s->name = name ? strdup(name) : NULL;
    if (!s->samples || (name && !s->name)) {
        series_deinit(s);
        t->no_memory = true;
        return NULL;
    }
    t->count++;
    return s;
}

/* Returns the bucket of the time @at. Times outside of the range count in the nearest bucket. */
static size_t bucket_of(const struct timeline *t, uint64_t at)
{
    uint64_t since = at - MIN(at, t->range.from_ns);
    double share = (double)since / (double)(t->range.to_ns - t->range.from_ns);

    return MIN((size_t)(share * (double)t->buckets), t->buckets - 1);
}

/* Converts @n samples at @period_ns to the period of the timeline. The first call sets that
 * period. */
static double as_counted(struct timeline *t, double n, uint64_t period_ns)
{
    if (!t->period_ns)
        t->period_ns = period_ns;
    return t->period_ns == period_ns || !t->period_ns
               ? n
               : n * (double)period_ns / (double)t->period_ns;
}

static void series_add(struct timeline *t, struct series *s, size_t bucket, double n)
{
    if (!s) {
        t->others += n;
        return;
    }
    s->samples[bucket] += n;
    s->total += n;
}

ORDER_FUNCTION(by_total, struct series, COMPARE(y->total, x->total))

/* Keeps the @most heaviest series. */
static void timeline_cut(struct timeline *t, size_t most)
{
    if (t->count <= most)
        return;
    qsort(t->list, t->count, sizeof(*t->list), by_total);
    while (t->count > most) {
        struct series *s = &t->list[--t->count];

        t->others += s->total;
        series_deinit(s);
    }
}

/* ---- the answer's numbers ---- */

/* Returns whole samples by bucket. Rounding keeps their sum. */
static json_t *samples_json(const struct series *s, size_t buckets)
{
    json_t *list = json_array();
    double sum = 0, told = 0;

    for (size_t i = 0; i < buckets; i++) {
        sum += s->samples[i];
        json_array_append_new(list, json_integer((json_int_t)(round(sum) - told)));
        told = round(sum);
    }
    return list;
}

static json_t *series_json(const struct series *s, size_t buckets)
{
    json_t *value =
        json_pack("{s:o, s:I, s:o}", "pid", s->name ? json_integer(s->host_pid) : json_null(),
                  "total", (json_int_t)round(s->total), "samples", samples_json(s, buckets));

    if (s->name)
        json_object_set_new(value, "jvm", json_string(s->name));
    if (s->category)
        json_object_set_new(value, "category", json_string(s->category));
    return value;
}

/* ---- counting ---- */

/* Returns the series of samples of @process in @category. @known caches results: [processes *
 * categories]. */
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

/* Counts the samples of @p. 0 or -ENOMEM. */
static int timeline_count(struct timeline *t, const struct profile *p)
{
    _cleanup_free_ struct series **known =
        calloc(p->process_count * CATEGORY_COUNT + 1, sizeof(struct series *));

    if (!known)
        return -ENOMEM;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        struct series *line =
            line_of(t, p, p->threads[s->thread].process,
                    MIN(PROFILE_SAMPLE_CATEGORY(s->flags), CATEGORY_COUNT - 1), known);

        series_add(t, line, bucket_of(t, p->start_realtime_ns + s->time_ns - p->start_ns),
                   as_counted(t, s->count, p->events[s->event].period));
    }
    return 0;
}

/* Adds @n samples of a part of the history, distributed to buckets by the part's time in each. */
static void add_part(struct timeline *t, struct series *line, const struct history_sums *part,
                     double n)
{
    double width = (double)(t->range.to_ns - t->range.from_ns) / (double)t->buckets;
    uint64_t end_ns =
                 /* the last minute may still be running */
        MAX(MIN(part->end_ns, t->now_ns), part->start_ns + 1),
             from_ns = MAX(part->start_ns, t->range.from_ns), to_ns = MIN(end_ns, t->range.to_ns);
    double length = (double)(end_ns - part->start_ns);

    for (size_t b = bucket_of(t, from_ns); from_ns < to_ns && b < t->buckets; b++) {
        uint64_t until_ns = t->range.from_ns + (uint64_t)(width * (double)(b + 1));

        until_ns = b + 1 == t->buckets ? to_ns : MIN(until_ns, to_ns);
        if (until_ns > from_ns)
            series_add(t, line, b, n * (double)(until_ns - from_ns) / length);
        from_ns = MAX(from_ns, until_ns);
    }
}

static void count_part(void *cookie, const struct history_sums *part)
{
    struct timeline *t = cookie;
    const struct history_image *image = part->image;
    char others[48];
    const char *name = image->host_pid ? image->name : others;

    snprintf(others, sizeof(others), "[other processes of user %u]", image->owner);
    if (t->max - t->count < CATEGORY_COUNT) /* makes room, so that short-lived JVMs do not displace
                                             * later ones */
        timeline_cut(t, t->max / 2);
    for (size_t i = 0; i < CATEGORY_COUNT; i++) {
        if (part->samples[i])
            add_part(t,
                     series_of(t, t->by_jvm ? name : NULL, t->by_jvm ? image->host_pid : 0,
                               t->by_category ? CATEGORY_NAMES[i] : NULL),
                     part, as_counted(t, (double)part->samples[i], part->period_ns));
    }
}

/* ---- the answer ---- */

static json_t *timeline_json(const struct timeline *t, const struct past_recorder *recorder,
                             const struct history_reach *kept, json_t *series)
{
    uint64_t length_ns = t->range.to_ns - t->range.from_ns,
             period_ns = t->period_ns ? t->period_ns : recorder->period_ns;

    return json_pack("{s:o, s:o, s:o, s:f, s:f, s:f, s:o, s:I}", "from",
                     json_time(t->range.from_ns), "to", json_time(t->range.to_ns), "oldest",
                     recorder->oldest_ns ? json_time(recorder->oldest_ns) : json_null(),
                     "bucket_seconds", (double)length_ns / 1e9 / (double)t->buckets,
                     "resolution_seconds", (double)kept->resolution_ns / 1e9, "hz",
                     period_ns ? clock_hz(period_ns) : 0.0, "series", series, "others",
                     (json_int_t)round(t->others));
}

/* Returns warnings: the limits of @p and of the history. If there is no data, says that less is
 * kept than the request asks for. */
static json_t *warnings_json(const struct profile *p, const struct history_reach *kept,
                             uint64_t asked_ns, const char *reach)
{
    struct profile gaps = { 0 };
    json_t *list = json_array();

    for (size_t i = 0; p && i < p->warning_count; i++)
        json_array_append_new(list, json_string(p->warnings[i]));
    if (!p && reach[0])
        json_array_append_new(list, json_string(reach));
    if (kept->parts)
        past_history_gaps(kept, asked_ns, &gaps);
    for (size_t i = 0; i < gaps.warning_count; i++) {
        json_array_append_new(list, json_string(gaps.warnings[i]));
        free(gaps.warnings[i]);
    }
    return list;
}

/* Puts the finished lists into the answer, or frees them. */
static int timeline_answer(struct api *api, const struct target_selector *target,
                           struct timeline *t, const struct profile *p,
                           const struct past_recorder *recorder, const struct past_sums *sums,
                           json_t **ret, struct error *err)
{
    const struct history_reach *kept = &sums->reach;
    uint64_t from_ns = MAX(t->range.from_ns, kept->from_ns),
             to_ns = MIN(t->range.to_ns, kept->to_ns);
    size_t left_out = 0;
    json_t *warnings = warnings_json(p, kept, to_ns - MIN(from_ns, to_ns), recorder->reach), *marks,
           *series, *moments = p ? timeline_moments(p, &left_out) : json_array();
    int r;

    marks = timeline_marks(api, target, &t->range, warnings, &r, err);
    if (marks)
        r = timeline_stops(api, target, &t->range, t->buckets, recorder->since_ns, moments,
                           &left_out, err);
    if (!marks || r < 0) {
        json_decref(marks);
        json_decref(moments);
        json_decref(warnings);
        return r;
    }
    if (r == 1)
        json_array_append_new(
            warnings,
            json_string("earlier pauses and throttling are left out: the history has more "
                        "minutes of them than one answer reads; ask for a shorter range"));
    if (t->by_jvm && !t->by_category)
        timeline_cut(t, TIMELINE_SERIES_MAX);
    series = json_array();
    for (size_t i = 0; i < t->count; i++)
        json_array_append_new(series, series_json(&t->list[i], t->buckets));
    *ret = timeline_json(t, recorder, kept, series);
    if (!*ret) {
        json_decref(moments);
        json_decref(marks);
        json_decref(warnings);
        return -ENOMEM;
    }
    json_object_set_new(*ret, "warnings", warnings);
    json_object_set_new(*ret, "marks", marks);
    json_object_set_new(*ret, "moments", moments);
    json_object_set_new(*ret, "moments_left_out", json_integer((json_int_t)left_out));
    r = timeline_gaps(api, &t->range, recorder->oldest_ns, *ret, err);
    if (r < 0) {
        json_decref(*ret);
        *ret = NULL;
    }
    return r;
}

int backend_timeline(void *ctx, const struct target_selector *target,
                     const struct time_range *range, size_t buckets, const char *by, json_t **ret,
                     size_t *ret_count, struct error *err)
{
    struct api *api = ctx;
    _cleanup_(profile_unrefp) struct profile *p = NULL;
    _cleanup_(timeline_deinit) struct timeline t = { 0 };
    struct past_sums sums = { .coarsest_ns = (range->to_ns - range->from_ns) / buckets,
                              .fn = count_part,
                              .cookie = &t };
    struct past_recorder recorder;
    uint64_t recorded_ns = api->engine.opts->recorder_keep_ns + TIMELINE_SLACK_NS;
    int r = timeline_init(&t, by, range, buckets);

    if (r == 0)
        r = past_timeline(api, target, range, range->from_ns + recorded_ns < clock_realtime_ns(),
                          &sums, &p, &recorder, err);
    timeline_cut(&t, t.max / 2); /* makes room for JVMs that run now */
    if (r == 0 && p)
        r = timeline_count(&t, p);
    if (r == 0)
        r = t.no_memory ? -ENOMEM : timeline_answer(api, target, &t, p, &recorder, &sums, ret, err);
    *ret_count = t.count;
    return r;
}
