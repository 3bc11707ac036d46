/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture needs of the kernel before its first sample: sets of samples, and probes. */
#include "capture/capture_impl.h"

/* A capture waits for this long for the symbols that say where its probes go. */
#define CAPTURE_PROBES_NS (2 * NSEC_PER_SEC)

/* Has the one process of @c, of event safepoint, probed. 0, -EINPROGRESS, BACKEND_CONFLICT. */
static int prepare_moments(struct captures *captures, struct capture *c, struct process *p,
                           struct error *err)
{
    const struct probe_env env = captures_probe_env(captures);
    struct error why = ERROR_NULL;
    int r;

    if (!p || !capture_has(c, EVENT_MOMENTS))
        return 0;
    r = probe_table_put(&captures->moments.table, &env, p, PROBE_NO_SET, /* what= */ NULL,
                        /* until_ns= */ 0, &why);
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

/* Has the one process of @c, of event alloc by probes, probed. 0, -EINPROGRESS, BACKEND_CONFLICT.
 */
static int prepare_allocations(struct captures *captures, struct capture *c, struct process *p,
                               struct error *err)
{
    const struct probe_env env = captures_probe_env(captures);
    struct error why = ERROR_NULL;
    int r;

    if (!p || !capture_has(c, EVENT_HEAP) || capture_by_agent(c))
        return 0;
    r = probe_table_put(&captures->probes, &env, p, PROBE_NO_SET, /* what= */ NULL,
                        c->asked_ns + CAPTURE_PROBES_NS, &why);
    if (r == -EAGAIN)
        record_warn(c->record, "the JVM was still starting, or symbols of its libjvm.so were being "
                               "read: what it allocated at first is not in this profile");
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

/* Has calls counted in the one process of @c. 0, -EINPROGRESS, BACKEND_CONFLICT. */
static int prepare_calls(struct captures *captures, struct capture *c, struct process *p,
                         struct error *err)
{
    const struct probe_env env = captures_probe_env(captures);
    int coming = 0;

    for (size_t i = 0; p && i < c->event_count; i++) {
        const struct capture_event *event = &c->events[i];
        int r;

        if (!(event->info->flags & EVENT_CALLS))
            continue;
        r = calls_put(&captures->calls, &env, p,
                      &(struct wanted_calls){ event->set, event->name, c->forced },
                      c->asked_ns + CAPTURE_PROBES_NS, err);
        if (r == -EAGAIN)
            record_warn(c->record,
                        "symbols of the file with %s were being read: its first calls are not in "
                        "this profile",
                        event->name);
        else if (r == -EINPROGRESS)
            coming = r;
        else if (r < 0)
            return BACKEND_CONFLICT;
    }
    return coming;
}

int capture_prepare(struct captures *captures, struct capture *c, struct error *err)
{
    int32_t pid = target_single_pid(c->target);
    struct process *p = pid ? discover_find(captures->discover, pid) : NULL;
    int r = 0, k;

    if (pid && (!p || p->zombie)) /* it is gone: this says so */
        r = target_check(c->target, captures->discover, captures->opts.proc_fd, err);
    if (r != 0)
        return r;
    r = capture_arm(captures, c, err);
    if (r != 0)
        return r == -EBUSY ? BACKEND_TOO_MANY : r == -EOPNOTSUPP ? BACKEND_UNAVAILABLE : r;
    r = prepare_moments(captures, c, p, err);
    if (r <= 0) {
        k = prepare_allocations(captures, c, p, err);
        r = k > 0 ? k : MIN(r, k);
    }
    if (r <= 0) {
        k = prepare_calls(captures, c, p, err);
        r = k > 0 ? k : MIN(r, k);
    }
    return r;
}
