/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares an event of a capture for its first sample: sets of samples, and probes. */
#include "capture/capture_impl.h"

/* Prepares @event of @c; @p: the one process of @c, or NULL. Returns as capture_prepare(). */
static int prepare_event(struct captures *captures, struct capture *c, struct capture_event *event,
                         struct process *p, struct error *err)
{
    int r = capture_arm(captures, c, event, err);

    if (r == -ERANGE) /* beyond the rate of this machine */
        return BACKEND_CONFLICT;
    if (r != 0)
        return r == -EBUSY ? BACKEND_TOO_MANY : r == -EOPNOTSUPP ? BACKEND_UNAVAILABLE : r;
    if (event->source->prepare)
        r = event->source->prepare(event, p, err);
    if (r == BACKEND_CONFLICT && broker_lost(captures->broker)) { /* the cause of the conflict */
        err->retry_s = 1;
        r = -ENOTCONN;
    }
    event->ready = r == 0;
    return r;
}

/* Waits for the tables that walk stacks of @p, the one process of @c. Returns 0 or -EINPROGRESS. */
static int prepare_tables(struct captures *captures, struct capture *c, struct process *p,
                          struct error *err)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (!p || !unwinding_begin(captures->unwinding, p, now_ns))
        return 0;
    if (now_ns - c->asked_ns < CAPTURE_PREPARE_NS)
        return error_set(err, -EINPROGRESS, "tables of its files are still being read");
    if (!c->tables_warned)
        record_warn(c->record,
                    "tables for unwinding were still being read when this capture began: its first "
                    "stacks may be cut; take it again for whole stacks");
    c->tables_warned = true;
    return 0;
}

int capture_prepare(struct captures *captures, struct capture *c, struct error *err)
{
    int32_t pid = target_single_pid(c->target);
    struct process *p = pid ? discover_find(captures->discover, pid) : NULL;
    int r = 0;

    if (pid && (!p || p->zombie)) /* sets @err for a process that has gone */
        r = target_check(c->target, captures->discover, captures->opts.proc_fd, err);
    if (r == 0 && p)
        capture_want_context(captures, c, p);
    for (size_t i = 0; i < c->event_count && (r == 0 || r == -EINPROGRESS); i++) {
        int k = c->events[i].ready ? 0 : prepare_event(captures, c, &c->events[i], p, err);

        r = k != 0 ? k : r; /* the kernel installs all of them at the same time */
    }
    return r == 0 ? prepare_tables(captures, c, p, err) : r;
}

/* Warns that @event of @c is sampled from @now_ns on. */
static void warn_late(struct captures *captures, struct capture *c, struct capture_event *event,
                      uint64_t now_ns)
{
    if (event->gap_ns) {
        record_warn(c->record,
                    "%s has a gap of %.0f ms, in which its rate was raised for another capture",
                    event->name, (double)(now_ns - MIN(event->gap_ns, now_ns)) / NSEC_PER_MSEC);
        event->gap_ns = 0;
        return;
    }
    captures->counts.events_late++;
    record_warn(c->record,
                "%s begins %.1f s into this profile: installing its programs and probes took that "
                "long; take it again for the whole time",
                event->name, (double)(now_ns - MIN(c->start_ns, now_ns)) / NSEC_PER_SEC);
}

/* Warns that @event of @c is not sampled any more, or never was. */
static void warn_left_out(struct captures *captures, struct capture *c,
                          const struct capture_event *event, const char *why)
{
    captures->counts.events_left_out++;
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
