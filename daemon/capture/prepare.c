/* SPDX-License-Identifier: Apache-2.0 */
/* What an event of a capture needs before its first sample: sets of samples, and probes. */
#include "capture/capture_impl.h"

/* Has @p, the one process of @c, probed for event safepoint. 0, -EINPROGRESS, BACKEND_CONFLICT. */
static int prepare_moments(struct captures *captures, struct capture *c, struct process *p,
                           struct error *err)
{
    const struct probe_env env = captures_probe_env(captures);
    struct error why = ERROR_NULL;
    int r = probe_table_put(&captures->moments.table, &env, p, PROBE_NO_SET, /* what= */ NULL,
                            /* until_ns= */ UINT64_MAX, &why);

    if (r == -EAGAIN)
        record_warn(c->record,
                    "the JVM was still starting: its first safepoints are not in this profile");
    if (r == 0 || r == -EAGAIN)
        return 0;
    if (r == -EINPROGRESS)
        return error_set(err, r, "%s", why.msg);
    error_set(err, r, "safepoints of process %d cannot be seen: %s", p->id.host_pid, why.msg);
    error_remedy(err, "%s", why.remedy);
    return BACKEND_CONFLICT;
}

/* Has @p, the one process of @c, probed for event alloc. 0, -EINPROGRESS, BACKEND_CONFLICT. */
static int prepare_allocations(struct captures *captures, struct capture *c, struct process *p,
                               struct error *err)
{
    const struct probe_env env = captures_probe_env(captures);
    struct error why = ERROR_NULL;
    int r = probe_table_put(&captures->probes, &env, p, PROBE_NO_SET, /* what= */ NULL,
                            /* until_ns= */ UINT64_MAX, &why);

    if (r == -EAGAIN)
        record_warn(
            c->record,
            "the JVM was still starting: what it allocated at first is not in this profile");
    if (r == 0)
        capture_warn_stubs(captures, c, p);
    if (r == 0 || r == -EAGAIN)
        return 0;
    if (r == -EINPROGRESS)
        return error_set(err, r, "%s", why.msg);
    error_set(err, r, "what process %d allocates cannot be sampled: %s", p->id.host_pid, why.msg);
    error_remedy(err, "%s", why.remedy);
    return BACKEND_CONFLICT;
}

/* Has the calls of @event counted in @p, the one process of @c. 0, -EINPROGRESS, BACKEND_CONFLICT.
 */
static int prepare_calls(struct captures *captures, const struct capture *c,
                         const struct capture_event *event, struct process *p, struct error *err)
{
    const struct probe_env env = captures_probe_env(captures);
    int r = calls_put(&captures->calls, &env, p,
                      &(struct wanted_calls){ event->set, event->name, c->forced },
                      /* until_ns= */ UINT64_MAX, err);

    return r == 0 || r == -EINPROGRESS ? r : BACKEND_CONFLICT;
}

/* Waits for the agent that samples an event of @c. A JVM may take long to load one, or never do so:
 * then the event begins without it, and is sampled from when it is there. 0, -EINPROGRESS,
 * BACKEND_CONFLICT. */
static int prepare_agent(struct captures *captures, struct capture *c, struct error *err)
{
    uint64_t now_ns = clock_monotonic_ns();
    int r = capture_poll_agent(captures, c, now_ns, err);

    if (r != 0 || c->agent_ns || now_ns - c->asked_ns >= CAPTURE_PREPARE_NS)
        return r;
    return error_set(err, -EINPROGRESS, "the JVM is still loading the agent");
}

/* Takes @event of @c towards its first sample; @p: as of capture_prepare(). Returns as that. */
static int prepare_event(struct captures *captures, struct capture *c, struct capture_event *event,
                         struct process *p, struct error *err)
{
    int r = capture_arm(captures, c, event, err);

