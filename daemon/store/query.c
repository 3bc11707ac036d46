/* SPDX-License-Identifier: Apache-2.0 */
/* Reads captures: facts, lists, profiles. */
#include "store/blob.h"
#include "store/events.h"
#include "store/samples.h"
#include "store/store_impl.h"

#include <jansson.h>

#define QUERY_PROCESSES_MAX 256 /* processes shown of a capture: those with most samples */
#define QUERY_LIMIT_MAX 1000

/* The columns of each query for facts, in this order. */
#define FACTS                                                                                      \
    "n, id, state, start_ns, end_ns, event, target, symbols, schedule, failure, period, samples,"  \
    " lost, unknown, truncated, max_age_s, warnings, coalesce(length(body), 0), scope, unit, "     \
    "events"

/* Reads the events of a row from its columns. */
static struct profile events_of(sqlite3_stmt *stmt, int name, int unit, int period, int events)
{
    struct profile meta = { .event_count = 1 };

    snprintf(meta.events[0].name, sizeof(meta.events[0].name), "%s", store_text(stmt, name));
    snprintf(meta.events[0].unit, sizeof(meta.events[0].unit), "%s", store_text(stmt, unit));
    meta.events[0].period = (uint64_t)sqlite3_column_int64(stmt, period);
    if (store_text(stmt, events)[0])
        events_parse(store_text(stmt, events), &meta);
    return meta;
}

static int read_processes(struct store *s, int64_t n, sqlite3_stmt **ret_stmt,
                          struct store_process list[QUERY_PROCESSES_MAX], size_t *ret_count,
                          struct intern *text, struct error *err)
{
    size_t count = 0;
    int r = store_query(s,
                        "SELECT pid, name, container, pod, namespace, service, samples FROM "
                        "processes"
                        " WHERE capture = ? ORDER BY samples DESC LIMIT 256",
                        ret_stmt, err, VALUE(n));

    if (r < 0)
        return r;
    while (count < QUERY_PROCESSES_MAX &&
           (r = store_step(s, *ret_stmt, "cannot read the store", err)) > 0) {
        const char *strings[5];

        for (int i = 0; i < (int)ARRAY_SIZE(strings); i++) {
            uint32_t id = 0;

            intern_add(text, span_of(store_text(*ret_stmt, i + 1)), &id);
            strings[i] = intern_get(text, id).p;
        }
        list[count++] = (struct store_process){ sqlite3_column_int(*ret_stmt, 0),
                                                strings[0],
                                                strings[1],
                                                strings[2],
                                                strings[3],
                                                strings[4],
                                                (uint64_t)sqlite3_column_int64(*ret_stmt, 6) };
    }
    *ret_count = count;
    return MIN(r, 0);
}

/* Passes the row of @stmt to @fn. */
static int hand_out(struct store *s, sqlite3_stmt *stmt, store_capture_fn fn, void *cookie,
                    struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *processes = NULL;
    struct store_process list[QUERY_PROCESSES_MAX];
    const char *warnings[PROFILE_WARNINGS_MAX];
    json_t *warning_list = json_loads(store_text(stmt, 16), 0, NULL);
    struct intern *text = NULL;
    struct profile meta = events_of(stmt, 5, 19, 10, 20);
    struct store_capture c = {
        .state = (enum store_state)sqlite3_column_int(stmt, 2),
        .start_ns = (uint64_t)sqlite3_column_int64(stmt, 3),
        .end_ns = (uint64_t)sqlite3_column_int64(stmt, 4),
        .event = store_text(stmt, 5),
        .target = store_text(stmt, 6),
        .symbols = store_text(stmt, 7),
        .schedule = store_text(stmt, 8),
        .failure = store_text(stmt, 9),
        .events = meta.events,
        .event_count = meta.event_count,
        .samples = (uint64_t)sqlite3_column_int64(stmt, 11),
        .lost = (uint64_t)sqlite3_column_int64(stmt, 12),
        .unknown = (uint64_t)sqlite3_column_int64(stmt, 13),
        .truncated = (uint64_t)sqlite3_column_int64(stmt, 14),
        .max_age_s = (uint64_t)sqlite3_column_int64(stmt, 15),
        .warnings = warnings,
        .processes = list,
        .bytes = (uint64_t)sqlite3_column_int64(stmt, 17),
        .scope = store_text(stmt, 18),
    };
    int r = intern_new((size_t)4 << 20, &text);

    if (r == 0) {
        snprintf(c.id, sizeof(c.id), "%s", store_text(stmt, 1));
        for (size_t i = 0; i < json_array_size(warning_list) && i < PROFILE_WARNINGS_MAX; i++) {
            const char *w = json_string_value(json_array_get(warning_list, i));

            if (w)
                warnings[c.warning_count++] = w;
        }
        r = read_processes(s, sqlite3_column_int64(stmt, 0), &processes, list, &c.process_count,
                           text, err);
        if (r == 0)
            r = fn(cookie, &c);
    }
    intern_free(text);
    json_decref(warning_list);
    return r;
}

