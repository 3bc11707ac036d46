/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the store; its lock, problems and counters. */
#include "store/store_impl.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "store/folder.h"

#include <sys/random.h>

#define STORE_BUSY_MS 2000
#define STORE_WAIT_STATS_NS (NSEC_PER_SEC / 5)

const char *store_text(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    return text ? text : "";
}

/* ---- taking turns ---- */

static unsigned stalled_s(struct store *s)
{
    uint64_t since = atomic_load(&s->entered_ns), now = clock_monotonic_ns();

    return since && now > since + STORE_WAIT_NS ? (unsigned)((now - since) / NSEC_PER_SEC) : 0;
}

#define STALLED "the disk of %.80s has kept the store busy for %u s"
#define STALLED_REMEDY                                                                             \
    "see the system's log for the disk, or name another folder with --store; "                     \
    "profiles are answered from memory until then"

int store_enter(struct store *s, uint64_t max_ns, struct error *err)
{
    uint64_t until = clock_monotonic_ns() + (stalled_s(s) ? 0 : max_ns);

    if (clock_lock(&s->lock, until)) {
        atomic_store(&s->entered_ns, clock_monotonic_ns());
        return 0;
    }
    if (stalled_s(s))
        error_set(err, -EBUSY, STALLED, s->opts.dir, stalled_s(s));
    else
        error_set(err, -EBUSY, "the store %.80s was busy for %u s", s->opts.dir,
                  (unsigned)(max_ns / NSEC_PER_SEC));
    error_remedy(err, STALLED_REMEDY);
    return -EBUSY;
}

void store_enter_patiently(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->entered_ns, clock_monotonic_ns());
}

/* Copies the problem and the counters for callers that do not take the lock. The lock of @s is
 * held. */
static void store_tell(struct store *s)
{
    LOCK_SCOPE(&s->told.lock);

    memcpy(s->told.problem, s->problem, sizeof(s->problem));
    s->told.stats = s->stats;
}

void store_leave(struct store *s)
{
    store_tell(s);
    atomic_store(&s->entered_ns, 0);
    pthread_mutex_unlock(&s->lock);
}

/* ---- opening ---- */

/* Marks captures as failed that ran when flamed ended. */
static int store_fail_interrupted(struct store *s, struct error *err)
{
    char sql[256];

    snprintf(
        sql, sizeof(sql),
        "UPDATE captures SET state = %d, failure = 'flamed ended while it ran' WHERE state = %d",
        STORE_FAILED, STORE_RUNNING);
    return store_exec(s, sql, err);
}

/* Closes the connection. If a reader between two of its turns still has a statement of it, the last
 * such statement closes it. */
static void store_close_db(struct store *s)
{
    sqlite3_close_v2(TAKE_PTR(s->db));
}

/* Opens the file for reading only, as it cannot be written to now. If SQLite has no place for the
 * index of its log, the log is ignored. With @shared it is not, as another program may write. */
static void store_open_readable(struct store *s, bool shared)
{
    _cleanup_buf_ struct buf uri = BUF_NULL;
    const char *modes[] = { "?mode=ro", "?immutable=1" };

    for (size_t i = 0; i < (shared ? 1 : ARRAY_SIZE(modes)); i++) {
        store_close_db(s);
        buf_deinit(&uri);
        buf_init(&uri, 3 * sizeof(s->path) + 32);
        buf_add_str(&uri, "file:");
        for (const char *c = s->path; *c; c++)
            buf_printf(&uri, *c == '%' || *c == '?' || *c == '#' ? "%%%02x" : "%c", *c);
        buf_add_str(&uri, modes[i]);
        if (!uri.error &&
            sqlite3_open_v2(uri.p, &s->db,
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX,
                            NULL) == SQLITE_OK &&
            schema_is_ours(s->db, s->opts.kind) &&
            sqlite3_exec(s->db, "SELECT count(*) FROM epochs", NULL, NULL, NULL) == SQLITE_OK)
            return;
    }
    store_close_db(s);
}

/* Closes a file of a newer version or with other tables, as SQL in it could run. */
static void store_refuse_schema(struct store *s)
{
    if (s->newer)
        snprintf(s->problem, sizeof(s->problem),
                 "the store %.80s was written by a newer flamed: nothing is stored; run that "
                 "version, or name another folder with --store",
                 s->path);
    else
        snprintf(s->problem, sizeof(s->problem),
                 "the tables in the store %.80s are not those that flamed makes: move the file "
                 "away, and those beside it, and flamed begins a new one by itself",
                 s->path);
    store_close_db(s);
}