    if (r != 0)
        return r == -EBUSY ? BACKEND_TOO_MANY : r == -EOPNOTSUPP ? BACKEND_UNAVAILABLE : r;
    if (event->info->flags & EVENT_OBJECTS ||
        (event->info->flags & EVENT_HEAP && capture_by_agent(c)))
        r = prepare_agent(captures, c, err);
    else if (p && event->info->flags & EVENT_MOMENTS)
        r = prepare_moments(captures, c, p, err);
    else if (p && event->info->flags & EVENT_HEAP)
        r = prepare_allocations(captures, c, p, err);
    else if (p && event->info->flags & EVENT_CALLS)
        r = prepare_calls(captures, c, event, p, err);
    event->ready = r == 0;
    return r;
}

/* Waits for the tables by which stacks of @p, the one process of @c, are walked. 0, -EINPROGRESS.
 */
static int prepare_tables(struct captures *captures, struct capture *c, struct process *p,
                          struct error *err)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (!p || !unwinding_begin(captures->unwinding, p, now_ns))
        return 0;
    if (now_ns - c->asked_ns < CAPTURE_PREPARE_NS)
        return error_set(err, -EINPROGRESS, "tables of its files are still being read");
    if (!c->tables_warned)
        record_warn(c->record, "tables for unwinding were still being read when this capture "
                               "began: its first stacks may be cut; ask again for whole ones");
    c->tables_warned = true;
    return 0;
}

int capture_prepare(struct captures *captures, struct capture *c, struct error *err)
{
    int32_t pid = target_single_pid(c->target);
    struct process *p = pid ? discover_find(captures->discover, pid) : NULL;
    int r = 0;

    if (pid && (!p || p->zombie)) /* it is gone: this says so */
        r = target_check(c->target, captures->discover, captures->opts.proc_fd, err);
    for (size_t i = 0; i < c->event_count && (r == 0 || r == -EINPROGRESS); i++) {
        int k = c->events[i].ready ? 0 : prepare_event(captures, c, &c->events[i], p, err);

        r = k != 0 ? k : r; /* the kernel puts all of them in place at the same time */
    }
    return r == 0 ? prepare_tables(captures, c, p, err) : r;
}

/* Warns that @event of @c is sampled from @now_ns on. */
static void warn_late(struct captures *captures, struct capture *c, struct capture_event *event,
                      uint64_t now_ns)
{
    if (event->gap_ns) {
        record_warn(c->record,
                    "%s has a gap of %.0f ms: its samples were made more frequent for another "
                    "capture",
                    event->name, (double)(now_ns - MIN(event->gap_ns, now_ns)) / NSEC_PER_MSEC);
        event->gap_ns = 0;
        return;
    }
    captures->events_late++;
    record_warn(c->record,
                "%s begins %.1f s into this profile: its programs and probes took that long to be "
                "put in place; ask again for all of it",
                event->name, (double)(now_ns - MIN(c->start_ns, now_ns)) / NSEC_PER_SEC);
}

/* Warns that @event of @c is not sampled any more, or never was. */
static void warn_left_out(struct captures *captures, struct capture *c,
                          const struct capture_event *event, const char *why)
{
    captures->events_left_out++;
    if (event->gap_ns)
        record_warn(c->record, "%s is not in this profile from %.1f s on: %s", event->name,
                    (double)(event->gap_ns - MIN(c->start_ns, event->gap_ns)) / NSEC_PER_SEC, why);
    else
        record_warn(c->record, "%s is not in this profile: %s", event->name, why);
}

bool capture_prepare_late(struct captures *captures, struct capture *c, uint64_t now_ns)
{
    int32_t pid = target_single_pid(c->target);
    struct process *p = pid ? discover_find(captures->discover, pid) : NULL;
    bool any = false;

    for (size_t i = 0; i < c->event_count && (p || !pid); i++) {
        struct capture_event *event = &c->events[i];
        struct error err = ERROR_NULL;
        int r;

        if (event->ready || event->refused)
            continue;
        r = prepare_event(captures, c, event, p, &err);
        if (r == -EINPROGRESS)
            continue;
        if (r == 0) {
            any = true;
            warn_late(captures, c, event, now_ns);
            continue;
        }
        event->refused = true;
        warn_left_out(captures, c, event, err.msg);
    }
    return any;
}