int store_get_facts(struct store *s, const char *id, store_capture_fn fn, void *cookie,
                    struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r;

    r = store_enter(s, STORE_WAIT_NS, err);
    if (r < 0)
        return r;
    r = store_query(s, "SELECT " FACTS " FROM captures WHERE id = ?", &stmt, err, VALUE(id));
    if (r == 0) {
        r = store_step(s, stmt, "cannot read the store", err);
        if (r > 0)
            r = hand_out(s, stmt, fn, cookie, err);
        else if (r == 0)
            r = STORE_NOT_FOUND;
    }
    sqlite3_finalize(TAKE_PTR(stmt));
    store_leave(s);
    return r;
}

/* ---- lists ---- */

int store_read_cursor(const char *cursor, struct store_place *ret, struct error *err)
{
    struct span s = span_of(cursor);

    if (!span_take_dec(&s, &ret->start_ns) || !span_take_char(&s, '.') ||
        ret->start_ns > INT64_MAX || !s.n || s.n >= STORE_ID_BYTES)
        return error_parameter(err, "cursor", -EINVAL,
                               "'%.60s' is no cursor: take it from \"next\" of the page before",
                               cursor);
    span_copy(s, ret->id, sizeof(ret->id));
    return 0;
}

void store_write_cursor(const struct store_place *p, char ret[STORE_CURSOR_BYTES])
{
    snprintf(ret, STORE_CURSOR_BYTES, "%ju.%s", (uintmax_t)p->start_ns, p->id);
}

int store_list(struct store *s, const struct store_query *q, store_capture_fn fn, void *cookie,
               char ret_next[STORE_CURSOR_BYTES], struct error *err)
{
    static const char SQL[] =
        "SELECT " FACTS " FROM captures WHERE start_ns < ?1 AND end_ns >= ?2"
        " AND (?3 IS NULL OR instr(',' || event || ',', ',' || ?3 || ',')) AND (?4 IS NULL OR "
        "schedule = ?4) AND (?5 < 0 OR state = "
        "?5)"
        " AND ((?6 = 0 AND ?7 IS NULL AND ?8 IS NULL AND ?9 IS NULL AND ?14 IS NULL) OR EXISTS "
        "(SELECT 1 FROM "
        "processes p"
        "  WHERE p.capture = n AND (?6 = 0 OR p.pid = ?6)  AND (?7 IS NULL OR p.container = ?7 OR "
        "(length(?7) >= 6 AND ?7 NOT GLOB '*[^0-9a-f]*' AND substr(p.container, 1, length(?7)) = "
        "?7) OR instr(?15, char(10) || p.container || char(10)))  AND (?8 IS NULL OR p.pod "
        "= ?8) AND (?9 IS NULL OR p.namespace = ?9)  AND (?14 IS NULL OR p.service = ?14)))"
        " AND (?13 IS NULL OR scope = ?13)"
        " AND (start_ns, id) < (?10, ?11) ORDER BY start_ns DESC, id DESC LIMIT ?12";
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    struct store_place after = { .start_ns = INT64_MAX };
    size_t limit = CLAMP(q->limit, (size_t)1, (size_t)QUERY_LIMIT_MAX), shown = 0;
    int r, step = SQLITE_DONE;

    ret_next[0] = '\0';
    r = q->cursor ? store_read_cursor(q->cursor, &after, err) : 0;
    if (r < 0)
        return r;
    r = store_enter(s, STORE_WAIT_NS, err);
    if (r < 0)
        return r;
    if (!s->db) { /* /readyz has the reason; running captures are still listed */
        if (q->need_open)
            r = error_set(err, -ENODEV, "the store is not open: %.200s", s->problem);
        store_leave(s);
        return r;
    }
    r = store_query(s, SQL, &stmt, err, VALUE(MIN(q->to_ns, (uint64_t)INT64_MAX)),
                    VALUE(MIN(q->from_ns, (uint64_t)INT64_MAX)), VALUE_OR_NULL(q->event),
                    VALUE_OR_NULL(q->schedule), VALUE(q->state), VALUE(q->host_pid),
                    VALUE_OR_NULL(q->container), VALUE_OR_NULL(q->pod),
                    VALUE_OR_NULL(q->pod_namespace), VALUE(after.start_ns), VALUE(after.id),
                    VALUE(limit + 1), VALUE_OR_NULL(q->scope), VALUE_OR_NULL(q->service),
                    VALUE_OR_NULL(q->container_ids));
    while (r == 0 && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (shown == limit)
            break; /* there is a further row, to which ret_next leads */
        after.start_ns = (uint64_t)sqlite3_column_int64(stmt, 3);
        snprintf(after.id, sizeof(after.id), "%s", store_text(stmt, 1));
        store_write_cursor(&after, ret_next);
        shown++;
        r = hand_out(s, stmt, fn, cookie, err);
    }
    if (r == 0 && step == SQLITE_DONE)
        ret_next[0] = '\0';
    else if (r == 0 && step != SQLITE_ROW)
        r = store_failed(s, err, "cannot read the store");
    sqlite3_finalize(TAKE_PTR(stmt));
    store_leave(s);
    return MIN(r, 0);
}

