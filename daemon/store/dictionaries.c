/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps dictionaries in memory. */
#include "base/clock.h"
#include "store/blob.h"
#include "store/store_impl.h"

#define DICTIONARY_NS (UINT64_C(24) * 3600 * NSEC_PER_SEC)
#define DICTIONARY_BYTES_MAX ((size_t)32 << 20)  /* in memory; above it, another begins */
#define DICTIONARY_UNUSED_NS (60 * NSEC_PER_SEC) /* idle time before a read dictionary is freed */

static int dictionary_read(struct store *s, int64_t id, struct dictionary **ret, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    struct dictionary *e = NULL;
    int step = 0;
    int r = store_query(s, "SELECT body FROM additions WHERE epoch = ? ORDER BY seq", &stmt, err,
                        VALUE(id));

    if (r == 0)
        r = dictionary_new(id, &e);
    if (r < 0)
        return r;
    while (r == 0 &&
           (step = store_step(s, stmt, "cannot read the names of stored captures", err)) > 0) {
        struct span packed = { sqlite3_column_blob(stmt, 0),
                               (size_t)sqlite3_column_bytes(stmt, 0) };
        _cleanup_buf_ struct buf body = BUF_UPTO(BLOB_MAX_BYTES);

        r = blob_decompress(packed, &body) ?: dictionary_replay(e, buf_span(&body));
    }
    if (r < 0)
        error_code(err, r, "the store's names are damaged");
    r = r < 0 ? r : step;
    if (r < 0) {
        dictionary_free(e);
        return r;
    }
    dictionary_replayed(e);
    *ret = e;
    return 0;
}

void dictionaries_abandon(struct store *s)
{
    s->writing = dictionary_free(s->writing);
}

static int dictionary_create(struct store *s, uint64_t now_ns, int64_t *ret, struct error *err)
{
    int r = store_run(s, "INSERT INTO epochs(created_ns) VALUES(?)", "cannot write to the store",
                      err, VALUE(now_ns));

    if (r < 0)
        return r;
    *ret = sqlite3_last_insert_rowid(s->db);
    return 0;
}

/* Finds the newest dictionary on disk. Return: 0, and *ret_id 0 if there is none; -errno. */
static int dictionary_newest(struct store *s, int64_t *ret_id, uint64_t *ret_created_ns,
                             struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r =
        store_prepare(s, "SELECT id, created_ns FROM epochs ORDER BY id DESC LIMIT 1", &stmt, err);

    *ret_id = 0;
    if (r == 0)
        r = store_step(s, stmt, "cannot read the store", err);
    if (r > 0) {
        *ret_id = sqlite3_column_int64(stmt, 0);
        *ret_created_ns = (uint64_t)sqlite3_column_int64(stmt, 1);
    }
    return MIN(r, 0);
}

int dictionaries_for_writing(struct store *s, uint64_t now_ns, struct error *err)
{
    uint64_t created_ns = 0;
    int64_t newest;
    int r = dictionary_newest(s, &newest, &created_ns, err);
    /* the difference counts in both directions: a clock set back by a day also begins a new
     * dictionary */
    bool fresh =
        newest && (now_ns > created_ns ? now_ns - created_ns : created_ns - now_ns) < DICTIONARY_NS;

    if (r < 0)
        return r;
    if (s->writing && fresh && s->writing->id == newest &&
        dictionary_bytes(s->writing) < DICTIONARY_BYTES_MAX)
        return 0;
    if (!s->writing && fresh) {
        dictionaries_forget(s, newest);
        if (dictionary_read(s, newest, &s->writing, NULL) == 0 &&
            dictionary_bytes(s->writing) < DICTIONARY_BYTES_MAX)
            return 0; /* leave a damaged or full dictionary unchanged, and begin a new one */
    }
    dictionaries_abandon(s);
    r = dictionary_create(s, now_ns, &newest, err);
    return r < 0 ? r : dictionary_new(newest, &s->writing);
}

void dictionaries_forget(struct store *s, int64_t id)
{
    for (size_t i = 0; i < STORE_EPOCHS_CACHED; i++) {
        if (s->cached[i] && s->cached[i]->id == id)
            s->cached[i] = dictionary_free(s->cached[i]);
    }
    if (s->writing && s->writing->id == id)
        dictionaries_abandon(s);
}

void dictionaries_forget_all(struct store *s)
{
    for (size_t i = 0; i < STORE_EPOCHS_CACHED; i++)
        s->cached[i] = dictionary_free(s->cached[i]);
    dictionaries_abandon(s);
}

void dictionaries_forget_unused(struct store *s)
{
    uint64_t now_ns = clock_monotonic_ns();

    for (size_t i = 0; i < STORE_EPOCHS_CACHED; i++) {
        if (s->cached[i] && now_ns - s->cached[i]->used_ns >= DICTIONARY_UNUSED_NS)
            s->cached[i] = dictionary_free(s->cached[i]);
    }
}

size_t dictionaries_bytes(const struct store *s)
{
    size_t bytes = s->writing ? dictionary_bytes(s->writing) : 0;

    for (size_t i = 0; i < STORE_EPOCHS_CACHED; i++)
        bytes += s->cached[i] ? dictionary_bytes(s->cached[i]) : 0;
    return bytes;
}

int dictionaries_load(struct store *s, int64_t id, struct dictionary **ret, struct error *err)
{
    struct dictionary *e = NULL;
    size_t at = STORE_EPOCHS_CACHED - 1;
    int r;

    if (s->writing && s->writing->id == id) {
        *ret = s->writing;
        return 0;
    }
    for (size_t i = 0; i < STORE_EPOCHS_CACHED && !e; i++) {
        if (s->cached[i] && s->cached[i]->id == id) {
            e = s->cached[i];
            at = i;
        }
    }
    if (!e) {
        r = dictionary_read(s, id, &e, err);
        if (r < 0)
            return r;
        dictionary_seal(e);
        dictionary_free(s->cached[at]);
    }
    memmove(s->cached + 1, s->cached, at * sizeof(*s->cached));
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): dictionary_read() made it */
    e->used_ns = clock_monotonic_ns();
    s->cached[0] = e;
    *ret = e;
    return 0;
}
