/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture warns of at its end: samples that are missing, rights, names that cannot be. */
#include "capture/capability_text.h"
#include "capture/capture_impl.h"

static void warn_right(void *cookie, const char *sentence)
{
    struct capture *c = cookie;

    record_warn(c->record, "%s", sentence);
}

/* What makes for fewer samples. */
static const char *fewer(const struct capture *c)
{
    return event_is_timed(c->event) ? "lower hz" : "raise interval";
}

/* What did not arrive while it ran: of the whole node, for nobody knows whose it was. */
static void capture_warn_lost(struct engine *e, struct capture *c)
{
    const struct broker_sample_stats *before = &c->stats_before;
    struct broker_sample_stats now;
    uint64_t unread, costly;

    if (broker_sample_stats(e->broker, &now, NULL) != 0)
        return;
    unread = now.lost_ring - before->lost_ring + now.lost_other - before->lost_other;
    costly = now.lost_budget - before->lost_budget;
    c->meta.lost = unread + costly;
    if (unread)
        record_warn(c->record,
                    "%llu samples of this node were lost because they came faster than they could "
                    "be read; %s",
                    (unsigned long long)unread, fewer(c));
    if (costly)
        record_warn(c->record,
                    "%llu samples of this node were not taken because sampling would have cost "
                    "more than a quarter of a processor; %s",
                    (unsigned long long)costly, fewer(c));
    if (target_is_node(c->target) && now.hidden > before->hidden)
        record_warn(c->record, "processes outside flamed's own pid namespace ran and are not "
                               "in this profile; start flamed in the host's (hostPID: true)");
}

/* The kernel allows fewer than when it began: what is more was dropped, and nobody counted it. */
static void capture_warn_dropped(const struct engine *e, struct capture *c)
{
    uint64_t allowed_hz;

    if (event_is_timed(c->event) && rates_dropped(e->opts.proc_fd, c->set_period, &allowed_hz))
        record_warn(c->record,
                    "the kernel now allows %llu samples a second and drops the rest: "
                    "it lowers kernel.perf_event_max_sample_rate if interrupts take "
                    "long. This profile has too few samples; lower hz",
                    (unsigned long long)allowed_hz);
}

static void capture_warn_empty(struct capture *c)
{
    if (event_is_timed(c->event))
        record_warn(c->record,
                    "no samples: the target used no CPU time in this while; an idle service "
                    "shows nothing with event=cpu");
    else
        record_warn(c->record,
                    "no samples: of %s one in %llu is sampled on each CPU, and none of them was "
                    "the target's; try a smaller interval",
                    c->event->name, (unsigned long long)c->period);
}

void capture_warn_quality(struct engine *e, struct capture *c)
{
    const char *kernel = symbolizer_kernel_problem(e->symbolizer);

    capture_warn_lost(e, c);
    capture_warn_dropped(e, c);
    capture_warn_unanswered(e, c);
    capture_warn_put_off(e, c);
    rights_problems(e->facts.capabilities, warn_right, c);
    if (kernel[0])
        record_warn(c->record, "%s", kernel);
    if (e->facts.sideband_problem[0])
        record_warn(c->record, "%s", e->facts.sideband_problem);
    if (record_samples(c->record) == 0)
        capture_warn_empty(c);
}
