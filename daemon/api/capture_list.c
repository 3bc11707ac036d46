/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of captures, page by page: those of the engine, which run, those that wait for the
 * store, and those of the store, in one order. Each is matched against the query. Thread: serve's
 * workers.
 */
#include "api/api_impl.h"
#include "api/json.h"
#include "base/array.h"
#include "capture/capture_impl.h"
#include "profile/match.h"

#define LIST_LIMIT_DEFAULT 100
#define PAGES_MAX 100 /* pages of the store that one answer reads */
#define ROWS_FIRST 128

static bool pid_wanted(const struct target_selector *t, int32_t host_pid)
{
    for (size_t i = 0; i < t->pid_count; i++) {
        if (t->pids[i] == host_pid)
            return true;
    }
    return t->pid_count == 0;
}

/* ---- the rows of a page ---- */

/* Where a capture was read. A capture moves from one to the next. */
enum row_source { ROW_RUNS, ROW_WAITS, ROW_STORED };

struct row {
    struct store_place place;
    enum row_source source;
    json_t *json;
};

struct rows {
    struct row *list;
    size_t count, cap;
};

static void rows_deinit(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        json_decref(rows->list[i].json);
    free(rows->list);
}

/* Takes over @json. */
static int rows_add(struct rows *rows, enum row_source source, uint64_t start_ns, const char *id,
                    json_t *json)
{
    struct row *row;

    if (!json || !array_grow(&rows->list, &rows->cap, rows->count + 1, ROWS_FIRST)) {
        json_decref(json);
        return -ENOMEM;
    }
    row = &rows->list[rows->count++];
    *row = (struct row){ .place.start_ns = start_ns, .source = source, .json = json };
    snprintf(row->place.id, sizeof(row->place.id), "%s", id);
    return 0;
}

/* Compares places: negative if @a is newer. */
static int compare_places(const struct store_place *a, const struct store_place *b)
{
    return COMPARE(b->start_ns, a->start_ns) ?: strcmp(b->id, a->id);
}

/* Sorts the rows of one capture by what is known latest. */
static int newest_first(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return compare_places(&x->place, &y->place) ?: COMPARE(y->source, x->source);
}

/* ---- running captures: on the engine's thread ---- */

struct running_list {
    const struct captures_query *q;
    struct target *wanted;
    const struct store_place *after; /* NULL: the first page */
    struct rows *rows;
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
        struct store_place place = { .start_ns = c->meta.start_realtime_ns };

        snprintf(place.id, sizeof(place.id), "%s", c->meta.id);
        if (c->to.resource && (!l->after || compare_places(&place, l->after) > 0) &&
            running_wanted(api, l, c))
            r = rows_add(l->rows, ROW_RUNS, place.start_ns, place.id, running_json(c));
    }
    if (r == 0)
        r = target_refuse_spent(l->wanted, l->err);
    target_free(l->wanted);
    return r;
}

/* ---- ended captures ---- */

struct ended_list {
    const struct captures_query *q;
    struct match *jvm;               /* NULL: any */
    const struct store_place *after; /* NULL: the first page */
    struct rows *rows;
};

/* Returns whether @text is @wanted; NULL: any. */
static bool text_wanted(const char *text, const char *wanted)
{
    return !wanted || (text && strcmp(text, wanted) == 0);
}

/* Returns whether @p meets all selectors of @t. Only JVMs have a service. */
static bool process_wanted(const struct store_process *p, const struct target_selector *t,
                           struct match *jvm)
{
    const char *container = p->container ? p->container : "";

    return pid_wanted(t, p->host_pid) && text_wanted(p->service, t->service) &&
           text_wanted(p->pod, t->pod) && text_wanted(p->pod_namespace, t->pod_namespace) &&
           selector_has_container(t, container, "") &&
           (!jvm || (p->service && p->service[0] &&
                     match_name(jvm, span_of(container), span_of(p->name ? p->name : "")) > 0));
}

bool capture_has_wanted(const struct store_capture *c, const struct target_selector *t,
                        struct match *jvm)
{
    return (!jvm && t->pid_count < 2) || /* the store has filtered already */
           ANY_OF(i, c->process_count, process_wanted(&c->processes[i], t, jvm));
}

static int add_stored(void *cookie, const struct store_capture *c)
{
    struct ended_list *l = cookie;

    if (c->state == STORE_RUNNING || !capture_has_wanted(c, &l->q->target, l->jvm))
        return 0; /* a row of its begin; the engine or the writer passes it */
    return rows_add(l->rows, ROW_STORED, c->start_ns, c->id, capture_json(c, 1.0));
}

static bool selects_any(const struct target_selector *t)
{
    return !t->pid_count && !t->container && !t->pod && !t->pod_namespace && !t->jvm && !t->service;
}

