/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, and the upgrade of files of older versions. */
#include "store/store_impl.h"

/* Since version 2: results of the runs of schedules and triggers. */
#define SCHEDULES                                                                                  \
    "CREATE TABLE schedules(name TEXT PRIMARY KEY, last_ns INTEGER NOT NULL,"                      \
    " last_error_ns INTEGER NOT NULL, runs INTEGER NOT NULL, missed INTEGER NOT NULL,"             \
    " unmatched INTEGER NOT NULL, last_id TEXT NOT NULL, last_error TEXT NOT NULL)"                \
    " WITHOUT ROWID;"

/* Since version 3: the scope of a capture. Older captures saw the whole node. */
#define SCOPE "ALTER TABLE captures ADD COLUMN scope TEXT NOT NULL DEFAULT '';"

/* Since version 4: events in the form of store/events.h, "" if name, unit and period suffice. */
#define EVENTS "ALTER TABLE captures ADD COLUMN events TEXT NOT NULL DEFAULT '';"

/* Since version 5: the service of a process, "" if unknown. */
#define SERVICE "ALTER TABLE processes ADD COLUMN service TEXT NOT NULL DEFAULT '';"

/* Since version 6: routes in additions, which earlier readers cannot read. */
#define ROUTES ""

/* The tables of version 1. */
static const char BASE[] =
    "CREATE TABLE epochs(id INTEGER PRIMARY KEY, created_ns INTEGER NOT NULL);"
    /* additions of each capture to its epoch's names and stacks, in order (store/dictionary.h) */
    "CREATE TABLE additions(epoch INTEGER NOT NULL REFERENCES epochs(id) ON DELETE CASCADE,"
    " seq INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY(epoch, seq)) WITHOUT ROWID;"
    "CREATE TABLE captures(n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state INTEGER NOT NULL,"
    " start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, event TEXT NOT NULL, target TEXT NOT "
    "NULL, symbols TEXT NOT NULL, schedule TEXT NOT NULL, failure TEXT NOT NULL, unit TEXT NOT "
    "NULL, period INTEGER NOT NULL, by_process INTEGER NOT NULL, samples INTEGER NOT NULL, lost "
    "INTEGER NOT NULL, unknown INTEGER NOT NULL, truncated INTEGER NOT NULL, max_age_s INTEGER NOT "
    "NULL, warnings TEXT NOT NULL, epoch INTEGER, body BLOB);"
    "CREATE INDEX captures_by_time ON captures(start_ns);"
    "CREATE INDEX captures_by_epoch ON captures(epoch);"
    "CREATE TABLE processes(capture INTEGER NOT NULL REFERENCES captures(n) ON DELETE CASCADE,"
    " pid INTEGER NOT NULL, name TEXT NOT NULL, container TEXT NOT NULL, pod TEXT NOT NULL, "
    "namespace TEXT NOT NULL, samples INTEGER NOT NULL);"
    "CREATE INDEX processes_by_capture ON processes(capture);"
    "CREATE INDEX processes_by_pid ON processes(pid);";

/* Row n brings a file of version n + 1 to version n + 2. */
static const char *const STEPS[] = { SCHEDULES, SCOPE, EVENTS, SERVICE, ROUTES };

/* The tables of the history's own file: see store/history.h. */
static const char HISTORY[] =
    "CREATE TABLE epochs(id INTEGER PRIMARY KEY, created_ns INTEGER NOT NULL);"
    "CREATE TABLE additions(epoch INTEGER NOT NULL REFERENCES epochs(id) ON DELETE CASCADE,"
    " seq INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY(epoch, seq)) WITHOUT ROWID;"
    /* JVMs; a row with pid 0 stands for all other processes of its owner */
    "CREATE TABLE images(n INTEGER PRIMARY KEY, pid INTEGER NOT NULL, start_ticks INTEGER NOT NULL,"
    " exec_no INTEGER NOT NULL, owner INTEGER NOT NULL, name TEXT NOT NULL, container TEXT NOT "
    "NULL, pod TEXT NOT NULL, namespace TEXT NOT NULL, service TEXT NOT NULL, version TEXT NOT "
    "NULL, environment TEXT NOT NULL, java TEXT NOT NULL, flags INTEGER NOT NULL, started_ns "
    "INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, UNIQUE(pid, "
    "start_ticks, exec_no, owner));"
    "CREATE INDEX images_by_service ON images(service, started_ns);"
    "CREATE TABLE parts(n INTEGER PRIMARY KEY, tier INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
    " image INTEGER NOT NULL, rolled INTEGER NOT NULL, bytes INTEGER NOT NULL, sums BLOB NOT NULL, "
    "epoch INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE INDEX parts_by_time ON parts(tier, start_ns, image, rolled, bytes);"
    "CREATE INDEX parts_by_epoch ON parts(epoch);"
    /* when the recorder ran; time in no row is a gap */
    "CREATE TABLE minutes(n INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, end_ns INTEGER NOT "
    "NULL, lost INTEGER NOT NULL);"
    "CREATE INDEX minutes_by_time ON minutes(start_ns);"
    "CREATE TABLE marks(n INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " image INTEGER NOT NULL, text TEXT NOT NULL);"
    "CREATE INDEX marks_by_time ON marks(time_ns);";

/* Since version 2: attributes in the form of profiles. Older rows get their environment. */
#define ATTRIBUTES                                                                                 \
    "ALTER TABLE images ADD COLUMN attributes TEXT NOT NULL DEFAULT '';"                           \
    "UPDATE images SET attributes = 'deployment.environment.name=' || environment || char(10)"     \
    " WHERE environment != '';"

