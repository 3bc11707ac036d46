/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures as resources: running ones from the engine, finished ones from the store. Asks the
 * engine's thread where needed. Thread: serve's workers.
 */
#include "api/api_impl.h"
#include "api/json.h"
#include "base/clock.h"
#include "capture/capture_impl.h"

/* ---- JSON ---- */

static json_t *json_strings(const char *const *items, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(items[i]));
    return list;
}

static json_t *process_json(const struct store_process *p)
{
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:I}", "pid", (int)p->host_pid, "name",
                     p->name, "container", json_string_or_null(p->container), "pod",
                     json_string_or_null(p->pod), "namespace",
                     json_string_or_null(p->pod_namespace), "service",
                     json_string_or_null(p->service), "samples", (json_int_t)p->samples);
}

static const char *state_name(enum store_state state)
{
    return state == STORE_DONE ? "done" : state == STORE_FAILED ? "failed" : "running";
}

/* Returns the labels that all processes of @c share, with the names that /sd and /metrics use. */
static json_t *labels_json(const struct store_capture *c)
{
    static const struct {
        const char *label;
        size_t offset;
    } LABELS[] = {
        { "main", offsetof(struct store_process, name) },
        { "container", offsetof(struct store_process, container) },
        { "pod", offsetof(struct store_process, pod) },
        { "namespace", offsetof(struct store_process, pod_namespace) },
        { "service", offsetof(struct store_process, service) },
    };
    json_t *labels = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(LABELS); i++) {
        const char *common = NULL;

        for (size_t k = 0; k < c->process_count; k++) {
            const char *value =
                *(const char *const *)((const char *)&c->processes[k] + LABELS[i].offset);

            if (!value || (common && strcmp(common, value) != 0))
                value = "";
            common = value;
        }
        if (common && common[0])
            json_object_set_new(labels, LABELS[i].label, json_string(common));
    }
    if (c->schedule && c->schedule[0])
        json_object_set_new(labels, "schedule", json_string(c->schedule));
    return labels;
}

/* Returns the events of @c, each with its name, the unit of its values and its period in that
 * unit. */
static json_t *events_json(const struct store_capture *c)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < c->event_count; i++) {
        const struct profile_event *event = &c->events[i];

        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:f}", "name", event->name, "unit",
                                              event->unit, "period", (json_int_t)event->period,
                                              "hz", profile_event_hz(event)));
    }
    return list;
}

json_t *capture_json(const struct store_capture *c, double progress)
{
    const struct profile_event *first = c->event_count ? &c->events[0] : NULL;
    json_t *processes = json_array();

    for (size_t i = 0; i < c->process_count; i++)
        json_array_append_new(processes, process_json(&c->processes[i]));
    return json_pack(
        "{s:s, s:s, s:f, s:s, s:s, s:f, s:I, s:s, s:o, s:o, s:f, s:I, s:I, s:I, s:I, s:s, s:o, "
        "s:o, s:o, s:o, s:o, s:I, s:o}",
        "id", c->id, "state", state_name(c->state), "progress", progress, "event", c->event,
        "target", c->target, "hz", first ? profile_event_hz(first) : 0.0, "period",
        (json_int_t)(first ? first->period : 0), "unit", first ? first->unit : "", "start",
        json_time(c->start_ns), "end",
        c->state == STORE_RUNNING ? json_null() : json_time(c->end_ns), "seconds",
        c->end_ns > c->start_ns ? (double)(c->end_ns - c->start_ns) / 1e9 : 0.0, "samples",
        (json_int_t)c->samples, "lost", (json_int_t)c->lost, "unknown", (json_int_t)c->unknown,
        "truncated", (json_int_t)c->truncated, "symbols", c->symbols, "schedule",
        json_string_or_null(c->schedule), "failure", json_string_or_null(c->failure), "warnings",
        json_strings(c->warnings, c->warning_count), "labels", labels_json(c), "processes",
        processes, "bytes", (json_int_t)c->bytes, "events", events_json(c));
}

/* ---- running captures: on the engine's thread ---- */

json_t *running_json(struct capture *c)
{
    uint64_t now = clock_monotonic_ns(), began = MIN(c->start_ns, now);
    char names[PROFILE_EVENT_NAMES_BYTES];
    struct store_capture facts = {
        .state = STORE_RUNNING,
        .start_ns = c->meta.start_realtime_ns,
        .end_ns = c->meta.start_realtime_ns + (now - began),
        .event = names,
        .target = c->meta.target,
        .symbols = c->meta.symbols,
        .schedule = c->to.schedule,
        .failure = "",
        .events = c->meta.events,
        .event_count = c->meta.event_count,
        .samples = capture_sample_count(c),
        .lost = lost_samples(&c->lost),
    };

    facts.warnings = record_warnings(c->record, &facts.warning_count);
    profile_event_names(&c->meta, names);
    snprintf(facts.id, sizeof(facts.id), "%s", c->meta.id);
    return capture_json(&facts,
                        c->state == CAPTURE_PREPARING
                            ? 0.0
                            : MIN((double)(now - began) / (double)(c->end_ns - began), 1.0));
}