/* ---- profiles ---- */

/* Adds the warnings of @text, a JSON array of strings, to @p. Returns 0 or -ENOMEM. */
static int take_warnings(const char *text, struct profile *p)
{
    json_t *list = json_loads(text, 0, NULL);
    int r = 0;

    for (size_t i = 0; i < json_array_size(list) && p->warning_count < PROFILE_WARNINGS_MAX; i++) {
        const char *warning = json_string_value(json_array_get(list, i));

        if (!warning)
            continue;
        p->warnings[p->warning_count] = strdup(warning);
        if (!p->warnings[p->warning_count]) {
            r = -ENOMEM;
            break;
        }
        p->warning_count++;
    }
    json_decref(list);
    return r;
}

static int get_profile(struct store *s, sqlite3_stmt *stmt, struct profile **ret, struct error *err)
{
    _cleanup_buf_ struct buf body = BUF_UPTO(BLOB_MAX_BYTES);
    struct span packed = { sqlite3_column_blob(stmt, 11), (size_t)sqlite3_column_bytes(stmt, 11) };
    struct profile meta = events_of(stmt, 3, 6, 7, 14);
    struct dictionary *e;
    int r;

    if (sqlite3_column_int(stmt, 12) != STORE_DONE)
        return error_set(err, -EAGAIN, "this capture has no profile: it is running, or failed");
    meta.start_ns = meta.start_realtime_ns = (uint64_t)sqlite3_column_int64(stmt, 1);
    meta.end_ns = (uint64_t)sqlite3_column_int64(stmt, 2);
    meta.by_process = sqlite3_column_int(stmt, 8);
    meta.lost = (uint64_t)sqlite3_column_int64(stmt, 9);
    snprintf(meta.id, sizeof(meta.id), "%s", store_text(stmt, 0));
    snprintf(meta.target, sizeof(meta.target), "%s", store_text(stmt, 4));
    snprintf(meta.symbols, sizeof(meta.symbols), "%s", store_text(stmt, 5));
    snprintf(meta.scope, sizeof(meta.scope), "%s", store_text(stmt, 13));
    r = dictionaries_load(s, sqlite3_column_int64(stmt, 10), &e, err) ?:
        blob_decompress(packed, &body) ?:
        samples_decode(e, buf_span(&body), &meta, ret);
    if (r == 0) {
        r = take_warnings(store_text(stmt, 15), *ret);
        if (r < 0)
            *ret = profile_unref(*ret);
    }
    if (r == -EBADMSG) {
        error_set(err, r, "capture %s is damaged in the store", meta.id);
        error_remedy(err,
                     "delete it; sqlite3 FILE 'PRAGMA integrity_check' lists what else is damaged");
    }
    return r;
}

int store_get(struct store *s, const char *id, struct profile **ret, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r;

    r = store_enter(s, STORE_WAIT_NS, err);
    if (r < 0)
        return r;
    r = store_query(
        s,
        "SELECT id, start_ns, end_ns, event, target, symbols, unit, period, by_process, lost,"
        " epoch, body, state, scope, events, warnings FROM captures WHERE id = ?",
        &stmt, err, VALUE(id));
    if (r == 0) {
        r = store_step(s, stmt, "cannot read the store", err);
        if (r > 0)
            r = get_profile(s, stmt, ret, err);
        else if (r == 0)
            r = STORE_NOT_FOUND;
    }
    sqlite3_finalize(TAKE_PTR(stmt));
    store_leave(s);
    return r;
}
