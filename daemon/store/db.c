/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite statements, and SQLite's errors as sentences. */
#include "store/store_impl.h"

int store_failed(struct store *s, struct error *err, const char *what)
{
    int code = sqlite3_extended_errcode(s->db), primary = code & 0xff, r = -EIO;
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
        s->writable = false; /* a later write opens the file again */
    } else if (primary == SQLITE_NOMEM) {
        r = -ENOMEM;
    } else if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
        r = -EBUSY;
        remedy = "end the other program that has the file open";
    }
    error_set(err, r, "%s: %s (%s)", what, sqlite3_errmsg(s->db), s->path);
    if (remedy)
        error_remedy(err, "%s", remedy);
    snprintf(s->problem, sizeof(s->problem), "%s: %.80s; %s", what, sqlite3_errmsg(s->db),
             remedy ? remedy : "flamed tries again by itself");
    return r;
}

int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret, struct error *err)
{
    if (!s->db)
        return error_set(err, -EIO, "the store is not open: %.200s", s->problem);
    if (sqlite3_prepare_v2(s->db, sql, -1, ret, NULL) != SQLITE_OK)
        return store_failed(s, err, "cannot use the store");
    return 0;
}

int store_exec(struct store *s, const char *sql, struct error *err)
{
    if (!s->db)
        return error_set(err, -EIO, "the store is not open: %.200s", s->problem);
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return store_failed(s, err, "cannot use the store");
    return 0;
}
