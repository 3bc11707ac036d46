/* SPDX-License-Identifier: Apache-2.0 */
/* The state of pushing to engines, as JSON and as metrics. Thread: serve's workers. */
#include "push/push.h"
#include "api/api_impl.h"
#include "api/exposition.h"
#include "api/json.h"
#include "push/push_url.h"

static const char *const LOSSES[SPOOL_LOSSES] = {
    [SPOOL_TOO_OLD] = "age", [SPOOL_TOO_MUCH] = "bytes", [SPOOL_UNREADABLE] = "unreadable"
};

void api_set_push(struct api *api, struct push *push)
{
    atomic_store(&api->push, push);
}

/* Writes the status of each target. Returns their number; 0: flamed pushes nothing. */
static size_t statuses(struct api *api, struct push_status ret[PUSH_TARGETS_MAX])
{
    struct push *push = atomic_load(&api->push);

    return push ? push_statuses(push, ret, PUSH_TARGETS_MAX) : 0;
}

static uint64_t dropped(const struct push_status *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < SPOOL_LOSSES; i++)
        sum += s->spool.lost[i];
    return sum;
}

static json_t *time_or_null(uint64_t realtime_ns)
{
    return realtime_ns ? json_time(realtime_ns) : json_null();
}

/* Returns the length of @n intervals of the target, in seconds. */
static double times_s(const struct push_status *s, uint64_t n)
{
    return (double)n * (double)s->target->every_ns / 1e9;
}

static json_t *target_json(const struct push_status *s)
{
    char url[PUSH_URL_MAX + 1];
    json_t *o, *counts;

    push_url_shown(s->target, url);
    o = json_pack("{s:s, s:s, s:s, s:s, s:f, s:o, s:o, s:o}", "name", s->target->name, "url", url,
                  "protocol", push_protocol_name(s->target->protocol), "events", s->target->events,
                  "every_seconds", (double)s->target->every_ns / 1e9, "last_success",
                  time_or_null(s->success_ns), "failing_since", time_or_null(s->failing_since_ns),
                  "missing_events", json_string_or_null(s->missing));
    counts = json_pack(
        "{s:f, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:b, s:o, s:o}",
        "queued_minutes", times_s(s, s->spool.minutes) / 60, "queued_bodies",
        (json_int_t)s->spool.bodies, "queued_bytes", (json_int_t)s->spool.bytes, "oldest",
        time_or_null(s->spool.oldest_ns), "sent_bodies", (json_int_t)s->bodies, "sent_bytes",
        (json_int_t)s->bytes, "samples", (json_int_t)s->samples, "other_samples",
        (json_int_t)s->other_samples, "dropped", (json_int_t)dropped(s), "dropped_samples",
        (json_int_t)s->dropped_samples, "rejected",
        (json_int_t)(s->rejected + s->rejected_profiles), "missed_minutes",
        times_s(s, s->missed) / 60, "incomplete_minutes", times_s(s, s->incomplete) / 60,
        "in_memory", s->spool.in_memory, "last_error", json_string_or_null(s->error),
        "last_error_time", time_or_null(s->error_ns));

    if (!o || !counts || json_object_update(o, counts) < 0) {
        json_decref(o);
        o = NULL;
    }
    json_decref(counts);
    return o;
}

int document_push(struct api *api, const struct document_query *q, json_t **ret, struct error *err)
{
    struct push_status all[PUSH_TARGETS_MAX];
    size_t n = q->viewer->whole ? statuses(api, all) : 0; /* other viewers see no targets */
    json_t *list = json_array();

    (void)err;
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, target_json(&all[i]));
    *ret = json_pack("{s:o}", "targets", list);
    return *ret ? 0 : -ENOMEM;
}

/* ---- metrics ---- */

/* One family with a line for each target. */
struct push_family {
    const char *name, *help;
    double (*value)(const struct push_status *s); /* NULL: the uint64_t at @at */
    size_t at;
};

static double success(const struct push_status *s)
{
    return (double)s->success_ns / 1e9;
}

static double failing(const struct push_status *s)
{
    uint64_t now_ns = clock_realtime_ns();

    return s->failing_since_ns && now_ns > s->failing_since_ns
               ? (double)(now_ns - s->failing_since_ns) / 1e9
               : 0;
}

static double rejected(const struct push_status *s)
{
    return (double)(s->rejected + s->rejected_profiles);
}

static double queued_seconds(const struct push_status *s)
{
    return times_s(s, s->spool.minutes);
}

static double missed(const struct push_status *s)
{
    return times_s(s, s->missed);
}

static double incomplete(const struct push_status *s)
{
    return times_s(s, s->incomplete);
}

#define COUNT(member) .at = offsetof(struct push_status, member)

static const struct push_family FAMILIES[] = {
    { "flamed_push_last_success_timestamp_seconds",
      "Time at which the target last accepted a request; 0: never yet.", .value = success },
    { "flamed_push_failing_seconds",
      "For how long the target has accepted nothing although something was sent.",
      .value = failing },
    { "flamed_push_requests_total", "Requests that the target accepted.", COUNT(bodies) },
    { "flamed_push_bytes_total", "Compressed bytes of the requests that the target accepted.",
      COUNT(bytes) },
    { "flamed_push_samples_total", "Samples that went into the spool.", COUNT(samples) },
    { "flamed_push_failures_total",
      "Requests without an answer or answered with an error, and minutes that could not be read.",
      COUNT(failures) },
    { "flamed_push_rejected_total",
      "Requests that the target refused for good, and profiles that it refused within requests it "
      "accepted.",
      .value = rejected },
    { "flamed_push_queued_bytes", "Bytes that wait in the spool.", COUNT(spool.bytes) },
    { "flamed_push_queued_seconds", "Time that the samples in the spool cover.",
      .value = queued_seconds },
    { "flamed_push_missed_seconds_total",
      "Time missing in what was sent, because it was not read from the recorder soon enough.",
      .value = missed },
    { "flamed_push_incomplete_seconds_total",
      "Time that was sent before all of its waits were known.", .value = incomplete },
};

static void label_target(struct buf *out, const char *name, const struct push_status *s)
{
    buf_printf(out, "%s{", name);
    metric_label(out, "target", s->target->name);
}

void push_metrics(struct api *api, struct buf *out)
{
    struct push_status all[PUSH_TARGETS_MAX];
    size_t n = statuses(api, all);

    for (size_t f = 0; n && f < ARRAY_SIZE(FAMILIES); f++) {
        metric_head(out, FAMILIES[f].name, FAMILIES[f].help);
        for (size_t i = 0; i < n; i++) {
            label_target(out, FAMILIES[f].name, &all[i]);
            buf_add_str(out, "} ");
            metric_value(out,
                         FAMILIES[f].value
                             ? FAMILIES[f].value(&all[i])
                             : (double)*(const uint64_t *)(const void *)((const char *)&all[i] +
                                                                         FAMILIES[f].at));
        }
    }
    if (n)
        metric_head(out, "flamed_push_dropped_total",
                    "Requests that the spool had no room for, or that became too old.");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < SPOOL_LOSSES; k++) {
            label_target(out, "flamed_push_dropped_total", &all[i]);
            buf_add_char(out, ',');
            metric_label(out, "reason", LOSSES[k]);
            buf_add_str(out, "} ");
            metric_value(out, (double)all[i].spool.lost[k]);
        }
    }
}
