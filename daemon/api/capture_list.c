/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of captures, page by page: running ones from the engine, then those of the store. Each
 * is matched against the query. Thread: serve's workers.
 */
#include "api/api_impl.h"
#include "api/json.h"
#include "capture/capture_impl.h"
#include "profile/match.h"

#define LIST_LIMIT_DEFAULT 100
#define PAGES_MAX 100 /* pages of the store that one answer reads */
#define RUNNING_CURSOR "running-"

static bool pid_wanted(const struct target_selector *t, int32_t host_pid)
{
    for (size_t i = 0; i < t->pid_count; i++) {
        if (t->pids[i] == host_pid)
            return true;
    }
    return t->pid_count == 0;
}

/* ---- running captures: on the engine's thread ---- */

struct running_list {
    const struct captures_query *q;
    struct target *wanted;
    uint64_t before; /* captures that began at this time or later are on earlier pages */
    size_t limit;
    json_t *list;
    struct error *err;
};

struct both {
    const struct target *a, *b;
};

static int in_both(void *cookie, struct process *p)
{
    const struct both *t = cookie;

    return !p->exited && target_matches(t->a, p) && target_matches(t->b, p);
}

static bool running_wanted(struct api *api, const struct running_list *l, const struct capture *c)
{
    const struct captures_query *q = l->q;
    struct both both = { l->wanted, c->target };
    uint64_t start = c->meta.start_realtime_ns;

    if (!viewer_sees_scope(q->target.viewer, c->meta.scope))
        return false;
    if (start >= q->range.to_ns || clock_realtime_ns() < q->range.from_ns)
        return false;
    if ((q->event && !profile_has_event(&c->meta, q->event)) ||
        (q->schedule && strcmp(q->schedule, c->to.schedule) != 0))
        return false;
    return target_is_open(l->wanted) || discover_each(api->engine.discover, in_both, &both) != 0;
}

static int call_running_list(struct api *api, void *arg)
{
    struct running_list *l = arg;
    int r = target_new(&l->q->target, &l->wanted, l->err);

    for (struct capture *c = api->engine.captures->running; c && r == 0; c = c->next) {
        if (!c->to.resource || c->meta.start_realtime_ns >= l->before || !running_wanted(api, l, c))
            continue;
        json_array_append_new(l->list, running_json(c));
        if (json_array_size(l->list) == l->limit) { /* the list is sorted newest first */
            l->before = c->meta.start_realtime_ns;
            break;
        }
    }
    if (r == 0)
        r = target_refuse_spent(l->wanted, l->err);
    target_free(l->wanted);
    return r;
}

/* ---- stored captures ---- */

struct stored_list {
    const struct captures_query *q;
    struct match *jvm; /* NULL: any */
    json_t *list;
};

bool capture_has_wanted(const struct store_capture *c, const struct target_selector *t,
                        struct match *jvm)
{
    if (!jvm && t->pid_count < 2)
        return true; /* the store has filtered already */
    for (size_t i = 0; i < c->process_count; i++) {
        const struct store_process *p = &c->processes[i];

        if (pid_wanted(t, p->host_pid) && (!t->service || strcmp(p->service, t->service) == 0) &&
            (!jvm || match_name(jvm, span_of(p->container ? p->container : ""),
                                span_of(p->name ? p->name : "")) > 0))
            return true;
    }
    return false;
}

static int add_stored(void *cookie, const struct store_capture *c)
{
    struct stored_list *l = cookie;

    if (c->state != STORE_RUNNING &&
        capture_has_wanted(c, &l->q->target, l->jvm)) /* the engine lists running captures */
        json_array_append_new(l->list, capture_json(c, 1.0));
    return 0;
}

struct store_query captures_of(const struct target_selector *t, uint64_t from_ns, uint64_t to_ns)
{
    return (struct store_query){ .from_ns = from_ns,
                                 .to_ns = to_ns,
                                 .state = STORE_DONE,
                                 .host_pid = t->pid_count == 1 ? t->pids[0] : 0,
                                 .container = t->container,
                                 .pod = t->pod,
                                 .pod_namespace = t->pod_namespace,
                                 .service = t->service,
                                 .scope = viewer_store_scope(t->viewer) };
}

