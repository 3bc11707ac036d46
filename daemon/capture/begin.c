/* SPDX-License-Identifier: Apache-2.0 */
/* How a capture begins: from the request to its place in the list of those under way. */
#include "capture/capture_impl.h"

#define CAPTURE_PATIENT_NS (5 * NSEC_PER_MSEC) /* up to 200 Hz, what waits is little */

/* For the symbols of a JVM that is to be probed, before it is. */
#define CAPTURE_PROBES_NS NSEC_PER_SEC

/* The kernel is still putting probes: the capture does not begin yet. */
static int probes_are_coming(const struct error *why, struct error *err)
{
    if (err)
        *err = *why;
    return -EINPROGRESS;
}

/* Of a capture of safepoints: has its one process tell them before it begins. 0,
 * -EINPROGRESS, BACKEND_CONFLICT. */
static int capture_tells(struct captures *captures, struct capture *c, struct process *p,
                         struct error *err)
{
    struct error why = ERROR_NULL;
    int r = moments_put(&captures->moments, captures->broker, captures->symbolizer, p,
                        /* begins= */ true, &why);

    if (r == -EAGAIN)
        record_warn(c->record,
                    "the JVM was still starting: its first safepoints are not in this profile");
    if (r == 0 || r == -EAGAIN)
        return 0;
    if (r == -EINPROGRESS)
        return probes_are_coming(&why, err);
    error_set(err, r, "safepoints of process %d cannot be seen: %s", p->id.host_pid, why.msg);
    error_remedy(err, "%s", why.remedy);
    return BACKEND_CONFLICT;
}

/* Of a capture of allocations: says what it cannot see, and has its one process probed before it
 * begins. 0, -EINPROGRESS, BACKEND_CONFLICT. */
static int capture_probe(struct captures *captures, struct capture *c, struct error *err)
{
    int32_t pid = target_single_pid(c->target);
    struct process *p = pid ? discover_find(captures->discover, pid) : NULL;
    struct error why = ERROR_NULL;
    int coming = p && capture_has(c, EVENT_MOMENTS) ? capture_tells(captures, c, p, err) : 0, r;

    if (coming > 0)
        return coming;
    if (!capture_has(c, EVENT_HEAP) || capture_by_agent(c))
        return coming;
    record_warn(c->record, "allocations are sampled where a thread's buffer (TLAB) is full, as JFR "
                           "does: a loop that always allocates the same sequence may show only "
                           "some of its places");
    if (!p)
        return coming;
    r = probes_put(&captures->probes, captures->broker, captures->symbolizer, p,
                   clock_monotonic_ns() + CAPTURE_PROBES_NS, &why);
    if (r == -EAGAIN)
        record_warn(c->record, "the JVM was still starting, or symbols of its libjvm.so were being "
                               "read: what it allocated at first is not in this profile");
    if (r == 0)
        capture_warn_stubs(captures, c, p);
    if (r == 0 || r == -EAGAIN)
        return coming;
    if (r == -EINPROGRESS)
        return probes_are_coming(&why, err);
    error_set(err, r, "what process %d allocates cannot be sampled: %s", pid, why.msg);
    error_remedy(err, "%s", why.remedy);
    return BACKEND_CONFLICT;
}

/* Of a capture of functions: has their calls counted in its one process before it begins. 0,
 * -EINPROGRESS, BACKEND_CONFLICT. */
