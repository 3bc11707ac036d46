/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite statements, and SQLite's errors as sentences. */
#include "store/store_impl.h"

/* Does as store_failed() for error @code of SQLite, which says @text. @closed: the connection that
 * failed is in use no more, so the store has no problem. */
static int failed(struct store *s, int code, const char *text, bool closed, struct error *err,
                  const char *what)
{
    int primary = code & 0xff, r = -EIO;
    const char *remedy = NULL;

    /* SQLITE_IOERR_SHMSIZE: SQLite found no room for the index of its log. */
    if (primary == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE) {
        r = -ENOSPC;
        remedy = "free disk space, or lower store_max_bytes; flamed writes again by itself";
    } else if (primary == SQLITE_READONLY || primary == SQLITE_CANTOPEN || primary == SQLITE_PERM) {
        r = -EROFS;
        remedy = "make the store's folder writable for flamed's user; flamed then writes by itself";
    } else if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) {
        r = -EBADMSG;
        remedy = "move the file away, and those beside it: flamed begins a new one by itself";
        if (!closed)
            s->writable = false; /* so a later write opens the file again */
    } else if (primary == SQLITE_NOMEM) {
        r = -ENOMEM;
    } else if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
        r = -EBUSY;
        remedy = "end the other program that has the file open";
    }
    error_set(err, r, "%s: %s (%s)", what, text, s->path);
    if (remedy)
        error_remedy(err, "%s", remedy);
    if (!closed)
        snprintf(s->problem, sizeof(s->problem), "%s: %.80s; %s", what, text,
                 remedy ? remedy : "flamed tries again by itself");
    return r;
}

int store_failed(struct store *s, struct error *err, const char *what)
{
    return failed(s, sqlite3_extended_errcode(s->db), sqlite3_errmsg(s->db), /* closed= */ false,
                  err, what);
}

int store_step(struct store *s, sqlite3_stmt *stmt, const char *what, struct error *err)
{
    int step = sqlite3_step(stmt);

    if (step == SQLITE_ROW || step == SQLITE_DONE)
        return step == SQLITE_ROW;
    if (sqlite3_db_handle(stmt) == s->db)
        return store_failed(s, err, what);
    /* the connection does not know its error any more */
    return failed(s, step, sqlite3_errstr(step), /* closed= */ true, err, what);
}

int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret, struct error *err)
{
    if (!s->db)
        return error_set(err, -ENODEV, "the store is not open: %.200s", s->problem);
    if (sqlite3_prepare_v2(s->db, sql, -1, ret, NULL) != SQLITE_OK)
        return store_failed(s, err, "cannot use the store");
    return 0;
}

struct store_value store_value_number(int64_t v)
{
    return (struct store_value){ .kind = STORE_NUMBER, .number = v };
}

struct store_value store_value_unsigned(uint64_t v)
{
    return store_value_number((int64_t)v);
}

struct store_value store_value_real(double v)
{
    return (struct store_value){ .kind = STORE_REAL, .real = v };
}

struct store_value store_value_text(const char *text)
{
    return store_value_span(text ? span_of(text) : SPAN_NULL);
}

struct store_value store_value_span(struct span text)
{
    return (struct store_value){ .kind = STORE_TEXT, .bytes = text };
}

struct store_value store_value_bytes(const struct buf *b)
{
    return (struct store_value){ .kind = STORE_BYTES, .bytes = buf_span(b) };
}

void store_bind_values(sqlite3_stmt *stmt, const struct store_value *values, size_t n)
{
    for (int i = 0; i < (int)n; i++) {
        const struct store_value *v = &values[i];

        if (v->kind == STORE_NUMBER)
            sqlite3_bind_int64(stmt, i + 1, v->number);
        else if (v->kind == STORE_REAL)
            sqlite3_bind_double(stmt, i + 1, v->real);
        else if (v->kind == STORE_TEXT)
            sqlite3_bind_text(stmt, i + 1, v->bytes.n ? v->bytes.p : "", (int)v->bytes.n,
                              SQLITE_TRANSIENT);
        else if (v->kind == STORE_BYTES)
            sqlite3_bind_blob64(stmt, i + 1, v->bytes.p, v->bytes.n, SQLITE_STATIC);
        else
            sqlite3_bind_null(stmt, i + 1);
    }
}

int store_query_values(struct store *s, const char *sql, sqlite3_stmt **ret, struct error *err,
                       const struct store_value *values, size_t n)
{
    int r = store_prepare(s, sql, ret, err);

    if (r == 0)
        store_bind_values(*ret, values, n);
    return r;
}

int store_run_values(struct store *s, const char *sql, const char *failure, struct error *err,
                     const struct store_value *values, size_t n)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_query_values(s, sql, &stmt, err, values, n);

    return r < 0 || sqlite3_step(stmt) == SQLITE_DONE ? r : store_failed(s, err, failure);
}

int store_exec(struct store *s, const char *sql, struct error *err)
{
    if (!s->db)
        return error_set(err, -ENODEV, "the store is not open: %.200s", s->problem);
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return store_failed(s, err, "cannot use the store");
    return 0;
}
