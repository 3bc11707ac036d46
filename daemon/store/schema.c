/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, and what to do with a file that is of another version. */
#include "store/store_impl.h"

static const char SCHEMA[] =
    "CREATE TABLE epochs(id INTEGER PRIMARY KEY, created_ns INTEGER NOT NULL);"
    /* what each capture added to its epoch's names and stacks, in order (store/epoch.h) */
    "CREATE TABLE additions(epoch INTEGER NOT NULL REFERENCES epochs(id) ON DELETE CASCADE,"
    " seq INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY(epoch, seq)) WITHOUT ROWID;"
    "CREATE TABLE captures(n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state INTEGER NOT NULL,"
    " start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, event TEXT NOT NULL, target TEXT NOT "
    "NULL,"
    " symbols TEXT NOT NULL, schedule TEXT NOT NULL, failure TEXT NOT NULL, unit TEXT NOT NULL,"
    " period INTEGER NOT NULL, by_process INTEGER NOT NULL, samples INTEGER NOT NULL,"
    " lost INTEGER NOT NULL, unknown INTEGER NOT NULL, truncated INTEGER NOT NULL,"
    " max_age_s INTEGER NOT NULL, warnings TEXT NOT NULL, epoch INTEGER, body BLOB);"
    "CREATE INDEX captures_by_time ON captures(start_ns);"
    "CREATE INDEX captures_by_epoch ON captures(epoch);"
    "CREATE TABLE processes(capture INTEGER NOT NULL REFERENCES captures(n) ON DELETE CASCADE,"
    " pid INTEGER NOT NULL, name TEXT NOT NULL, container TEXT NOT NULL, pod TEXT NOT NULL,"
    " namespace TEXT NOT NULL, samples INTEGER NOT NULL);"
    "CREATE INDEX processes_by_capture ON processes(capture);"
    "CREATE INDEX processes_by_pid ON processes(pid);";

static int schema_version(struct store *s, int *ret, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_prepare(s, "PRAGMA user_version", &stmt, err);

    if (r < 0)
        return r;
    if (sqlite3_step(stmt) != SQLITE_ROW)
        return store_failed(s, err, "cannot read the store's version");
    *ret = sqlite3_column_int(stmt, 0);
    return 0;
}

static int schema_create(struct store *s, struct error *err)
{
    char version[64];
    int r;

    snprintf(version, sizeof(version), "PRAGMA user_version = %d", STORE_SCHEMA);
    r = store_exec(s, "BEGIN IMMEDIATE", err);
    if (r == 0)
        r = store_exec(s, SCHEMA, err);
    if (r == 0)
        r = store_exec(s, version, err);
    if (r == 0)
        return store_exec(s, "COMMIT", err);
    store_exec(s, "ROLLBACK", NULL);
    return r;
}

int schema_prepare(struct store *s, struct error *err)
{
    int version = 0;
    int r =
        store_exec(s,
                   "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
                   "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
                   "PRAGMA wal_autocheckpoint = 256; PRAGMA journal_size_limit = 4194304;"
                   "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                   "PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0",
                   err);

    if (r == 0)
        r = schema_version(s, &version, err);
    if (r < 0)
        return r;
    if (version == 0)
        return schema_create(s, err);
    return version == STORE_SCHEMA ? 0 : 1;
}