static int capture_count_calls(struct captures *captures, struct capture *c, struct error *err)
{
    int32_t pid = target_single_pid(c->target);
    struct process *p = pid ? discover_find(captures->discover, pid) : NULL;
    const struct calls_env env = captures_calls_env(captures);
    int coming = 0;

    for (size_t i = 0; p && i < c->event_count; i++) {
        const struct capture_event *event = &c->events[i];
        int r;

        if (!(event->info->flags & EVENT_CALLS))
            continue;
        r = calls_put(&env, p, &(struct wanted_calls){ event->set, event->name, c->forced },
                      clock_monotonic_ns() + CAPTURE_PROBES_NS, err);
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

/* Puts probes where the events of @c need them. 0, -EINPROGRESS, BACKEND_CONFLICT. */
static int capture_put_probes(struct captures *captures, struct capture *c, struct error *err)
{
    int r = capture_probe(captures, c, err), k;

    if (r > 0)
        return r;
    k = capture_count_calls(captures, c, err);
    return k != 0 ? k : r;
}

/* Has its sets and probes go. */
static void capture_take_back(struct captures *captures, struct capture *c)
{
    int32_t pid = c->target ? target_single_pid(c->target) : 0;
    bool has_sets = capture_sets(c) != 0;

    capture_release_rates(captures, c);
    if (!has_sets)
        return;
    probes_unhold(&captures->probes, pid);
    moments_unhold(&captures->moments, pid);
    calls_unhold(&captures->calls, pid);
    captures_reconcile(captures, clock_monotonic_ns());
}

/* Gives back what @c has, which cannot begin, as @r says: not yet, or at all. */
static void capture_give_up(struct captures *captures, struct capture *c, int r)
{
    if (r == -EINPROGRESS)
        capture_hold_rates(captures, c);
    else
        capture_take_back(captures, c);
    capture_drop_names(captures, c);
    capture_drop_agent(captures, c);
    capture_free(c);
}

/* The events of @req, in @c and in its facts. */
static int capture_set_events(struct capture *c, const struct capture_request *req,
                              struct error *err)
{
    c->event_count = req->event_count;
    c->patient = req->live;
    for (size_t i = 0; i < req->event_count; i++) {
        const struct wanted_event *wanted = &req->events[i];
        const struct event_info *info = events_find(wanted->name);
        struct profile_event event;

        if (!info)
            return error_set(err, -EINVAL, "there is no event %s", wanted->name);
        c->events[i] = (struct capture_event){
            .info = info, .period = wanted->period, .set = NO_SET, .on_set = NO_SET
        };
        c->patient = c->patient && event_is_timed(info) && wanted->period >= CAPTURE_PATIENT_NS;
        snprintf(c->events[i].name, sizeof(c->events[i].name), "%s", wanted->name);
        event = profile_event_of(info, wanted->period);
        snprintf(event.name, sizeof(event.name), "%s", wanted->name);
        profile_add_event(&c->meta, &event);
    }
    return 0;
}

/* Begins to sample. The capture is in the list, and will be finished and freed from there. */
static int capture_begin(struct captures *captures, const struct capture_request *req,
                         struct capture **ret, struct error *err)
{
    struct capture *c;
    int r;

    if (!captures->sampling->ring) {
        sampling_problem(captures->sampling, err);
        return BACKEND_UNAVAILABLE;
    }
    r = capture_admit(captures, req, err);
    if (r != 0)
        return r;
    if (req->keep && captures->store &&
        store_writer_waiting(captures->store_writer) >= STORE_WRITER_WAITING_MAX) {
        error_set(err, -EAGAIN, "%d finished captures wait to be written to the store",
                  STORE_WRITER_WAITING_MAX);
        error_remedy(err, "ask again in a second, or for fewer captures");
        return BACKEND_TOO_MANY;
    }
    c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    id_table_init(&c->processes, sizeof(struct proc_id), CAPTURE_PROCESSES_MAX);
    id_table_init(&c->threads, sizeof(struct seen_thread), CAPTURE_THREADS_MAX);
    c->asked_ns = clock_monotonic_ns();
    c->duration_ns = req->duration_ns;
    c->keep = req->keep;
    c->counts_objects = req->counts_objects;
    c->symbols = req->symbols;
    c->forced = req->forced;
    c->source = req->source;
    c->caller = req->caller;
    c->lasts = capture_lasts(req);
    r = capture_set_events(c, req, err);
    if (r == 0)
        r = target_new(&req->target, &c->target, err);
    if (r == 0 && !target_is_node(c->target))
        discover_sweep_if_old(captures->discover);
    if (r == 0)
        r = target_check(c->target, captures->discover, captures->opts.proc_fd, err);
    if (r == 0)
        r = capture_new_record(captures, &c->record);
    if (r == 0) /* before anything is attached to: it may have to be tried again */
        r = capture_take_rates(captures, c, err);
    if (r == 0)
        r = capture_choose_names(captures, c, err);
    if (r == 0)
        r = capture_choose_agent(captures, c, err);
    if (r == 0)
        r = capture_begin_live(c);
    if (r == 0)
        r = capture_begin_blocks(c);
    if (r == 0 && req->lines) {
        r = inlined_new(captures->symbolizer, captures->frames, &c->inlined);
        capture_defer_names(c);
    }
    if (r == 0)
        r = capture_put_probes(captures, c, err);
    if (r != 0) {
        capture_give_up(captures, c, r);
        return r == -EBUSY ? BACKEND_TOO_MANY : r == -EOPNOTSUPP ? BACKEND_UNAVAILABLE : r;
    }
    capture_warn_rates(c);
    c->hidden_before = captures_hidden(captures);
    for (size_t i = 0; i < c->event_count; i++) {
        if (c->events[i].info->flags & EVENT_PAGES)
            c->huge_faults_before = captures_huge_faults(captures);
    }
    target_describe(c->target, captures->discover, c->meta.target, sizeof(c->meta.target));
    snprintf(c->meta.scope, sizeof(c->meta.scope), "%s", target_scope(c->target));
    c->meta.by_process = target_is_open(c->target);
    if (target_single_pid(c->target))
        capture_note_symbols(c, discover_find(captures->discover, target_single_pid(c->target)));
    c->next = captures->running;
    captures->running = c;
    captures->capture_count++;
    capture_enter(captures, c, CAPTURE_RUNNING);
    c->handle = ++captures->last_handle;
    if (c->keep && captures->store)
        store_new_id(c->meta.id);
    *ret = c;
    return 0;
}

int captures_start(struct captures *captures, const struct capture_request *req,
                   capture_done_fn done, void *cookie, uint64_t *ret_handle, struct error *err)
{
    struct capture *c;
    int r = capture_begin(captures, req, &c, err);

    if (r != 0)
        return r;
    c->done = done;
    c->cookie = cookie;
    *ret_handle = c->handle;
    return 0;
}

int captures_create(struct captures *captures, const struct capture_request *req,
                    const char *schedule, uint64_t max_age_s, char ret_id[CAPTURE_ID_BYTES],
                    struct error *err)
{
    struct capture_request limited = *req;
    struct capture *c;
    int r;

    if (!captures->store) {
        error_set(err, -ENOENT, "captures cannot be kept: flamed runs without a store");
        error_remedy(err, "start it with --store DIR");
        return BACKEND_UNAVAILABLE;
    }
    limited.keep = true;
    if (!limited.duration_ns)
        limited.duration_ns = CAPTURE_SECONDS_MAX * NSEC_PER_SEC;
    r = capture_begin(captures, &limited, &c, err);
    if (r != 0)
        return r;
    c->resource = true;
    c->max_age_s = max_age_s;
    snprintf(c->schedule, sizeof(c->schedule), "%s", schedule ? schedule : "");
    r = store_put_running(captures->store, c->meta.id, &c->meta, schedule, err);
    if (r < 0) {
        captures_end(captures, c->handle, /* keep= */ false);
        return BACKEND_UNAVAILABLE;
    }
    memcpy(ret_id, c->meta.id, CAPTURE_ID_BYTES);
    return 0;
}
