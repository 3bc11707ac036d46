/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of store/ share. All under store->lock. */
#pragma once

#include "store/dictionary.h"
#include "store/store.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#define STORE_REOPEN_NS (10 * NSEC_PER_SEC)
#define STORE_EPOCHS_CACHED 2
/* How long a caller waits for its turn; the second if the engine may be that caller. If a turn
 * takes longer, a disk stalls: other callers are then refused at once. */
#define STORE_WAIT_NS (5 * NSEC_PER_SEC)
#define STORE_WAIT_ENGINE_NS (2 * NSEC_PER_SEC)

struct store {
    struct store_opts opts;
    char path[4096];
    pthread_mutex_t lock;
    sqlite3 *db;                /* NULL when it could not be opened at all */
    bool writable;              /* stays true where a write fails that may work again */
    bool newer;                 /* written by a newer flamed: not to be touched */
    uint64_t reopened_ns;       /* CLOCK_MONOTONIC: when opening for writing was last tried */
    char problem[256];          /* "" when all is well; from the opening, or the last write */
    struct dictionary *writing; /* the dictionary that puts go to; NULL: to be chosen */
    struct dictionary
        *cached[STORE_EPOCHS_CACHED]; /* most recently read first; never the one being written */
    struct store_stats stats;
    _Atomic uint64_t entered_ns; /* CLOCK_MONOTONIC: since when somebody is in; 0: nobody */
    struct {
        pthread_mutex_t lock; /* held for a copy only */
        char problem[256];
        struct store_stats stats;
    } told; /* what is said of the store while somebody is in */
};

/* Takes the lock, @max_ns at most: a disk may stall for long. 0, or -EBUSY with the sentence. */
int store_enter(struct store *s, uint64_t max_ns, struct error *err);
/* As long as it takes: for threads that nobody waits for. */
void store_enter_patiently(struct store *s);
void store_leave(struct store *s);

/* Prepares, or says in @err what SQLite said. The statement is finalised by its cleanup. */
int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret, struct error *err);
/* Runs statements without a result. */
int store_exec(struct store *s, const char *sql, struct error *err);
/* Turns SQLite's last error into a sentence and a negative errno; a full disk and a read-only
 * folder become the store's problem. */
int store_failed(struct store *s, struct error *err, const char *what);
static inline void stmt_finalizep(sqlite3_stmt **stmt)
{
    sqlite3_finalize(*stmt);
}
#define _cleanup_stmt_ _cleanup_(stmt_finalizep)

/* 0 when it can be written to, after another try to open it so where it is time for one; -errno
 * with the sentence. */
int store_writable(struct store *s, struct error *err);

/* Returns the number that a statement gives; 0 where it fails. */
uint64_t store_number(struct store *s, const char *sql);

/* Column as text, "" for NULL. */
const char *store_text(sqlite3_stmt *stmt, int column);

/* schema.c: makes the tables, or brings those of an older version up to this one. 0; -errno; one of
 * these, and nothing is written. */
#define SCHEMA_NEWER 1   /* written by a newer flamed */
#define SCHEMA_FOREIGN 2 /* other tables than those of its version */
int schema_prepare(struct store *s, struct error *err);
/* Returns whether @db has the tables and indexes of this version, and nothing else. Views, triggers
 * and expressions would run in each flamed that opens the file. A worker that was taken over could
 * leave a query there that never ends. */
bool schema_is_ours(sqlite3 *db, enum store_kind kind);

/* Returns the bytes of the file that are in use, without its free pages. */
uint64_t store_bytes_in_use(struct store *s);

/* put.c */

/* Writes what was added to the dictionary being written. 0 or -errno with @err. */
int put_additions(struct store *s, struct error *err);
/* Ends the transaction: commits if @r is 0, else takes all back and returns @r. -errno with @err.
 */
int end_transaction(struct store *s, int r, struct error *err);

/* dictionaries.c */

/* Gets the dictionary for a capture that starts at @now_ns. It is the one being written, the last
 * one on disk if that is of the same day, or a new one. */
int dictionaries_for_writing(struct store *s, uint64_t now_ns, struct error *err);
/* Forgets what is in memory of the dictionary being written: after a write that failed. */
void dictionaries_abandon(struct store *s);
/* Loads a dictionary with all its additions. Borrowed until the next call. */
int dictionaries_load(struct store *s, int64_t id, struct dictionary **ret, struct error *err);
void dictionaries_forget(struct store *s, int64_t id);
void dictionaries_forget_all(struct store *s);
/* Those that nobody has read for a minute. */
void dictionaries_forget_unused(struct store *s);
size_t dictionaries_bytes(const struct store *s); /* of memory */