/* Since version 3: the value of a mark, 0 if it has none. */
#define MARK_VALUES "ALTER TABLE marks ADD COLUMN value REAL NOT NULL DEFAULT 0;"

/* Since version 4: a body may have the requests of its rows, which earlier readers cannot read. */
#define REQUESTS ""

/* Since version 5: pauses and throttling by minute. */
#define STOPS                                                                                      \
    "CREATE TABLE stops(start_ns INTEGER NOT NULL, image INTEGER NOT NULL, pauses INTEGER NOT "    \
    "NULL, pause_ns INTEGER NOT NULL, throttled_ns INTEGER NOT NULL, PRIMARY KEY(start_ns, "       \
    "image)) WITHOUT ROWID;"

/* Since version 7: an index with the user, so that many JVMs of other users do not delay the search
 * for the last JVM of a service. */
#define PLACES                                                                                     \
    "DROP INDEX images_by_service;"                                                                \
    "CREATE INDEX images_by_place ON images(service, owner, namespace, started_ns)"                \
    " WHERE java != '';"

/* Since version 8: the payer of a JVM; 0: not known. */
#define PAYERS "ALTER TABLE images ADD COLUMN payer INTEGER NOT NULL DEFAULT 0;"

/* Since version 9: the options of a JVM; '': not known. */
#define OPTIONS "ALTER TABLE images ADD COLUMN options TEXT NOT NULL DEFAULT '';"

static const char *const HISTORY_STEPS[] = {
    ATTRIBUTES, MARK_VALUES, REQUESTS, STOPS, ROUTES /* since version 6 */, PLACES, PAYERS, OPTIONS
};

/* The statements that make the newest version of a file, by its kind. */
static const struct schema {
    int version;
    const char *base;         /* of version 1 */
    const char *const *steps; /* [version - 1] */
} SCHEMAS[] = {
    [STORE_CAPTURES] = { ARRAY_SIZE(STEPS) + 1, BASE, STEPS },
    [STORE_HISTORY] = { ARRAY_SIZE(HISTORY_STEPS) + 1, HISTORY, HISTORY_STEPS },
};

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

static bool same_row(sqlite3_stmt *a, sqlite3_stmt *b)
{
    for (int i = 0; i < sqlite3_column_count(a); i++) {
        if (strcmp(store_text(a, i), store_text(b, i)) != 0)
            return false;
    }
    return true;
}

/* Returns true if @db has the tables and indexes of @own, with the same text, and nothing else. */
static bool is_like(sqlite3 *db, sqlite3 *own)
{
    static const char LIST[] = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name";
    _cleanup_stmt_ sqlite3_stmt *theirs = NULL, *ours = NULL;
    int a, b;

    if (sqlite3_prepare_v2(db, LIST, -1, &theirs, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(own, LIST, -1, &ours, NULL) != SQLITE_OK)
        return false;
    do {
        a = sqlite3_step(theirs);
        b = sqlite3_step(ours);
    } while (a == SQLITE_ROW && b == SQLITE_ROW && same_row(theirs, ours));
    return a == SQLITE_DONE && b == SQLITE_DONE;
}

/* Returns true if @db has the tables of @version (0: none), and nothing else. */
static bool schema_is_of(sqlite3 *db, const struct schema *schema, int version)
{
    sqlite3 *own = NULL;
    int r = sqlite3_open_v2(
        ":memory:", &own, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL);
    bool same;

    if (r == SQLITE_OK && version > 0)
        r = sqlite3_exec(own, schema->base, NULL, NULL, NULL);
    for (int v = 1; v < version && r == SQLITE_OK; v++)
        r = sqlite3_exec(own, schema->steps[v - 1], NULL, NULL, NULL);
    same = r == SQLITE_OK && is_like(db, own);
    sqlite3_close(own);
    return same;
}

bool schema_is_ours(sqlite3 *db, enum store_kind kind)
{
    return schema_is_of(db, &SCHEMAS[kind], SCHEMAS[kind].version);
}

/* Upgrades the file from @version (0: empty), whole or not at all. A file stays as it is if its
 * tables do not match its version. */
static int schema_raise(struct store *s, const struct schema *schema, int version,
                        struct error *err)
{
    char sql[64];
    int r = store_exec(s, "BEGIN IMMEDIATE", err);

    if (r == 0 && !schema_is_of(s->db, schema, version))
        r = SCHEMA_FOREIGN;
    if (r == 0 && version == 0)
        r = store_exec(s, schema->base, err);
    for (int v = MAX(version, 1); r == 0 && v < schema->version; v++)
        r = store_exec(s, schema->steps[v - 1], err);
    snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", schema->version);
    if (r == 0)
        r = store_exec(s, sql, err);
    if (r == 0)
        return store_exec(s, "COMMIT", err);
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

int schema_prepare(struct store *s, struct error *err)
{
    const struct schema *schema = &SCHEMAS[s->opts.kind];
    int version = 0;
    int r = store_exec(
        s,
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;PRAGMA synchronous = NORMAL; "
        "PRAGMA foreign_keys = ON;PRAGMA wal_autocheckpoint = 256; PRAGMA journal_size_limit = "
        "4194304;PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;PRAGMA cache_size = "
        "-4096; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0",
        err);

    if (r == 0)
        r = schema_version(s, &version, err);
    if (r < 0)
        return r;
    if (version < 0 || version > schema->version)
        return SCHEMA_NEWER;
    if (version < schema->version)
        return schema_raise(s, schema, version, err);
    return schema_is_ours(s->db, s->opts.kind) ? 0 : SCHEMA_FOREIGN;
}
