/* SPDX-License-Identifier: Apache-2.0 */
/* How a capture begins: from the request to its first sample. */
#include "capture/capture_impl.h"

#define CAPTURE_PATIENT_NS (5 * NSEC_PER_MSEC) /* up to 200 Hz, few samples await names */

/* Adds the events of @req to @c and to its facts. Returns 0, -EINVAL or -ENOMEM. */
static int capture_set_events(struct capture *c, const struct capture_request *req,
                              struct error *err)
{
    c->patient = req->live;
    for (size_t i = 0; i < req->event_count; i++) {
        const struct wanted_event *wanted = &req->events[i];
        const struct event_info *info = wanted->info;
        struct profile_event event;

        if (!info)
            return error_set(err, -EINVAL, "there is no event %s", wanted->name);
        c->events[i] = (struct capture_event){
            .capture = c,
            .source = event_source_of(info),
            .empty = event_source_of(info)->empty,
            .info = info,
            .period = wanted->period,
            .sets = { { .set = NO_SET }, { .set = NO_SET }, { .set = NO_SET } }
        };
        c->events[i].state = calloc(1, MAX(c->events[i].source->state_bytes, (size_t)1));
        if (!c->events[i].state)
            return -ENOMEM;
        c->event_count++; /* an event that is counted has a state */
        c->patient = c->patient && event_is_timed(info) && wanted->period >= CAPTURE_PATIENT_NS;
        snprintf(c->events[i].name, sizeof(c->events[i].name), "%s", wanted->name);
        event = profile_event_of(info, wanted->period);
        snprintf(event.name, sizeof(event.name), "%s", wanted->name);
        profile_add_event(&c->meta, &event);
    }
    return 0;
}

/* Fills in the facts of @c that are known before it runs. */
static void capture_describe(struct captures *captures, struct capture *c)
{
    int32_t pid = target_single_pid(c->target);

    target_describe(c->target, captures->discover, c->meta.target, sizeof(c->meta.target));
    snprintf(c->meta.scope, sizeof(c->meta.scope), "%s", target_scope(c->target));
    c->meta.by_process = target_is_open(c->target);
    if (pid)
        capture_note_symbols(c, discover_find(captures->discover, pid));
    c->meta.start_ns = c->asked_ns;
    c->meta.start_realtime_ns = clock_realtime_ns();
    if (c->to.keep && captures->store)
        store_new_id(c->meta.id);
}

/* Initializes @c, which is zero, from @req. Return: 0, or as captures_start(). */
static int capture_init(struct captures *captures, struct capture *c,
                        const struct capture_request *req, struct error *err)
{
    int r;

    c->captures = captures;
    id_table_init(&c->members.processes, sizeof(struct proc_id), CAPTURE_PROCESSES_MAX);
    id_table_init(&c->members.threads, sizeof(struct seen_thread), CAPTURE_THREADS_MAX);
    c->asked_ns = clock_monotonic_ns();
    c->start_ns = c->end_ns = UINT64_MAX; /* covers no sample before it runs */
    c->duration_ns = req->duration_ns;
    c->to.keep = req->keep;
    c->wish.counts_objects = req->counts_objects;
    c->names.symbols = req->symbols;
    c->wish.forced = req->forced;
    c->wish.source = req->source;
    c->wish.context = req->context;
    c->caller = req->caller;
    c->lasts = capture_lasts(req);
    r = capture_set_events(c, req, err) ?: target_new(&req->target, &c->target, err);
    if (r == 0 && !target_is_node(c->target))
        discover_catch_up(captures->discover);
    if (r == 0)
        r = target_check(c->target, captures->discover, captures->opts.proc_fd, err) ?:
            capture_new_record(captures, &c->record) ?: capture_choose_names(captures, c, err);
    for (size_t i = 0; i < c->event_count && r == 0; i++) {
        if (c->events[i].source->begin)
            r = c->events[i].source->begin(&c->events[i], err);
    }
    if (r == 0 && req->lines) {
        r = inlined_new(captures->symbolizer, captures->frames, &c->names.inlined);
        capture_defer_names(c);
    }
    return r;
}