/* Makes the query to the store for @q. A negative state in *ret means any state. */
static int stored_query(const struct captures_query *q, struct store_query *ret, struct error *err)
{
    *ret = captures_of(&q->target, q->range.from_ns, q->range.to_ns ? q->range.to_ns : UINT64_MAX);
    ret->event = q->event;
    ret->schedule = q->schedule;
    ret->state = -1;
    if (!q->state)
        return 0;
    if (strcmp(q->state, "done") == 0)
        ret->state = STORE_DONE;
    else if (strcmp(q->state, "failed") == 0)
        ret->state = STORE_FAILED;
    else if (strcmp(q->state, "running") == 0)
        ret->state = STORE_RUNNING;
    else
        return error_parameter(err, "state", -EINVAL, "state is running, done or failed");
    return 0;
}

/* Adds stored captures to @l, up to @limit. @next: the cursor of the next page; "" at the end. */
static int list_stored(struct store *s, struct store_query *sq, struct stored_list *l, size_t limit,
                       char next[64], struct error *err)
{
    char cursor[64];
    int r = 0;

    for (int page = 0; page < PAGES_MAX && r == 0 && json_array_size(l->list) < limit; page++) {
        sq->limit = limit - json_array_size(l->list);
        r = store_list(s, sq, add_stored, l, next, err);
        if (!next[0])
            break;
        memcpy(cursor, next, sizeof(cursor));
        sq->cursor = cursor;
    }
    sq->cursor = NULL; /* it points to a local buffer */
    return r;
}

/* ---- the page ---- */

/* Parses a cursor of running captures: the start time of the last one shown. Captures may begin or
 * end between two pages, so a position would be wrong. A capture's running number would reveal how
 * many captures other callers make. Returns false if @cursor is a cursor of the store. */
static bool running_cursor(const char *cursor, uint64_t *ret)
{
    struct span s = span_of(cursor ? cursor : "");

    *ret = UINT64_MAX;
    return !cursor || (span_take_str(&s, RUNNING_CURSOR) && span_parse_dec(s, ret));
}

static int list_page(struct api *api, const struct captures_query *q, struct match *jvm,
                     json_t *list, char next[64], struct error *err)
{
    size_t limit = q->limit ? q->limit : LIST_LIMIT_DEFAULT;
    struct running_list running = { .q = q, .limit = limit, .list = list, .err = err };
    struct stored_list stored = { q, jvm, list };
    struct store_query sq;
    int r = stored_query(q, &sq, err);

    if (r == 0 && !running_cursor(q->cursor, &running.before)) {
        sq.cursor = q->cursor;
    } else if (r == 0 && (sq.state < 0 || sq.state == STORE_RUNNING)) {
        r = api_ask(api, call_running_list, &running, err);
        if (r == 0 && json_array_size(list) == limit) {
            snprintf(next, 64, RUNNING_CURSOR "%ju", (uintmax_t)running.before);
            return 0;
        }
    }
    if (r == 0 && api->engine.store && sq.state != STORE_RUNNING)
        r = list_stored(api->engine.store, &sq, &stored, limit, next, err);
    return r;
}

int backend_captures(void *ctx, const struct captures_query *q, json_t **ret, struct error *err)
{
    _cleanup_(match_freep) struct match *jvm = NULL;
    json_t *list = json_array();
    char next[64] = "";
    int r = 0;

    if (!list)
        return -ENOMEM;
    if (q->target.jvm)
        r = match_new(&q->target.jvm, 1, "jvm", &jvm, err);
    if (jvm)
        match_begin_long(jvm);
    if (r == 0)
        r = list_page(ctx, q, jvm, list, next, err) ?: match_refuse_spent(jvm, err);
    if (r != 0) {
        json_decref(list);
        return r;
    }
    *ret = json_pack("{s:o, s:o}", "captures", list, "next", json_string_or_null(next));
    return *ret ? 0 : -ENOMEM;
}
