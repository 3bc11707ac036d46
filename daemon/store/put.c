/* SPDX-License-Identifier: Apache-2.0 */
/* Writes captures, each in one transaction: whole or not at all. */
#include "base/cleanup.h"
#include "store/blob.h"
#include "store/events.h"
#include "store/samples.h"
#include "store/store_impl.h"

#include <jansson.h>

#define CANNOT_WRITE "cannot write to the store"

static char *warnings_json(const struct profile *p)
{
    json_t *list = json_array();
    char *text;

    for (size_t i = 0; i < p->warning_count; i++)
        json_array_append_new(list, json_string(p->warnings[i]));
    text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

/* Writes the row of a capture, and replaces a row of the same id. */
static int put_row(struct store *s, const struct profile *p, const char *id, enum store_state state,
                   const char *failure, const char *schedule, uint64_t max_age_s,
                   const struct buf *body, int64_t *ret_n, struct error *err)
{
    static const char SQL[] =
        "INSERT OR REPLACE INTO captures(id, state, start_ns, end_ns, event, "
        "target, symbols, schedule, failure, unit, period, by_process, samples, lost, unknown, "
        "truncated, max_age_s, warnings, epoch, body, scope, events) "
        "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
    _cleanup_free_ char *warnings = warnings_json(p), *events = events_format(p);
    char names[PROFILE_EVENT_NAMES_BYTES];
    uint64_t end_ns =
        p->start_realtime_ns + (p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0);
    int r;

    profile_event_names(p, names);
    r = store_run(
        s, SQL, CANNOT_WRITE, err, VALUE(id), VALUE(state), VALUE(p->start_realtime_ns),
        VALUE(end_ns), VALUE(names), VALUE(p->target), VALUE(p->symbols), VALUE(schedule),
        VALUE(failure), VALUE(p->events[0].unit), VALUE(p->events[0].period), VALUE(p->by_process),
        VALUE(p->total), VALUE(p->lost), VALUE(p->unknown), VALUE(p->truncated), VALUE(max_age_s),
        VALUE(warnings), body ? VALUE(s->writing->id) : (struct store_value){ 0 },
        body ? store_value_bytes(body) : (struct store_value){ 0 }, VALUE(p->scope), VALUE(events));
    *ret_n = sqlite3_last_insert_rowid(s->db);
    return r;
}

/* Writes the samples of each process, which lists show. */
static int put_processes(struct store *s, const struct profile *p, int64_t n, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    _cleanup_free_ uint64_t *samples = calloc(p->process_count + 1, sizeof(*samples));
    int r = store_prepare(s, "INSERT INTO processes VALUES(?,?,?,?,?,?,?,?)", &stmt, err);

    if (r < 0 || !samples)
        return r < 0 ? r : -ENOMEM;
    for (size_t i = 0; i < p->sample_count; i++)
        samples[p->threads[p->samples[i].thread].process] += p->samples[i].count;
    for (size_t i = 0; i < p->process_count && r == 0; i++) {
        const struct profile_process *process = &p->processes[i];

        if (!samples[i])
            continue;
        sqlite3_reset(stmt);
        store_bind(stmt, VALUE(n), VALUE(process->host_pid),
                   VALUE(intern_get(p->strings, process->name)),
                   VALUE(intern_get(p->strings, process->container)),
                   VALUE(intern_get(p->strings, process->pod)),
                   VALUE(intern_get(p->strings, process->pod_namespace)), VALUE(samples[i]),
                   VALUE(intern_get(p->strings, process->service)));
        if (sqlite3_step(stmt) != SQLITE_DONE)
            r = store_failed(s, err, CANNOT_WRITE);
    }
    return r;
}

int put_additions(struct store *s, struct error *err)
{
    static const char SQL[] =
        "INSERT INTO additions(epoch, seq, body) VALUES(?1,"
        " (SELECT coalesce(max(seq), 0) + 1 FROM additions WHERE epoch = ?1), ?2)";
    _cleanup_buf_ struct buf plain = BUF_UPTO(BLOB_MAX_BYTES), packed = BUF_UPTO(BLOB_MAX_BYTES);
    int r;

    if (!dictionary_has_additions(s->writing))
        return 0;
    dictionary_additions(s->writing, &plain);
    r = plain.error ? plain.error : blob_compress(buf_span(&plain), &packed);
    return r < 0 ? r
                 : store_run(s, SQL, CANNOT_WRITE, err, VALUE(s->writing->id),
                             store_value_bytes(&packed));
}

static int put_whole(struct store *s, const struct profile *p, const char *schedule,
                     uint64_t max_age_s, struct error *err)
{
    _cleanup_buf_ struct buf plain = BUF_UPTO(BLOB_MAX_BYTES), packed = BUF_UPTO(BLOB_MAX_BYTES);
    int64_t n;
    int r = dictionaries_for_writing(s, p->start_realtime_ns, err) ?:
            samples_encode(s->writing, p, &plain) ?:
            blob_compress(buf_span(&plain), &packed) ?:
            put_additions(s, err) ?:
            put_row(s, p, p->id, STORE_DONE, "", schedule, max_age_s, &packed, &n, err) ?:
            put_processes(s, p, n, err);

    return r;
}

int end_transaction(struct store *s, int r, struct error *err)
{
    if (r == 0)
        r = store_exec(s, "COMMIT", err);
    if (r < 0) {
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
        dictionaries_abandon(s);
        s->stats.put_failures++;
        return r;
    }
    if (s->writing)
        dictionary_mark_saved(s->writing);
    s->problem[0] = '\0';
    return 0;
}

int store_put(struct store *s, const struct profile *p, const char *schedule, uint64_t max_age_s,
              struct error *err)
{
    int r;

    store_enter_patiently(s);
    r = store_writable(s, err) ?: store_exec(s, "BEGIN IMMEDIATE", err);
    if (r == 0) {
        r = put_whole(s, p, schedule, max_age_s, err);
        if (r == -ENOSPC && s->writing && sqlite3_errcode(s->db) != SQLITE_FULL) {
            dictionaries_abandon(s); /* -ENOSPC: the dictionary is full, not the disk */
            error_set(err, r, "the store's list of names is full for today");
        }
        r = end_transaction(s, r, err);
    } else {
        s->stats.put_failures++;
    }
    s->stats.puts += r == 0;
    store_leave(s);
    return r;
}

static int put_facts(struct store *s, const char *id, const struct profile *meta,
                     enum store_state state, const char *failure, const char *schedule,
                     struct error *err)
{
    int64_t n;
    int r;

    r = store_enter(s, STORE_WAIT_ENGINE_NS, err);
    if (r < 0)
        return r;
    r = store_writable(s, err) ?: store_exec(s, "BEGIN IMMEDIATE", err);
    if (r == 0) {
        r = put_row(s, meta, id, state, failure, schedule, 0, NULL, &n, err);
        r = end_transaction(s, r, err);
    }
    store_leave(s);
    return r;
}

int store_put_running(struct store *s, const char *id, const struct profile *meta,
                      const char *schedule, struct error *err)
{
    return put_facts(s, id, meta, STORE_RUNNING, "", schedule, err);
}

int store_put_failed(struct store *s, const char *id, const struct profile *meta, const char *why,
                     struct error *err)
{
    return put_facts(s, id, meta, STORE_FAILED, why, NULL, err);
}
