/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time of functions and waits for locks by service, as Prometheus text. An exemplar of
 * OpenMetrics links to the profile of the minute in which a counter grew last.
 */
#include "api/api_impl.h"
#include "api/exposition.h"
#include "base/url.h"
#include "request/matcher.h"
#include "store/history.h"

#include <time.h>

#define EXEMPLAR_LABEL "flamed_url"
#define EXEMPLAR_MAX 128 /* characters of label and value, by OpenMetrics */
#define RANGE_BYTES 64

struct family {
    const char *name, *label, *help;
    const char *event; /* event of the profile that an exemplar links to; NULL: no exemplars */
};

struct writing {
    const struct viewer *viewer;
    struct matcher_set *seen; /* the viewer's rules; NULL: none */
    const struct family *family;
    const char *address; /* address by which a browser reaches this flamed; "": no exemplars */
    uint64_t minute_ns;  /* minute that `range` names */
    char range[RANGE_BYTES];
    struct buf *out;
};

/* Returns true if the viewer may see a service. Rules for a pod, container or main class match no
 * service, since a service has several of them. */
static bool sees(void *cookie, uint32_t owner, const char *pod_namespace)
{
    const struct writing *w = cookie;
    const struct matcher_values v = { .main = "",
                                      .pod = "",
                                      .pod_uid = "",
                                      .pod_namespace = pod_namespace,
                                      .container = "",
                                      .container_id = "",
                                      .service = "" };

    return viewer_sees_user(w->viewer, owner) || (w->seen && matcher_set_holds(w->seen, &v));
}

/* Writes the part of a link that names the minute at @start_ns. */
static void write_range(struct writing *w, uint64_t start_ns)
{
    char times[2][24];

    for (int i = 0; i < 2; i++) {
        time_t seconds = (time_t)((start_ns + (i ? HISTORY_MINUTE_NS : 0)) / NSEC_PER_SEC);
        struct tm utc;

        if (!gmtime_r(&seconds, &utc) ||
            strftime(times[i], sizeof(times[i]), "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
            times[i][0] = '\0';
    }
    snprintf(w->range, sizeof(w->range), "&from=%s&to=%s", times[0], times[1]);
    w->minute_ns = start_ns;
}

/* Ends the line with the newest minute of its counter, unless the link is too long. */
static void write_exemplar(struct writing *w, const struct service_counter_line *line)
{
    const struct heavy_minute *m = &line->newest;
    _cleanup_buf_ struct buf url = BUF_UPTO(EXEMPLAR_MAX - (sizeof(EXEMPLAR_LABEL) - 1));

    if (!w->address[0] || !w->family->event || !m->ns ||
        strcmp(line->service, SERVICE_COUNTERS_OTHERS) == 0)
        return;
    if (w->minute_ns != m->start_ns)
        write_range(w, m->start_ns);
    buf_add_str(&url, w->address);
    buf_add_str(&url, "/profile?service=");
    url_add_escaped(&url, span_of(line->service));
    buf_add_str(&url, w->range);
    buf_add_str(&url, w->family->event);
    if (url.error)
        return;
    w->out->n--; /* removes the line end, to append the exemplar */
    buf_add_str(w->out, " # {");
    metric_label(w->out, EXEMPLAR_LABEL, url.p);
    buf_add_str(w->out, "} ");
    metric_seconds(w->out, m->ns);
    w->out->n--;
    buf_add_char(w->out, ' ');
    buf_add_u64(w->out, (m->start_ns + HISTORY_MINUTE_NS) / NSEC_PER_SEC);
    buf_add_char(w->out, '\n');
}

static void write_line(void *cookie, const struct service_counter_line *line)
{
    struct writing *w = cookie;

    buf_add_str(w->out, w->family->name);
    buf_add_char(w->out, '{');
    metric_label(w->out, "service", line->service);
    buf_add_char(w->out, ',');
    metric_label(w->out, "namespace", line->pod_namespace);
    buf_add_char(w->out, ',');
    metric_label(w->out, w->family->label, line->name);
    buf_add_str(w->out, "} ");
    metric_seconds(w->out, line->ns);
    write_exemplar(w, line);
}

static const struct family FAMILIES[SERVICE_COUNTER_KINDS] = {
    [SERVICE_COUNTER_CPU] = { "flamed_function_cpu_seconds_total", "function",
                              "CPU time of a service by the function that used it, from the "
                              "minutes of the history.",
                              .event = "" },
    [SERVICE_COUNTER_CALLS] = { "flamed_function_calls_cpu_seconds_total", "function",
                                "CPU time of functions that metrics_functions chooses, with all "
                                "that they called." },
    [SERVICE_COUNTER_LOCKS] = { "flamed_lock_wait_seconds_total", "class",
                                "Time that threads of a service waited for monitors and locks of "
                                "a class.",
                                .event = "&event=lock" },
};

void service_metrics(struct api *api, const struct viewer *v, bool exemplars, struct buf *out)
{
    struct service_counters *counters = api->engine.opts->counters;
    _cleanup_(matcher_set_freep) struct matcher_set *seen = NULL;
    const char *address = exemplars ? api->engine.opts->external_url : NULL;

    if (!counters || (v->seen && matcher_set_new(v->seen, &seen, NULL) < 0))
        return;
    for (uint32_t kind = 0; kind < SERVICE_COUNTER_KINDS; kind++) {
        struct writing w = { .viewer = v,
                             .seen = seen,
                             .family = &FAMILIES[kind],
                             .address = address ? address : "",
                             .out = out };

        metric_head(out, FAMILIES[kind].name, FAMILIES[kind].help);
        service_counters_each(counters,
                              &(struct service_counters_query){
                                  .kind = kind, .sees = sees, .line = write_line, .cookie = &w });
    }
    if (v->whole)
        metric(
            out, "flamed_function_metrics_left_out_total",
            "Functions that found no free counter in a minute, and samples that found no memory.",
            service_counters_left_out(counters));
}
