/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of the history: what it keeps, and what it costs. */
#include "api/api_impl.h"
#include "api/exposition.h"

static const char *const TIERS[HISTORY_TIERS] = { "1m", "10m", "1h" };

static void metric_tiers(struct buf *out, const struct history_stats *s)
{
    uint64_t now_ns = clock_realtime_ns();

    metric_head(out, "flamed_history_tier_bytes",
                "Bytes of the history, by the length of its parts.");
    for (int i = 0; i < HISTORY_TIERS; i++)
        buf_printf(out, "flamed_history_tier_bytes{tier=\"%s\"} %llu\n", TIERS[i],
                   (unsigned long long)s->tier_bytes[i]);
    metric_head(out, "flamed_history_tier_seconds",
                "How far back the history reaches, by the length of its parts.");
    for (int i = 0; i < HISTORY_TIERS; i++)
        buf_printf(out, "flamed_history_tier_seconds{tier=\"%s\"} %.0f\n", TIERS[i],
                   s->tier_oldest_ns[i] && now_ns > s->tier_oldest_ns[i]
                       ? (double)(now_ns - s->tier_oldest_ns[i]) / NSEC_PER_SEC
                       : 0.0);
}

void history_metrics(struct api *api, struct buf *out)
{
    struct history_stats s;
    struct spill_stats spill = { 0 };
    char problem[256];

    if (!api->engine.history)
        return;
    history_stats(api->engine.history, &s);
    history_problem(api->engine.history, problem, sizeof(problem));
    if (*api->engine.spill)
        spill_stats(*api->engine.spill, &spill);
    metric(out, "flamed_history_bytes", "Size of the history.", s.bytes);
    metric(out, "flamed_history_names_bytes",
           "Memory of the names and stacks that its minutes share.", s.names_bytes);
    metric_tiers(out, &s);
    metric(out, "flamed_history_written_total", "Minutes written.", s.minutes);
    metric(out, "flamed_history_failures_total",
           "Times that a minute could not be written; it is tried again.", s.failures);
    metric(out, "flamed_history_waiting", "Minutes that wait to be written.", spill.waiting);
    metric(out, "flamed_history_unwritten_total", "Minutes that could not be written in time.",
           spill.dropped_minutes);
    metric(out, "flamed_history_names_left_out_total",
           "Names for which a minute or its dictionary had no room: they are empty.",
           s.names_left_out);
    metric_by(out, "flamed_history_dropped_total", "Parts dropped by retention.", "reason",
              { "age", s.dropped_by_age }, { "size", s.dropped_by_size });
    metric(out, "flamed_history_jvms_dropped_total",
           "JVMs dropped with their samples, because too many were started.", s.images_dropped);
    metric(out, "flamed_history_healthy", "1 when minutes can be written.", problem[0] ? 0.0 : 1.0);
}
