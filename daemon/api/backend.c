/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of struct api_backend, which serve/ calls. Each runs its part on the engine's
 * thread. */
#include "api/api_impl.h"
#include "api/lookout.h"

struct start_args {
    const struct capture_request *req;
    const struct capture_waiter *waiter;
    uint64_t handle;
    struct error *err;
};

static int call_start(struct api *api, void *arg)
{
    struct start_args *a = arg;

    return captures_start(api->engine.captures, a->req, a->waiter, &a->handle, a->err);
}

/* The handle that serve/ gets is a number that is never reused. So a late call that ends a finished
 * capture cannot end another one. */
static int backend_capture_start(void *ctx, const struct capture_request *req,
                                 const struct capture_waiter *waiter, struct capture **ret,
                                 struct error *err)
{
    struct start_args a = { .req = req, .waiter = waiter, .err = err };
    int r = api_ask(ctx, call_start, &a, err);

    if (r == 0)
        *ret = (struct capture *)(uintptr_t)a.handle;
    return r;
}

struct end_args {
    struct captures *captures;
    uint64_t handle;
    bool keep;
};

static int call_end(void *arg)
{
    struct end_args *a = arg;

    captures_end(a->captures, a->handle, a->keep);
    return 0;
}

static void backend_capture_end(void *ctx, struct capture *c, bool keep)
{
    struct api *api = ctx;
    struct end_args a = { api->engine.captures, (uintptr_t)c, keep };

    mailbox_post(api->engine.mailbox, call_end, &a, sizeof(a));
}

struct check_args {
    const struct target_selector *target;
    const char *events;
    struct error *err;
};

static int call_target_check(struct api *api, void *arg)
{
    struct check_args *a = arg;

    return facts_check(api, a->target, a->err);
}

struct each_args {
    const struct target_selector *target;
    jvm_facts_fn fn;
    void *cookie;
    struct error *err;
};

static int call_jvms_each(struct api *api, void *arg)
{
    struct each_args *a = arg;

    return facts_jvms_each(api, a->target, a->fn, a->cookie, a->err);
}

static int call_events_check(struct api *api, void *arg)
{
    struct check_args *a = arg;

    return facts_events_check(api, a->events, a->err);
}

static int backend_target_check(void *ctx, const struct target_selector *t, struct error *err)
{
    return api_ask(ctx, call_target_check, &(struct check_args){ .target = t, .err = err }, err);
}

static int backend_jvms_each(void *ctx, const struct target_selector *t, jvm_facts_fn fn,
                             void *cookie, struct error *err)
{
    struct each_args a = { .target = t, .fn = fn, .cookie = cookie, .err = err };

    return api_ask(ctx, call_jvms_each, &a, err);
}

static int backend_events_check(void *ctx, const char *names, struct error *err)
{
    return api_ask(ctx, call_events_check, &(struct check_args){ .events = names, .err = err },
                   err);
}

/* ---- documents ---- */

struct document_args {
    document_fn *fn;
    const struct document_query *q;
    json_t **ret;
    struct error *err;
};

static int call_document(struct api *api, void *arg)
{
    const struct document_args *a = arg;

    return a->fn(api, a->q, a->ret, a->err);
}

/* Makes a document on the engine's thread. */
static int ask_document(struct api *api, document_fn *fn, const struct document_query *q,
                        json_t **ret, struct error *err)
{
    return api_ask(api, call_document, &(struct document_args){ fn, q, ret, err }, err);
}

static int document_services(struct api *api, const struct document_query *q, json_t **ret,
                             struct error *err)
{
    json_t *value = NULL;
    int r = ask_document(api, facts_services, q, &value, err)
                ?: services_add_past(api, q->viewer, value, err);

    if (r == 0)
        *ret = value;
    else
        json_decref(value);
    return r;
}

static int document_ready(struct api *api, const struct document_query *q, json_t **ret,
                          struct error *err)
{
    int r = ask_document(api, facts_ready, q, ret, err);

    if (r == BACKEND_UNAVAILABLE && !*ret)
        *ret = facts_unavailable(err);
    return r;
}

