/* SPDX-License-Identifier: Apache-2.0 */
/* The results of the runs of schedules and triggers, one row for each name. */
#include "store/store_impl.h"

int store_put_runs(struct store *s, const char *name, const struct store_runs *h, struct error *err)
{
    int r;

    store_enter_patiently(s);
    r = store_writable(s, err);
    if (r == 0)
        r = store_run(s, "INSERT OR REPLACE INTO schedules VALUES(?,?,?,?,?,?,?,?)",
                      "cannot write to the store", err, VALUE(name), VALUE(h->last_ns),
                      VALUE(h->last_error_ns), VALUE(h->runs), VALUE(h->missed),
                      VALUE(h->unmatched), VALUE(h->last_id), VALUE(h->last_error));
    store_leave(s);
    return r;
}

static void take_row(sqlite3_stmt *stmt, struct store_runs *ret)
{
    *ret = (struct store_runs){
        .last_ns = (uint64_t)sqlite3_column_int64(stmt, 0),
        .last_error_ns = (uint64_t)sqlite3_column_int64(stmt, 1),
        .runs = (uint64_t)sqlite3_column_int64(stmt, 2),
        .missed = (uint64_t)sqlite3_column_int64(stmt, 3),
        .unmatched = (uint64_t)sqlite3_column_int64(stmt, 4),
    };
    snprintf(ret->last_id, sizeof(ret->last_id), "%s", store_text(stmt, 5));
    snprintf(ret->last_error, sizeof(ret->last_error), "%s", store_text(stmt, 6));
}

int store_get_runs(struct store *s, const char *name, struct store_runs *ret, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int r;

    r = store_enter(s, STORE_WAIT_ENGINE_NS, err);
    if (r < 0)
        return r;
    r = store_query(s,
                    "SELECT last_ns, last_error_ns, runs, missed, unmatched, last_id, last_error"
                    " FROM schedules WHERE name = ?",
                    &stmt, err, VALUE(name));
    if (r == 0) {
        r = store_step(s, stmt, "cannot read the store", err);
        if (r > 0)
            take_row(stmt, ret);
        r = r == 0 ? STORE_NOT_FOUND : MIN(r, 0);
    }
    sqlite3_finalize(stmt);
    store_leave(s);
    return r;
}