static void store_open_db(struct store *s)
{
    struct error err = ERROR_NULL;
    int r = 0;

    s->reopened_ns = clock_monotonic_ns();
    snprintf(s->path, sizeof(s->path), "%s/%s", s->opts.dir,
             s->opts.kind == STORE_HISTORY ? STORE_FILE_HISTORY : STORE_FILE);
    if (sqlite3_open_v2(s->path, &s->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                        NULL) != SQLITE_OK) {
        store_failed(s, &err, "cannot open the store");
        store_close_db(s);
        return;
    }
    sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
    r = schema_prepare(s, &err);
    s->newer = r == SCHEMA_NEWER;
    if (r > 0) {
        store_refuse_schema(s);
        return;
    }
    if (r == 0 && s->opts.kind == STORE_CAPTURES)
        r = store_fail_interrupted(s, &err);
    s->writable = r == 0;
    s->openings += s->writable;
    if (s->writable)
        s->problem[0] = '\0';
    else if (r == -EROFS || r == -ENOSPC || r == -EBUSY)
        store_open_readable(s, r == -EBUSY);
    else
        store_close_db(s);
}

int store_writable(struct store *s, struct error *err)
{
    if (!s->writable && !s->newer && clock_monotonic_ns() - s->reopened_ns >= STORE_REOPEN_NS) {
        dictionaries_forget_all(s);
        store_close_db(s);
        store_open_db(s);
    }
    if (s->writable)
        return 0;
    return error_set(err, -EROFS, "nothing can be stored: %.250s", s->problem);
}

int store_open(const struct store_opts *o, struct store **ret, struct error *err)
{
    struct store *s = calloc(1, sizeof(*s));

    if (!s)
        return error_set(err, -ENOMEM, "not enough memory for the store");
    s->opts = *o;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->told.lock, NULL);
    store_open_db(s);
    store_tell(s);
    *ret = s;
    return 0;
}

struct store *store_close(struct store *s)
{
    if (!s)
        return NULL;
    dictionaries_forget_all(s);
    store_close_db(s);
    pthread_mutex_destroy(&s->told.lock);
    pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}

void store_problem(struct store *s, char *buf, size_t size)
{
    unsigned stalled = stalled_s(s);

    if (stalled) {
        snprintf(buf, size, STALLED "; " STALLED_REMEDY, s->opts.dir, stalled);
        return;
    }
    LOCK_SCOPE(&s->told.lock);
    snprintf(buf, size, "%s", s->told.problem);
}

void store_new_id(char ret[STORE_ID_BYTES])
{
    uint64_t words[2] = { 0 };

    if (getrandom(words, sizeof(words), 0) !=
        sizeof(words)) { /* cannot happen on a kernel that runs flamed */
        words[0] = clock_realtime_ns();
        words[1] = clock_monotonic_ns();
    }
    snprintf(ret, STORE_ID_BYTES, "%016llx%016llx", (unsigned long long)words[0],
             (unsigned long long)words[1]);
}

int store_number(struct store *s, const char *sql, uint64_t *ret, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_prepare(s, sql, &stmt, err);

    if (r == 0)
        r = store_step(s, stmt, "cannot read the store", err);
    if (r < 0)
        return r;
    *ret = r > 0 ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
    return 0;
}

/* Gets the size of the file, and the bytes of its free pages. */
static int read_sizes(struct store *s, uint64_t *ret_bytes, uint64_t *ret_free, struct error *err)
{
    uint64_t pages, free_pages, page_bytes;
    int r = store_number(s, "PRAGMA page_count", &pages, err) ?:
            store_number(s, "PRAGMA freelist_count", &free_pages, err) ?:
            store_number(s, "PRAGMA page_size", &page_bytes, err);

    if (r < 0)
        return r;
    *ret_bytes = pages * page_bytes;
    *ret_free = free_pages * page_bytes;
    return 0;
}

int store_file_bytes(struct store *s, uint64_t *ret, struct error *err)
{
    uint64_t unused;

    return read_sizes(s, ret, &unused, err);
}

int store_bytes_in_use(struct store *s, uint64_t *ret, struct error *err)
{
    uint64_t bytes, unused;
    int r = read_sizes(s, &bytes, &unused, err);

    if (r == 0)
        *ret = bytes - MIN(unused, bytes);
    return r;
}

void store_stats(struct store *s, struct store_stats *ret)
{
    if (store_enter(s, STORE_WAIT_STATS_NS, NULL) < 0) {
        pthread_mutex_lock(&s->told.lock);
        *ret = s->told.stats;
        pthread_mutex_unlock(&s->told.lock);
        return;
    }
    store_file_bytes(s, &s->stats.bytes, NULL);
    store_number(s, "SELECT count(*) FROM captures", &s->stats.captures, NULL);
    store_number(s, "SELECT min(start_ns) FROM captures", &s->stats.oldest_ns, NULL);
    s->stats.names_bytes = dictionaries_bytes(s);
    *ret = s->stats;
    store_leave(s);
}
