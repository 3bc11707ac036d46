/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture warns of at its end: samples that are missing, rights, names that cannot be. */
#include "capture/capability_text.h"
#include "capture/capture_impl.h"
#include "capture/empty_text.h"
#include "capture/idle_target.h"

#include <unistd.h>

#define FIXED_SAMPLES 50                    /* fewer say nothing of a loop */
#define FIXED_SHARE 0.4                     /* of them, from where on it is one */
#define VMSTAT_BYTES_MAX ((size_t)64 << 10) /* of /proc/vmstat: some 4 KiB */

static void warn_right(void *cookie, const char *sentence)
{
    struct capture *c = cookie;

    record_warn(c->record, "%s", sentence);
}

/* What makes for fewer samples. */
static const char *fewer(const struct capture *c)
{
    bool timed = false, counted = false;

    for (size_t i = 0; i < c->event_count; i++) {
        timed |= event_is_timed(c->events[i].info);
        counted |= !event_is_timed(c->events[i].info);
    }
    return !counted ? "lower hz" : timed ? "lower hz or raise interval" : "raise interval";
}

/* What did not arrive while it ran. */
static void capture_warn_lost(struct capture *c)
{
    uint64_t unread = (uint64_t)(c->lost.unread + 0.5), costly = (uint64_t)(c->lost.costly + 0.5);

    c->meta.lost = unread + costly;
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
    struct broker_sample_stats now = { 0 };

    return broker_sample_stats(captures->broker, &now, NULL) == 0 ? now.hidden : 0;
}

static void capture_warn_hidden(const struct captures *captures, struct capture *c)
{
    if (target_is_node(c->target) && captures_hidden(captures) > c->hidden_before)
        record_warn(c->record, "processes outside flamed's own pid namespace ran and are not "
                               "in this profile; start flamed in the host's (hostPID: true)");
}

/* The kernel allows fewer than when it began: what is more was dropped, and nobody counted it. */
static void capture_warn_dropped(const struct captures *captures, struct capture *c,
                                 const struct capture_event *event)
{
    uint64_t allowed_hz;

    if (event->ready && (event_has_timer(event->info) || event->on_set != NO_SET) &&
        sample_sets_dropped(captures->opts.proc_fd,
                            event->on_set != NO_SET ? event->on_period : event->set_period,
                            &allowed_hz))
        record_warn(c->record,
                    "the kernel now allows %llu samples a second and drops the rest: "
                    "it lowers kernel.perf_event_max_sample_rate if interrupts take "
                    "long. This profile has too few samples; lower hz",
                    (unsigned long long)allowed_hz);
}

uint64_t captures_huge_faults(const struct captures *captures)
{
    static const char NAME[] = "\nthp_fault_alloc ";
    _cleanup_buf_ struct buf text = BUF_NULL;
    const char *at;
    uint64_t n = 0;
    struct span s;

    buf_init(&text, VMSTAT_BYTES_MAX);
    if (buf_read_at(&text, captures->opts.proc_fd, "vmstat") < 0)
        return 0;
    s = buf_span(&text);
    at = memmem(s.p, s.n, NAME, sizeof(NAME) - 1);
    if (!at)
        return 0;
    s = span_from(s, (size_t)(at - s.p) + sizeof(NAME) - 1);
    return span_take_dec(&s, &n) ? n : 0;
}

/* A huge page comes with one fault, and the kernel does not say which faults those were. */
static void capture_warn_huge(const struct captures *captures, struct capture *c,
                              const struct capture_event *event)
{
    uint64_t huge;

    if (!(event->info->flags & EVENT_PAGES))
        return;
    huge = captures_huge_faults(captures);
    if (huge > c->huge_faults_before)
        record_warn(c->record,
                    "%llu huge pages came into use on this node during it. Each of them that is "
                    "the target's counts as one page of %ld bytes here",
                    (unsigned long long)(huge - c->huge_faults_before), sysconf(_SC_PAGESIZE));
}

void capture_warn_stubs(struct captures *captures, struct capture *c, const struct process *p)
{
    if (c->stubs_warned || !probes_by_stubs(&captures->probes, &p->id))
        return;
    c->stubs_warned = true;
    record_warn(c->record,
                "%d: allocations are sampled at the calls of its allocation stubs, for libjvm.so "
                "(JDK %d) has no symbols. What native code (JNI) and the VM itself allocate is not "
                "seen, and its bytes count for other places: so it is with clone() and objects of "
                "lambdas where C2 did not compile them. With symbols it is seen",
                p->id.host_pid, p->jdk);
}

