/* SPDX-License-Identifier: Apache-2.0 */
/* The warnings of a capture at its end: missing samples, capabilities and names. */
#include "capture/capability_text.h"
#include "capture/capture_impl.h"
#include "capture/empty_text.h"
#include "capture/idle_target.h"

static void warn_right(void *cookie, const char *sentence)
{
    struct capture *c = cookie;

    record_warn(c->record, "%s", sentence);
}

/* Returns the advice for getting fewer samples. */
static const char *fewer(const struct capture *c)
{
    bool timed = false, counted = false;

    for (size_t i = 0; i < c->event_count; i++) {
        timed |= event_is_timed(c->events[i].info);
        counted |= !event_is_timed(c->events[i].info);
    }
    return !counted ? "lower hz" : timed ? "lower hz or raise interval" : "raise interval";
}

/* Warns of samples that were lost while @c ran. */
static void capture_warn_lost(struct capture *c)
{
    uint64_t unread = (uint64_t)(c->lost.unread + 0.5), costly = (uint64_t)(c->lost.costly + 0.5);

    c->meta.lost = lost_samples(&c->lost);
    if (c->lost.unplaced)
        record_warn(c->record,
                    "%llu samples of the whole machine were lost because they came faster than "
                    "they could be read. Some may be of this profile: without BPF programs the "
                    "kernel does not say; %s",
                    (unsigned long long)c->lost.unplaced, fewer(c));
    if (unread)
        record_warn(c->record,
                    "%llu samples were lost because they came faster than they could be read; %s",
                    (unsigned long long)unread, fewer(c));
    if (costly)
        record_warn(c->record,
                    "%llu samples were not taken because sampling would have cost more than a "
                    "quarter of a processor; %s",
                    (unsigned long long)costly, fewer(c));
}

uint64_t captures_hidden(const struct captures *captures)
{
    struct sample_stats now = { 0 };

    broker_sample_stats(captures->broker, &now, NULL);
    return now.hidden + captures->counts.hidden_copies;
}

static void capture_warn_hidden(const struct captures *captures, struct capture *c)
{
    if (target_is_node(c->target) && captures_hidden(captures) > c->lost.hidden_before)
        record_warn(c->record, "processes outside flamed's own pid namespace ran and are not "
                               "in this profile; start flamed in the host's (hostPID: true)");
}

/* Warns if the kernel now allows a lower rate than at the start. It then drops samples without
 * counting them. */
void capture_warn_dropped(struct capture *c, uint64_t period_ns)
{
    uint64_t allowed_hz;

    if (sample_sets_dropped(c->captures->opts.proc_fd, period_ns, &allowed_hz))
        record_warn(c->record,
                    "the kernel now allows %llu samples a second and drops the rest: "
                    "it lowers kernel.perf_event_max_sample_rate if interrupts take "
                    "long. This profile has too few samples; lower hz",
                    (unsigned long long)allowed_hz);
}

static void capture_warn_empty(struct captures *captures, struct capture *c,
                               const struct capture_event *event)
{
    int32_t pid = target_single_pid(c->target);
    struct process *p = pid ? discover_find(captures->discover, pid) : NULL;
    char text[EMPTY_TEXT_BYTES], why[IDLE_TARGET_BYTES];

    if (p && !p->exited &&
        idle_target_text(captures->discover, captures->broker, captures->opts.proc_fd, c->target, p,
                         why)) {
        record_warn(c->record, "%s", why);
        return;
    }
    record_warn(c->record, "%s", empty_text(event->empty, event->name, event->period, text));
}

void capture_warn_untaken(const struct captures *captures, struct capture *c)
{
    uint64_t from_ns = MAX(c->start_ns, captures->taken_ns);

    if (from_ns < c->end_ns)
        record_warn(c->record,
                    "flamed is behind with its samples: those of the last %.1f s are not in this "
                    "profile, and are not counted as lost; lower hz, or sample fewer events",
                    (double)(c->end_ns - from_ns) / NSEC_PER_SEC);
}

/* Warns of events that never became ready, and counts them. */
static void capture_warn_left_events(struct captures *captures, struct capture *c)
{
    for (size_t i = 0; i < c->event_count; i++) {
        const struct capture_event *event = &c->events[i];

        if (event->ready || event->refused)
            continue;
        captures->counts.events_left_out++;
        record_warn(c->record,
                    "%s is not in this profile%s: its programs and probes were not installed by "
                    "the end; ask again, or for more seconds",
                    event->name, event->gap_ns ? " to its end" : "");
    }
}

void capture_warn_quality(struct captures *captures, struct capture *c)
{
    const char *kernel = symbolizer_kernel_problem(captures->symbolizer);
    char slow[TARGET_SLOW_BYTES];

    capture_warn_lost(c);
    capture_warn_left_events(captures, c);
    capture_warn_hidden(captures, c);
    capture_warn_untaken(captures, c);
    capture_warn_processes(captures, c);
    capture_warn_renamed(c);
    if (target_slow_text(c->target, slow)[0])
        record_warn(c->record, "%s", slow);
    rights_problems(captures->sampling->facts.capabilities, warn_right, c);
    if (kernel[0])
        record_warn(c->record, "%s", kernel);
    if (captures->sampling->without_bpf[0])
        record_warn(c->record, "%s", captures->sampling->without_bpf);
    if (captures->sampling->facts.sideband_problem[0])
        record_warn(c->record, "%s", captures->sampling->facts.sideband_problem);
    for (size_t i = 0; i < c->event_count; i++) {
        struct capture_event *event = &c->events[i];

        if ((event->ready || event->gap_ns) && event->source->warn)
            event->source->warn(event);
        if (event->ready && record_samples(c->record) == 0)
            capture_warn_empty(captures, c, event);
    }
}