static int backend_document(void *ctx, enum backend_document which, const struct document_query *q,
                            json_t **ret, struct error *err)
{
    static const struct {
        document_fn *fn;
        bool of_engine; /* the function runs on the engine's thread */
    } MAKERS[DOCUMENTS] = {
        [DOCUMENT_JVMS] = { facts_jvms, true },
        [DOCUMENT_JVM] = { facts_jvm, true },
        [DOCUMENT_SERVICES] = { document_services, false },
        [DOCUMENT_SIGNALS] = { facts_signals, true },
        [DOCUMENT_EVENTS] = { facts_events, true },
        [DOCUMENT_READY] = { document_ready, false },
        [DOCUMENT_CHANGES] = { document_changes, false },
        [DOCUMENT_SCHEDULES] = { document_schedules, false },
        [DOCUMENT_PUSH] = { document_push, false },
        [DOCUMENT_PREFLIGHT] = { facts_preflight, true },
        [DOCUMENT_HEAP] = { document_heap, false },
    };

    return MAKERS[which].of_engine ? ask_document(ctx, MAKERS[which].fn, q, ret, err)
                                   : MAKERS[which].fn(ctx, q, ret, err);
}

/* ---- the past ---- */

static int ask_past(void *ctx, const struct target_selector *t, const struct time_range *range,
                    const char *event, enum past_from from, struct profile **ret, struct error *err)
{
    _cleanup_(resolved_deinit) struct resolved resolved;
    int r = selector_resolve(ctx, t, &resolved, err);

    return r != 0 ? r : backend_past(ctx, &resolved.selector, range, event, from, ret, err);
}

static int ask_past_keep(void *ctx, const struct target_selector *t, const struct time_range *range,
                         const char *event, char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    _cleanup_(resolved_deinit) struct resolved resolved;
    int r = selector_resolve(ctx, t, &resolved, err);

    return r != 0 ? r : backend_past_keep(ctx, &resolved.selector, range, event, ret_id, err);
}

static int ask_timeline(void *ctx, const struct target_selector *t, const struct time_range *range,
                        size_t buckets, const char *by, json_t **ret, size_t *ret_count,
                        struct error *err)
{
    _cleanup_(resolved_deinit) struct resolved resolved;
    int r = selector_resolve(ctx, t, &resolved, err);

    return r != 0
               ? r
               : backend_timeline(ctx, &resolved.selector, range, buckets, by, ret, ret_count, err);
}

static int ask_captures(void *ctx, const struct captures_query *q, json_t **ret, struct error *err)
{
    _cleanup_(resolved_deinit) struct resolved resolved;
    struct captures_query query = *q;
    int r = selector_resolve(ctx, &q->target, &resolved, err);

    query.target = resolved.selector;
    return r != 0 ? r : backend_captures(ctx, &query, ret, err);
}

/* Asks the broker directly, because the engine is not needed to find the owner of a connection. */
static int backend_socket_holders(void *ctx, const uint64_t *keys, size_t n, uint64_t net_ns,
                                  struct socket_holding *ret)
{
    const struct api *api = ctx;

    return broker_socket_holders(api->engine.broker, keys, n, net_ns, ret, NULL);
}

static void backend_fill(struct api *api)
{
    api->backend = (struct api_backend){
        .ctx = api,
        .capture_start = backend_capture_start,
        .capture_end = backend_capture_end,
        .target_check = backend_target_check,
        .document = backend_document,
        .jvms_each = backend_jvms_each,
        .events_check = backend_events_check,
        .capture_create = backend_capture_create,
        .capture_snapshot = backend_capture_snapshot,
        .captures = ask_captures,
        .capture = backend_capture,
        .capture_profile = backend_capture_profile,
        .capture_stop = backend_capture_stop,
        .capture_delete = backend_capture_delete,
        .past = ask_past,
        .past_known = backend_past_known,
        .past_keep = ask_past_keep,
        .timeline = ask_timeline,
        .trigger = backend_trigger,
        .metrics = backend_metrics,
        .threads = backend_threads,
        .perf_map = backend_perf_map,
        .socket_holders = backend_socket_holders,
    };
}

/* ---- making and freeing ---- */

int api_new(struct engine *e, struct api **ret)
{
    struct api *api = malloc(sizeof(*api));
    int r;

    if (!api)
        return -ENOMEM;
    *api = (struct api){ .engine = engine_parts(e) };
    backend_fill(api);
    r = lookout_start(api, &api->lookout);
    if (r < 0)
        return free(api), r;
    *ret = api;
    return 0;
}

void api_end(struct api *api)
{
    if (api)
        api->lookout = lookout_stop(api->lookout);
}

struct api *api_free(struct api *api)
{
    api_end(api);
    if (api)
        buf_deinit(&api->checks.text);
    free(api);
    return NULL;
}

const struct api_backend *api_backend(const struct api *api)
{
    return &api->backend;
}
