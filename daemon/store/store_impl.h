/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of store/ share. Call all functions with store->lock held, unless
 * said otherwise. */
#pragma once

#include "store/dictionary.h"
#include "store/store.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#define STORE_REOPEN_NS (10 * NSEC_PER_SEC)
#define STORE_EPOCHS_CACHED 2
/* How long store_enter() waits for the lock. ENGINE: if the engine may be the caller. If a holder
 * keeps the lock for longer than STORE_WAIT_NS, the disk is stalled, and callers are refused at
 * once. */
#define STORE_WAIT_NS (5 * NSEC_PER_SEC)
#define STORE_WAIT_ENGINE_NS (2 * NSEC_PER_SEC)

struct store {
    struct store_opts opts;
    char path[4096];
    pthread_mutex_t lock;
    sqlite3 *db;                /* NULL if it could not be opened at all */
    bool writable;              /* stays true after a failed write that may work again */
    bool newer;                 /* written by a newer flamed: not opened */
    uint64_t reopened_ns;       /* CLOCK_MONOTONIC: last try to open for writing */
    unsigned openings;          /* how often it was opened for writing */
    char problem[256];          /* problem of the opening or of the last write; "": none */
    struct dictionary *writing; /* the dictionary of puts; NULL: not chosen yet */
    struct dictionary
        *cached[STORE_EPOCHS_CACHED]; /* most recently read first; never the dictionary of puts */
    struct store_stats stats;
    _Atomic uint64_t entered_ns; /* CLOCK_MONOTONIC: when the lock was taken; 0: free */
    struct {
        pthread_mutex_t lock; /* held for a copy only */
        char problem[256];
        struct store_stats stats;
    } told; /* copies for readers without the lock of the store */
};

/* Takes the lock within @max_ns: a disk may stall for long. Returns 0, or -EBUSY with the
 * sentence. */
int store_enter(struct store *s, uint64_t max_ns, struct error *err);
/* Takes the lock without a time limit. Only for threads that no other thread waits for. */
void store_enter_patiently(struct store *s);
void store_leave(struct store *s);

/* Prepares a statement, which its cleanup finalises. Returns 0 or -errno with SQLite's error in
 * @err. */
int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret, struct error *err);
/* A value for a parameter of a statement. VALUE() makes a value of a number or of a text; a NULL
 * text counts as "". VALUE_OR_NULL() makes SQL's NULL of a NULL text. Texts and bytes are
 * borrowed. */
struct store_value {
    enum { STORE_NULL, STORE_NUMBER, STORE_REAL, STORE_TEXT, STORE_BYTES } kind;
    int64_t number;
    double real;
    struct span bytes;
};
struct store_value store_value_number(int64_t v);
struct store_value store_value_unsigned(uint64_t v);
struct store_value store_value_real(double v);
struct store_value store_value_text(const char *text);
struct store_value store_value_span(struct span text);
struct store_value store_value_bytes(const struct buf *b);
#define VALUE(v)                                                                                   \
    _Generic((v), uint64_t                                                                         \
             : store_value_unsigned, double                                                        \
             : store_value_real, char *                                                            \
             : store_value_text, const char *                                                      \
             : store_value_text, struct span                                                       \
             : store_value_span, default                                                           \
             : store_value_number)(v)
#define VALUE_OR_NULL(text) ((text) ? store_value_text(text) : (struct store_value){ 0 })
#define STORE_VALUES_(...)                                                                         \
    (const struct store_value[]){ __VA_ARGS__ }, ARRAY_SIZE(((struct store_value[]){ __VA_ARGS__ }))

/* Binds values to the parameters of @stmt, from the first on. */
#define store_bind(stmt, ...) store_bind_values(stmt, STORE_VALUES_(__VA_ARGS__))
void store_bind_values(sqlite3_stmt *stmt, const struct store_value *values, size_t n);
/* Does as store_prepare(), and binds values. */
#define store_query(s, sql, ret, err, ...)                                                         \
    store_query_values(s, sql, ret, err, STORE_VALUES_(__VA_ARGS__))