/* Whether it samples at full buffers, and those come again and again in the same way. */
static void capture_warn_fixed(struct capture *c, const struct capture_event *event)
{
    if (!(event->info->flags & EVENT_HEAP) || capture_by_agent(c) || c->allocs < FIXED_SAMPLES ||
        (double)c->same_steps < FIXED_SHARE * c->allocs)
        return;
    record_warn(
        c->record,
        "%.0f %% of the samples of alloc repeat one of a moment ago, not counting objects "
        "that stand for themselves: as many bytes later, for an object of the same class and "
        "size. So it is with a loop that allocates a "
        "fixed sequence: places of it may be missing here, and others show too much. "
        "source=agent shows all of them",
        100.0 * c->same_steps / c->allocs);
}

/* What the probes of events malloc and nativelive cost @who, and what they do not see. */
static void capture_warn_malloc(struct capture *c, const char *who, const char *functions,
                                const struct mallocs *m)
{
    char names[MALLOCS_LEFT_OUT_BYTES];

    if (m->per_second)
        record_warn_process(
            c->record,
            "%s called %s some %llu times a second, which the probes made about %.2g %% of a "
            "processor more expensive",
            who, functions, (unsigned long long)m->per_second,
            (double)m->per_second * MALLOCS_COST_NS / NSEC_PER_SEC * 100);
    if (m->left_out)
        record_warn_process(c->record,
                            "what %s asked of %s is not in this profile: no probe can be put there",
                            who, mallocs_left_out(m, names));
    if (m->more)
        record_warn_process(c->record,
                            "%s has mapped more than %d libraries with a malloc: what it asked of "
                            "the others is not in this profile",
                            who, MALLOCS_LIBRARIES_MAX);
}

static void capture_warn_mallocs(const struct captures *captures, struct capture *c,
                                 const struct capture_event *event)
{
    char who[96] = "it";

    for (const struct probe_entry *e = captures->calls.first;
         e && event->info->flags & EVENT_MALLOCS; e = e->next) {
        const struct call_probe *one = (const struct call_probe *)e;
        const struct process *p = e->asked.there && e->set == event->set
                                      ? discover_find(captures->discover, e->id.host_pid)
                                      : NULL;

        if (!p || !proc_id_equal(&p->id, &e->id) || !target_matches(c->target, p))
            continue;
        if (!target_single_pid(c->target))
            snprintf(who, sizeof(who), "%d (%s)", p->id.host_pid, p->comm);
        capture_warn_malloc(
            c, who, event->info->flags & EVENT_BLOCKS ? "malloc and free" : "malloc", &one->rate);
    }
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
    record_warn(c->record, "%s",
                empty_text(event->info, event->name, event->period, capture_by_agent(c), text));
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
        captures->events_left_out++;
        record_warn(c->record,
                    "%s is not in this profile%s: its programs and probes were not in place by the "
                    "end; ask again, or for more seconds",
                    event->name, event->gap_ns ? " to its end" : "");
    }
}

void capture_warn_quality(struct captures *captures, struct capture *c)
{
    const char *kernel = symbolizer_kernel_problem(captures->symbolizer);

    capture_warn_lost(c);
    capture_warn_left_events(captures, c);
    capture_warn_hidden(captures, c);
    capture_warn_untaken(captures, c);
    capture_warn_unanswered(captures, c);
    capture_warn_left_out(captures, c);
    capture_warn_long_maps(captures, c);
    capture_warn_no_room(captures, c);
    capture_warn_put_off(captures, c);
    capture_warn_mappings(captures, c);
    capture_warn_renamed(c);
    capture_warn_moments(captures, c);
    rights_problems(captures->sampling->facts.capabilities, warn_right, c);
    if (kernel[0])
        record_warn(c->record, "%s", kernel);
    if (captures->sampling->facts.sideband_problem[0])
        record_warn(c->record, "%s", captures->sampling->facts.sideband_problem);
    for (size_t i = 0; i < c->event_count; i++) {
        capture_warn_dropped(captures, c, &c->events[i]);
        capture_warn_huge(captures, c, &c->events[i]);
        capture_warn_mallocs(captures, c, &c->events[i]);
        capture_warn_fixed(c, &c->events[i]);
        if (c->events[i].ready && record_samples(c->record) == 0)
            capture_warn_empty(captures, c, &c->events[i]);
    }
}
