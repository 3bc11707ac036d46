/* SPDX-License-Identifier: Apache-2.0 */
/* Drops captures one by one, epochs with their last capture, and free pages of the file. */
#include "store/store_impl.h"

#include <sched.h>

#define RETAIN_ROUNDS_MAX 1000  /* captures dropped by size in one call */
#define RETAIN_ROW_BYTES "1024" /* bytes of a capture without samples: facts, processes */
/* Shares (1/n) of the store for captures of users who see only a part of the node: for one scope,
 * and for all scopes together. The rest is reserved for users who see the whole node. */
#define RETAIN_SHARE 4
#define RETAIN_SHARE_OF_ALL 2

/* Drops epochs without captures, except the newest, which is being written. */
static int drop_empty_epochs(struct store *s, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_prepare(s,
                          "DELETE FROM epochs WHERE id < (SELECT max(id) FROM epochs)"
                          " AND NOT EXISTS (SELECT 1 FROM captures WHERE epoch = epochs.id)"
                          " RETURNING id",
                          &stmt, err);

    if (r < 0)
        return r;
    while ((r = store_step(s, stmt, "cannot drop old captures", err)) > 0)
        dictionaries_forget(s, sqlite3_column_int64(stmt, 0));
    return r;
}

static int drop_by_age(struct store *s, uint64_t now_ns, struct error *err)
{
    int r = store_run(s,
                      "DELETE FROM captures WHERE"
                      " (max_age_s > 0 AND end_ns < ?1 - max_age_s * 1000000000)"
                      " OR (max_age_s = 0 AND ?2 > 0 AND end_ns < ?1 - ?2 * 1000000000)",
                      "cannot drop old captures", err, VALUE(now_ns), VALUE(s->opts.max_age_s));

    if (r < 0)
        return r;
    s->stats.dropped_by_age += (uint64_t)sqlite3_changes(s->db);
    return 0;
}

#define OF_SCOPE "sum(coalesce(length(body), 0) + " RETAIN_ROW_BYTES ")"

/* Drops the oldest captures of the scope with the most bytes, if it exceeds its share, or all
 * scopes together exceed theirs. Captures of users who see the whole node have no scope.
 * *ret_dropped: their number. Returns 0 or -errno. */
static int drop_of_scope(struct store *s, int *ret_dropped, struct error *err)
{
    int r = store_run(s,
                      "WITH scopes AS (SELECT scope, " OF_SCOPE " AS bytes FROM captures"
                      " WHERE scope != '' GROUP BY scope)"
                      " DELETE FROM captures WHERE n IN (SELECT n FROM captures WHERE state != 0"
                      " AND scope = (SELECT scope FROM scopes WHERE bytes > ?1"
                      " OR (SELECT sum(bytes) FROM scopes) > ?2 ORDER BY bytes DESC LIMIT 1)"
                      " ORDER BY start_ns, n LIMIT 16)",
                      "cannot drop old captures", err, VALUE(s->opts.max_bytes / RETAIN_SHARE),
                      VALUE(s->opts.max_bytes / RETAIN_SHARE_OF_ALL));

    if (r < 0)
        return r;
    *ret_dropped = sqlite3_changes(s->db);
    return 0;
}

/* Drops the oldest captures if the file is too large. Returns 1 (it may still be too large), 0 or
 * -errno. */
static int drop_by_size(struct store *s, struct error *err)
{
    uint64_t bytes;
    int r, dropped = 0;

    if (!s->writable || !s->opts.max_bytes)
        return 0;
    r = store_bytes_in_use(s, &bytes, err);
    if (r < 0 || bytes <= s->opts.max_bytes)
        return r;
    r = drop_of_scope(s, &dropped, err);
    if (r == 0 && !dropped) {
        r = store_exec(s,
                       "DELETE FROM captures WHERE n IN (SELECT n FROM captures WHERE state != 0"
                       " ORDER BY start_ns, n LIMIT 16)",
                       err);
        dropped = r < 0 ? 0 : sqlite3_changes(s->db);
    }
    if (r < 0)
        return r;
    s->stats.dropped_by_size += (uint64_t)dropped;
    r = dropped ? drop_empty_epochs(s, err) : 0;
    return r < 0 ? r : dropped > 0;
}

static int retain_by_age(struct store *s, uint64_t now_ns, struct error *err)
{
    int r = now_ns ? drop_by_age(s, now_ns, err) : 0;

    return r == 0 ? drop_empty_epochs(s, err) : r;
}

int store_retain(struct store *s, uint64_t now_ns, struct error *err)
{
    int r;

    store_enter_patiently(s);
    dictionaries_forget_unused(s);
    r = s->writable ? retain_by_age(s, now_ns, err) : 0;
    for (int i = 0; r >= 0 && i < RETAIN_ROUNDS_MAX; i++) {
        r = drop_by_size(s, err);
        if (r <= 0)
            break;
        store_leave(s);
        sched_yield(); /* let other threads take the lock */
        store_enter_patiently(s);
    }
    if (r >= 0 && s->writable)
        r = store_exec(s, "PRAGMA incremental_vacuum(1000)", err);
    store_leave(s);
    return MIN(r, 0);
}

/* Deletes capture @id and leaves the store, which the caller has entered. */
static int delete_and_leave(struct store *s, const char *id, struct error *err)
{
    int r = store_run(s, "DELETE FROM captures WHERE id = ?", "cannot delete the capture", err,
                      VALUE(id));

    if (r == 0 && sqlite3_changes(s->db) == 0)
        r = STORE_NOT_FOUND;
    if (r == 0)
        drop_empty_epochs(s, NULL);
    store_leave(s);
    return r;
}

int store_delete(struct store *s, const char *id, struct error *err)
{
    int r = store_enter(s, STORE_WAIT_NS, err);

    return r < 0 ? r : delete_and_leave(s, id, err);
}

void store_delete_patiently(struct store *s, const char *id)
{
    store_enter_patiently(s);
    delete_and_leave(s, id, NULL);
}