/* Adds @c, which waits for the store, if it meets the query by the rules of store_list(). */
static int add_waiting(void *cookie, const struct store_capture *c)
{
    const struct ended_list *l = cookie;
    const struct target_selector *t = &l->q->target;

    if (!selects_any(t) &&
        !ANY_OF(i, c->process_count, process_wanted(&c->processes[i], t, l->jvm)))
        return 0;
    return rows_add(l->rows, ROW_WAITS, c->start_ns, c->id, capture_json(c, 1.0));
}

static int consider_waiting(void *cookie, const struct profile *p, const char *schedule)
{
    const struct ended_list *l = cookie;
    const struct captures_query *q = l->q;
    uint64_t took_ns = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0;
    struct store_place place = { .start_ns = p->start_realtime_ns };

    snprintf(place.id, sizeof(place.id), "%s", p->id);
    if (!viewer_sees_scope(q->target.viewer, p->scope) ||
        (l->after && compare_places(&place, l->after) <= 0) ||
        place.start_ns >= (q->range.to_ns ? q->range.to_ns : UINT64_MAX) ||
        place.start_ns + took_ns < q->range.from_ns ||
        (q->event && !profile_has_event(p, q->event)) || !text_wanted(schedule, q->schedule))
        return 0;
    return waiting_facts(p, schedule, add_waiting, cookie);
}

struct store_query captures_of(const struct target_selector *t, uint64_t from_ns, uint64_t to_ns)
{
    return (struct store_query){ .from_ns = from_ns,
                                 .to_ns = to_ns,
                                 .state = STORE_DONE,
                                 .host_pid = t->pid_count == 1 ? t->pids[0] : 0,
                                 .container = t->container,
                                 .container_ids = t->container_ids,
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

/* Adds up to @limit stored captures to @l. @next: the cursor behind the last one that was read; ""
 * at the end. */
static int list_stored(struct store *s, struct store_query *sq, struct ended_list *l, size_t limit,
                       char next[STORE_CURSOR_BYTES], struct error *err)
{
    char cursor[STORE_CURSOR_BYTES];
    size_t before = l->rows->count;
    int r = 0;

    for (int page = 0; page < PAGES_MAX && r == 0 && l->rows->count - before < limit; page++) {
        sq->limit = limit - (l->rows->count - before);
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

/* Sorts @rows and appends up to @limit of them to @list. @next: the cursor of what was read of the
 * store, behind which there are more; updated for the page. A capture that ended between the
 * readings is in @rows several times. */
static int show_rows(struct rows *rows, size_t limit, json_t *list, char next[STORE_CURSOR_BYTES],
                     struct error *err)
{
    struct store_place end = { 0 };
    const struct row *last = NULL;
    int r = next[0] ? store_read_cursor(next, &end, err) : 0;

    if (rows->count)
        qsort(rows->list, rows->count, sizeof(*rows->list), newest_first);
    for (size_t i = 0; i < rows->count && r == 0; i++) {
        const struct row *row = &rows->list[i];

        if (next[0] && compare_places(&row->place, &end) > 0)
            break; /* stored ones that were not read may be before it */
        if (last && compare_places(&row->place, &last->place) == 0)
            continue;
        if (json_array_size(list) == limit) {
            store_write_cursor(&last->place, next);
            break;
        }
        r = json_array_append(list, row->json) == 0 ? 0 : -ENOMEM;
        last = row;
    }
    return r;
}

/* Reads captures in the order in which they move, so that none is missed on its way. */
static int list_page(struct api *api, const struct captures_query *q, struct match *jvm,
                     json_t *list, char next[STORE_CURSOR_BYTES], struct error *err)
{
    _cleanup_(rows_deinit) struct rows rows = { 0 };
    struct store_place after;
    struct running_list running = {
        .q = q, .after = q->cursor ? &after : NULL, .rows = &rows, .err = err
    };
    struct ended_list ended = { .q = q, .jvm = jvm, .after = running.after, .rows = &rows };
    size_t limit = q->limit ? q->limit : LIST_LIMIT_DEFAULT;
    struct store_query sq;
    int r = stored_query(q, &sq, err);

    sq.cursor = q->cursor;
    if (r == 0 && q->cursor)
        r = store_read_cursor(q->cursor, &after, err);
    if (r == 0 && (sq.state < 0 || sq.state == STORE_RUNNING))
        r = api_ask(api, call_running_list, &running, err)
                ?: store_writer_each(api->engine.store_writer, consider_waiting, &ended);
    if (r == 0 && api->engine.store && sq.state != STORE_RUNNING)
        r = list_stored(api->engine.store, &sq, &ended, limit, next, err);
    return r ?: show_rows(&rows, limit, list, next, err);
}

int backend_captures(void *ctx, const struct captures_query *q, json_t **ret, struct error *err)
{
    _cleanup_(match_freep) struct match *jvm = NULL;
    json_t *list = json_array();
    char next[STORE_CURSOR_BYTES] = "";
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