int store_query_values(struct store *s, const char *sql, sqlite3_stmt **ret, struct error *err,
                       const struct store_value *values, size_t n);
/* Runs a statement that has values and no result. @failure: what the sentence of an error begins
 * with. 0 or -errno with @err. */
#define store_run(s, sql, failure, err, ...)                                                       \
    store_run_values(s, sql, failure, err, STORE_VALUES_(__VA_ARGS__))
int store_run_values(struct store *s, const char *sql, const char *failure, struct error *err,
                     const struct store_value *values, size_t n);
/* Runs statements without a result. */
int store_exec(struct store *s, const char *sql, struct error *err);
/* Turns SQLite's last error into a sentence and a negative errno. The sentence also becomes the
 * store's problem. */
int store_failed(struct store *s, struct error *err, const char *what);
/* Makes a step of @stmt. Returns 1 (a row), 0 (no more rows), or -errno with a sentence that begins
 * with @what. The connection of @stmt may be closed, as the file was opened again. Then the store
 * has no problem. */
int store_step(struct store *s, sqlite3_stmt *stmt, const char *what, struct error *err);
static inline void stmt_finalizep(sqlite3_stmt **stmt)
{
    sqlite3_finalize(*stmt);
}
#define _cleanup_stmt_ _cleanup_(stmt_finalizep)

/* Checks that the store can be written to; opens it for writing again if the last try was 10 s ago.
 * Returns 0 or -errno with the sentence. */
int store_writable(struct store *s, struct error *err);

/* Gets the number that a statement selects; 0: it selects none. After an error *ret stays. Returns
 * 0 or -errno. */
int store_number(struct store *s, const char *sql, uint64_t *ret, struct error *err);
/* Gets the size of the file. After an error *ret stays. Returns 0 or -errno. */
int store_file_bytes(struct store *s, uint64_t *ret, struct error *err);

/* Returns a column as text, "" for NULL. */
const char *store_text(sqlite3_stmt *stmt, int column);

/* schema.c: makes the tables, or upgrades those of an older version. Return: 0; -errno; or one of
 * these, and the file stays unchanged. */
#define SCHEMA_NEWER 1   /* written by a newer flamed */
#define SCHEMA_FOREIGN 2 /* tables that do not match the file's version */
int schema_prepare(struct store *s, struct error *err);
/* Returns true if @db has exactly the tables and indexes of this version. Views, triggers and
 * expressions would run in each flamed that opens the file. A worker under foreign control could
 * leave a query there that never ends. */
bool schema_is_ours(sqlite3 *db, enum store_kind kind);

/* Gets the bytes of the file in use, without free pages. Returns 0 or -errno. */
int store_bytes_in_use(struct store *s, uint64_t *ret, struct error *err);

/* put.c */

/* Writes the additions to the dictionary of puts. Returns 0 or -errno with @err. */
int put_additions(struct store *s, struct error *err);
/* Ends the transaction: commits if @r is 0, else rolls back. Returns @r, or -errno with @err. */
int end_transaction(struct store *s, int r, struct error *err);

/* dictionaries.c */

/* Chooses the dictionary for a capture that starts at @now_ns. It is the dictionary of puts, the
 * newest on disk if less than a day old, or a new one. */
int dictionaries_for_writing(struct store *s, uint64_t now_ns, struct error *err);
/* Frees the dictionary of puts, after a write that failed. */
void dictionaries_abandon(struct store *s);
/* Loads a dictionary with all its additions. It is borrowed until the next call. */
int dictionaries_load(struct store *s, int64_t id, struct dictionary **ret, struct error *err);
void dictionaries_forget(struct store *s, int64_t id);
void dictionaries_forget_all(struct store *s);
/* Frees dictionaries that were not read for a minute. */
void dictionaries_forget_unused(struct store *s);
size_t dictionaries_bytes(const struct store *s); /* bytes of memory */