struct running_args {
    const struct viewer *viewer;
    const char *id;
    json_t *list;
    struct profile *profile;
    struct error *err;
    bool want_profile, stop, drop;
};

static int call_running(struct api *api, void *arg)
{
    struct running_args *a = arg;

    for (struct capture *c = api->engine.captures->running; c; c = c->next) {
        if (!c->to.resource || strcmp(a->id, c->meta.id) != 0 ||
            !viewer_sees_scope(a->viewer, c->meta.scope))
            continue;
        if (a->want_profile)
            return captures_snapshot(api->engine.captures, c, /* reset= */ false, &a->profile,
                                     a->err);
        if (a->stop || a->drop) {
            captures_end(api->engine.captures, c->handle, a->stop);
            return 0;
        }
        json_array_append_new(a->list, running_json(c));
        return 0;
    }
    return BACKEND_NOT_FOUND;
}

/* ---- the backend's functions ---- */

static int not_found(const char *id, struct error *err)
{
    error_set(err, -ENOENT, "there is no capture '%.40s'", id);
    error_remedy(err, "GET /api/v1/captures lists them; old ones go by age and size");
    return BACKEND_NOT_FOUND;
}

struct create_args {
    const struct capture_request *req;
    char *id;
    struct error *err;
};

static int call_create(struct api *api, void *arg)
{
    struct create_args *a = arg;

    return captures_create(api->engine.captures, a->req, /* schedule= */ NULL, /* max_age_s= */ 0,
                           mailbox_ticket(api->engine.mailbox), a->id, a->err);
}

int backend_capture_create(void *ctx, const struct capture_request *req,
                           char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    struct create_args a = { req, ret_id, err };

    return api_ask(ctx, call_create, &a, err);
}

struct snapshot_args {
    uint64_t handle;
    bool reset;
    struct profile **ret;
    struct error *err;
};

static int call_snapshot(struct api *api, void *arg)
{
    struct snapshot_args *a = arg;

    for (struct capture *c = api->engine.captures->running; c; c = c->next) {
        if (c->handle == a->handle)
            return captures_snapshot(api->engine.captures, c, a->reset, a->ret, a->err);
    }
    return BACKEND_NOT_FOUND;
}

int backend_capture_snapshot(void *ctx, struct capture *c, bool reset, struct profile **ret,
                             struct error *err)
{
    struct snapshot_args a = { (uintptr_t)c, reset, ret, err };

    return api_ask(ctx, call_snapshot, &a, err);
}

struct stored_args {
    const struct viewer *viewer;
    json_t *json; /* NULL: the viewer sees no such capture */
    bool running;
};

static int take_one(void *cookie, const struct store_capture *c)
{
    struct stored_args *a = cookie;

    if (viewer_sees_scope(a->viewer, c->scope)) {
        a->running = c->state == STORE_RUNNING;
        a->json = capture_json(c, a->running ? 0.0 : 1.0);
    }
    return 0;
}

/* Reads the facts of capture @id from the store. Returns STORE_NOT_FOUND also if @v may not see the
 * capture. */
static int stored_json(struct api *api, const struct viewer *v, const char *id, json_t **ret,
                       bool *ret_running, struct error *err)
{
    struct stored_args a = { .viewer = v };
    int r = api->engine.store ? store_get_facts(api->engine.store, id, take_one, &a, err)
                              : STORE_NOT_FOUND;

    if (r != 0)
        return r;
    *ret = a.json;
    *ret_running = a.running;
    return a.json ? 0 : STORE_NOT_FOUND;
}

/* Returns a reference to the profile of a capture that waits to be stored, if @v may see it. */
static struct profile *waiting_profile(struct api *api, const struct viewer *v, const char *id,
                                       char ret_schedule[STORE_WRITER_SCHEDULE_BYTES])
{
    struct profile *p = store_writer_find(api->engine.store_writer, id, ret_schedule);

    return p && !viewer_sees_scope(v, p->scope) ? profile_unref(p) : p;
}

