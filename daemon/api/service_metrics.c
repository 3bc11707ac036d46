/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of functions and waits for locks by service, as Prometheus text. */
#include "api/api_impl.h"
#include "api/exposition.h"
#include "request/matcher.h"

struct writing {
    const struct viewer *viewer;
    struct matcher_set *seen; /* the viewer's rules; NULL: none */
    const char *name, *label;
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

static void write_line(void *cookie, const struct service_counter_line *line)
{
    const struct writing *w = cookie;

    buf_add_str(w->out, w->name);
    buf_add_char(w->out, '{');
    metric_label(w->out, "service", line->service);
    buf_add_char(w->out, ',');
    metric_label(w->out, "namespace", line->pod_namespace);
    buf_add_char(w->out, ',');
    metric_label(w->out, w->label, line->name);
    buf_add_str(w->out, "} ");
    metric_seconds(w->out, line->ns);
}

static const struct {
    const char *name, *label, *help;
} FAMILIES[SERVICE_COUNTER_KINDS] = {
    [SERVICE_COUNTER_CPU] = { "flamed_function_cpu_seconds_total", "function",
                              "CPU time of a service by the function that used it, from the "
                              "minutes of the history." },
    [SERVICE_COUNTER_CALLS] = { "flamed_function_calls_cpu_seconds_total", "function",
                                "CPU time of functions that metrics_functions chooses, with all "
                                "that they called." },
    [SERVICE_COUNTER_LOCKS] = { "flamed_lock_wait_seconds_total", "class",
                                "Time that threads of a service waited for monitors and locks of "
                                "a class." },
};

void service_metrics(struct api *api, const struct viewer *v, struct buf *out)
{
    struct service_counters *counters = api->engine.opts->counters;
    _cleanup_(matcher_set_freep) struct matcher_set *seen = NULL;

    if (!counters || (v->seen && matcher_set_new(v->seen, &seen, NULL) < 0))
        return;
    for (uint32_t kind = 0; kind < SERVICE_COUNTER_KINDS; kind++) {
        struct writing w = { v, seen, FAMILIES[kind].name, FAMILIES[kind].label, out };

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