/* Refuses a capture if the machine cannot sample, or too many run or wait to be stored. Returns 0,
 * BACKEND_UNAVAILABLE or BACKEND_TOO_MANY. */
static int check_room(const struct captures *captures, const struct capture_request *req,
                      struct error *err)
{
    int r = 0;

    if (!sampling_works(captures->sampling)) {
        sampling_problem(captures->sampling, err);
        return BACKEND_UNAVAILABLE;
    }
    if (req->keep && captures->store)
        r = store_writer_check_room(captures->store_writer, STORE_WRITER_WAITING_MAX, err);
    return r == 0 ? capture_admit(captures, req, err) : r;
}

int capture_stopping(struct error *err)
{
    error_set(err, -ESHUTDOWN, "flamed is stopping or being started again");
    error_remedy(err, "ask once more in a second");
    return BACKEND_UNAVAILABLE;
}

/* Creates a capture, which the tick then advances, finishes and frees. Returns as
 * captures_start(). */
static int capture_begin(struct captures *captures, const struct capture_request *req,
                         const struct capture_waiter *waiter, struct capture **ret,
                         struct error *err)
{
    struct capture *c;
    int r = check_room(captures, req, err);

    if (r != 0)
        return r;
    c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    r = capture_init(captures, c, req, err);
    if (waiter)
        c->to.waiter = *waiter;
    if (r == 0) {
        c->handle = ++captures->last_handle;
        c->next = captures->running;
        captures->running = c;
        captures->capture_count++;
        capture_describe(captures, c);
        r = capture_prepare(captures, c, err);
    }
    if (r == -EINPROGRESS && captures->stopping)
        r = capture_stopping(err);
    if (r == 0)
        capture_enter(captures, c, CAPTURE_RUNNING);
    if (r != 0 && r != -EINPROGRESS) {
        capture_enter(captures, c, CAPTURE_DONE);
        capture_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

int captures_start(struct captures *captures, const struct capture_request *req,
                   const struct capture_waiter *waiter, uint64_t *ret_handle, struct error *err)
{
    struct capture *c;
    int r = capture_begin(captures, req, waiter, &c, err);

    if (r != 0)
        return r;
    *ret_handle = c->handle;
    return 0;
}

int captures_not_kept(struct error *err)
{
    error_set(err, -ENOENT, "captures cannot be kept: flamed runs without a store");
    error_remedy(err, "start it with --store DIR");
    return BACKEND_UNAVAILABLE;
}

int captures_create(struct captures *captures, const struct capture_request *req,
                    const char *schedule, uint64_t max_age_s, uint64_t ticket,
                    char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    struct capture_request limited = *req;
    struct capture *c;
    int r;

    if (!captures->store)
        return captures_not_kept(err);
    limited.keep = true;
    if (!limited.duration_ns)
        limited.duration_ns = CAPTURE_SECONDS_MAX * NSEC_PER_SEC;
    r = capture_begin(captures, &limited, /* waiter= */ NULL, &c, err);
    if (r != 0)
        return r;
    c->to.max_age_s = max_age_s;
    snprintf(c->to.schedule, sizeof(c->to.schedule), "%s", schedule ? schedule : "");
    r = store_put_running(captures->store, c->meta.id, &c->meta, schedule, err);
    if (r < 0) {
        captures_end(captures, c->handle, /* keep= */ false);
        return BACKEND_UNAVAILABLE;
    }
    c->to.resource = true;
    memcpy(ret_id, c->meta.id, CAPTURE_ID_BYTES);
    if (c->state == CAPTURE_RUNNING)
        return 0;
    c->to.ticket = ticket;
    return -EINPROGRESS;
}