static int take_waiting(void *cookie, const struct store_capture *c)
{
    json_t **ret = cookie;

    *ret = capture_json(c, 1.0);
    return *ret ? 0 : -ENOMEM;
}

int backend_capture(void *ctx, const struct viewer *v, const char *id, json_t **ret,
                    bool *ret_running, struct error *err)
{
    _cleanup_(profile_unrefp) struct profile *waiting = NULL;
    struct api *api = ctx;
    struct running_args running = { .viewer = v, .id = id, .list = json_array() };
    char schedule[STORE_WRITER_SCHEDULE_BYTES];
    bool ignored, is_old;
    int r = api_ask(api, call_running, &running, err);

    if (!ret_running)
        ret_running = &ignored;
    *ret_running = r == 0;
    if (r == 0) {
        *ret = json_incref(json_array_get(running.list, 0));
        json_decref(running.list);
        return *ret ? 0 : -ENOMEM;
    }
    json_decref(running.list);
    if (r != BACKEND_NOT_FOUND)
        return r;
    *ret = NULL;
    r = stored_json(api, v, id, ret, ret_running, err);
    /* A row that says running is of the capture's begin. */
    is_old = r == STORE_NOT_FOUND || (r == 0 && *ret_running);
    if (is_old || r == -EBUSY)
        waiting = waiting_profile(api, v, id, schedule);
    if (is_old || waiting) {
        json_decref(*ret);
        *ret = NULL;
    }
    if (is_old && !waiting) /* the capture may be stored by now */
        r = stored_json(api, v, id, ret, ret_running, err);
    if (waiting) {
        *ret_running = true;
        r = waiting_facts(waiting, schedule, take_waiting, ret);
    }
    if (r == STORE_NOT_FOUND)
        return not_found(id, err);
    return r == 0 && !*ret ? -ENOMEM : r;
}

int backend_capture_profile(void *ctx, const struct viewer *v, const char *id, struct profile **ret,
                            struct error *err)
{
    struct api *api = ctx;
    struct running_args running = { .viewer = v, .id = id, .want_profile = true, .err = err };
    json_t *facts = NULL;
    const char *failure;
    int r = api_ask(api, call_running, &running, err);

    if (r == 0) {
        *ret = running.profile;
        return 0;
    }
    if (r != BACKEND_NOT_FOUND)
        return r;
    *ret = waiting_profile(api, v, id, /* ret_schedule= */ NULL);
    if (*ret)
        return 0;
    r = backend_capture(ctx, v, id, &facts, /* ret_running= */ NULL, err);
    if (r != 0)
        return r;
    failure = json_string_value(json_object_get(facts, "failure"));
    if (failure) {
        error_set(err, -EINVAL, "capture %s failed: %s", id, failure);
        r = BACKEND_CONFLICT;
    }
    json_decref(facts);
    if (r == 0)
        r = store_get(api->engine.store, id, ret, err);
    return r == STORE_NOT_FOUND ? not_found(id, err) : r;
}

int backend_capture_stop(void *ctx, const struct viewer *v, const char *id, struct error *err)
{
    struct running_args running = { .viewer = v, .id = id, .stop = true };
    json_t *facts = NULL;
    int r = api_ask(ctx, call_running, &running, err);

    if (r != BACKEND_NOT_FOUND)
        return r;
    r = backend_capture(ctx, v, id, &facts, /* ret_running= */ NULL, err);
    if (r != 0)
        return r;
    json_decref(facts);
    error_set(err, -EINVAL, "capture %s has ended already", id);
    return BACKEND_CONFLICT;
}

int backend_capture_delete(void *ctx, const struct viewer *v, const char *id, struct error *err)
{
    struct api *api = ctx;
    struct running_args running = { .viewer = v, .id = id, .drop = true };
    int r = api_ask(api, call_running, &running, err), stored;
    json_t *facts = NULL;
    bool queued;

    if (r != 0 && r != BACKEND_NOT_FOUND)
        return r;
    if (r == BACKEND_NOT_FOUND && !v->whole) { /* @v may delete only what it sees */
        stored = backend_capture(ctx, v, id, &facts, /* ret_running= */ NULL, err);
        if (stored != 0)
            return stored;
        json_decref(facts);
    }
    queued = store_writer_drop(api->engine.store_writer, id);
    stored = api->engine.store ? store_delete(api->engine.store, id, err) : STORE_NOT_FOUND;
    if (queued && stored == -EBUSY) /* the writer deletes it, too */
        return 0;
    if ((queued || r == 0) && (stored == STORE_NOT_FOUND || stored == -ENODEV))
        return 0;
    return stored == STORE_NOT_FOUND ? not_found(id, err) : stored;
}
