/* SPDX-License-Identifier: Apache-2.0 */
/* Makes parts of 10 minutes and hours from shorter ones, and drops old parts. */
#include "base/array.h"
#include "store/blob.h"
#include "store/history_impl.h"

#include <sched.h>

#define ROLL_BUCKETS_MAX 200 /* buckets rolled in one call */
#define ROLL_DROPS_MAX 1000

/* percent: a tier's share of the file, if all tiers want more. max_age_ns: its longest age, if that
 * is less than history_max_age. */
static const struct {
    unsigned percent;
    uint64_t max_age_ns;
} TIERS[HISTORY_TIERS] = {
    { 60, UINT64_C(48) * 3600 * NSEC_PER_SEC },
    { 25, UINT64_C(14) * 24 * 3600 * NSEC_PER_SEC },
    { 15, UINT64_MAX },
};

/* ---- up ---- */

/* Adds up the parts of one image and dictionary, which become one part. */
struct roll {
    struct history *h;
    unsigned tier; /* of the new part */
    uint64_t start_ns;
    int64_t image, epoch;
    struct tally tally;
    int64_t *damaged; /* owned: rows that could not be added whole */
    size_t damaged_count, damaged_cap;
};

static int roll_write(struct roll *roll, struct error *err)
{
    int r = 0;

    if (roll->tally.rows.count)
        r = parts_insert(roll->h, roll->tier, roll->start_ns, roll->image, roll->epoch,
                         &roll->tally, err);
    tally_deinit(&roll->tally);
    tally_init(&roll->tally);
    return r;
}

/* Adds the row of @stmt to the tally; writes the tally first if the row begins another part. Stores
 * which row cannot be read to its end. */
static int roll_row(struct roll *roll, sqlite3_stmt *stmt, struct error *err)
{
    int64_t image = sqlite3_column_int64(stmt, 0), epoch = sqlite3_column_int64(stmt, 1);
    struct span packed = { sqlite3_column_blob(stmt, 2), (size_t)sqlite3_column_bytes(stmt, 2) };
    _cleanup_buf_ struct buf body = BUF_UPTO(BLOB_MAX_BYTES);
    int r = 0;

    if (image != roll->image || epoch != roll->epoch)
        r = roll_write(roll, err);
    roll->image = image;
    roll->epoch = epoch;
    if (r < 0)
        return r;
    r = blob_decompress(packed, &body)
            ?: tally_decode(&roll->tally, buf_span(&body), /* slot= */ 0, /* owner= */ 0,
                            /* exec_no= */ 0);
    if (r != -EBADMSG && r != -ENOSPC)
        return r;
    if (!array_grow(&roll->damaged, &roll->damaged_cap, roll->damaged_count + 1, 16))
        return -ENOMEM;
    roll->damaged[roll->damaged_count++] = sqlite3_column_int64(stmt, 3);
    return 0;
}

/* Selects the parts to roll: parts of the tier below within the time of the new part. */
#define OF_ROLL "WHERE tier = ?1 AND rolled = " PART_FRESH " AND start_ns >= ?2 AND start_ns < ?3"

/* Values of OF_ROLL. */
#define VALUES_OF_ROLL(roll)                                                                       \
    VALUE((roll)->tier - 1), VALUE((roll)->start_ns),                                              \
        VALUE((roll)->start_ns + history_tier_ns((roll)->tier))

static int roll_rows(struct roll *roll, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r =
        store_query(roll->h->store,
                    "SELECT image, epoch, body, n FROM parts " OF_ROLL " ORDER BY image, epoch, n",
                    &stmt, err, VALUES_OF_ROLL(roll));

    while (r == 0 && (r = store_step(roll->h->store, stmt, CANNOT_READ, err)) > 0)
        r = roll_row(roll, stmt, err);
    return r == 0 ? roll_write(roll, err) : r;
}

/* Marks the rows that were not added whole, so that readers of the new part count them. */
static int mark_damaged(const struct roll *roll, struct error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < roll->damaged_count; i++)
        r = store_run(roll->h->store, "UPDATE parts SET rolled = " PART_DAMAGED " WHERE n = ?",
                      CANNOT_WRITE, err, VALUE(roll->damaged[i]));
    return r;
}

static int mark_rolled(const struct roll *roll, struct error *err)
{
    int r = mark_damaged(roll, err);

    return r < 0 ? r
                 : store_run(roll->h->store, "UPDATE parts SET rolled = " PART_ROLLED " " OF_ROLL,
                             CANNOT_WRITE, err, VALUES_OF_ROLL(roll));
}

/* Makes all parts of one bucket, or none. */
static int roll_bucket(struct history *h, unsigned tier, uint64_t start_ns, struct error *err)
{
    struct roll roll = { .h = h, .tier = tier, .start_ns = start_ns };
    int r = store_exec(h->store, "BEGIN IMMEDIATE", err);

    if (r < 0)
        return r;
    tally_init(&roll.tally);
    r = roll_rows(&roll, err) ?: mark_rolled(&roll, err);
    tally_deinit(&roll.tally);
    free(roll.damaged);
    return end_transaction(h->store, r, err);
}

/* Returns true if error @r is one of the whole file or disk, and not of single rows. */
static bool fails_everywhere(int r)
{
    return r == -ENOSPC || r == -EROFS || r == -EBUSY || r == -ENODEV;
}

/* Finds the oldest bucket of @tier that begins at @from_ns or later, is over at @now_ns and not
 * made. Returns 1, 0 (there is none) or -errno. */
static int roll_next(struct history *h, unsigned tier, uint64_t from_ns, uint64_t now_ns,
                     uint64_t *ret, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_query(h->store,
                        "SELECT start_ns FROM parts WHERE tier = ?1 AND rolled = " PART_FRESH
                        " AND start_ns >= ?2 AND start_ns < ?3 ORDER BY start_ns LIMIT 1",
                        &stmt, err, VALUE(tier - 1), VALUE(from_ns),
                        VALUE(history_floor(now_ns, tier)));

    if (r == 0)
        r = store_step(h->store, stmt, CANNOT_READ, err);
    if (r > 0)
        *ret = history_floor((uint64_t)sqlite3_column_int64(stmt, 0), tier);
    return r;
}

/* Makes the parts of @tier that are due, except buckets that cannot be read or written. Releases
 * the lock between two buckets for other callers. Returns 0, or the first -errno. */
static int roll_tier(struct history *h, unsigned tier, uint64_t now_ns, struct error *err)
{
    uint64_t start_ns = 0;
    int failed = 0, r;

    for (int i = 0; i < ROLL_BUCKETS_MAX; i++) {
        r = roll_next(h, tier, start_ns, now_ns, &start_ns, failed ? NULL : err);
        if (r > 0) {
            r = roll_bucket(h, tier, start_ns, failed ? NULL : err);
            start_ns += history_tier_ns(tier);
            store_leave(h->store);
            sched_yield();
            store_enter_patiently(h->store);
        } else if (r == 0) {
            break;
        }
        failed = failed ? failed : r;
        if (fails_everywhere(r))
            break;
    }
    return failed;
}

static int roll_up(struct history *h, uint64_t now_ns, struct error *err)
{
    int failed = 0;

    for (unsigned tier = 1; tier < HISTORY_TIERS && !fails_everywhere(failed); tier++) {
        int r = roll_tier(h, tier, now_ns, failed ? NULL : err);

        failed = failed ? failed : r;
    }
    return failed;
}

/* ---- away ---- */

#define CANNOT_DROP "cannot drop what is old of the history"

/* Drops each part of @tier before @before_ns, except those that cannot be dropped. Returns 0 or
 * -errno. */
static int drop_one_by_one(struct history *h, unsigned tier, uint64_t before_ns, uint64_t *count,
                           struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int64_t n = 0;
    int r = store_prepare(h->store,
                          "SELECT n FROM parts WHERE tier = ? AND start_ns < ? AND n > ?"
                          " ORDER BY n LIMIT 1",
                          &stmt, err);

    if (r < 0)
        return r;
    for (;;) {
        sqlite3_reset(stmt);
        store_bind(stmt, VALUE(tier), VALUE(before_ns), VALUE(n));
        r = store_step(h->store, stmt, CANNOT_DROP, err);
        if (r <= 0)
            return r;
        n = sqlite3_column_int64(stmt, 0);
        sqlite3_reset(stmt);
        r = store_run(h->store, "DELETE FROM parts WHERE n = ?", CANNOT_DROP, NULL, VALUE(n));
        *count += r == 0;
        if (fails_everywhere(r))
            return r;
    }
}

/* Drops the parts of @tier before @before_ns. One that is damaged does not keep the others. Returns
 * 0 or -errno. */
static int drop_parts(struct history *h, unsigned tier, uint64_t before_ns, uint64_t *count,
                      struct error *err)
{
    int r = store_run(h->store, "DELETE FROM parts WHERE tier = ? AND start_ns < ?", CANNOT_DROP,
                      err, VALUE(tier), VALUE(before_ns));

    if (r == 0)
        *count += (uint64_t)sqlite3_changes(h->store->db);
    else if (!fails_everywhere(r))
        r = drop_one_by_one(h, tier, before_ns, count, err);
    return r;
}

static int drop_before(struct history *h, const char *sql, uint64_t before_ns, struct error *err)
{
    return store_run(h->store, sql, CANNOT_DROP, err, VALUE(before_ns));
}

/* Drops old parts. The remaining parts begin at the begin of a part of the next tier. */
static int drop_by_age(struct history *h, uint64_t now_ns, struct error *err)
{
    uint64_t before;
    int r = 0;

    for (unsigned tier = 0; tier < HISTORY_TIERS && r == 0; tier++) {
        uint64_t age = MIN(h->max_age_ns, TIERS[tier].max_age_ns);

        if (now_ns > age)
            r = drop_parts(h, tier, history_floor(now_ns - age, MIN(tier + 1, HISTORY_TIERS - 1u)),
                           &h->stats.dropped_by_age, err);
    }
    if (r < 0 || now_ns <= h->max_age_ns + history_tier_ns(HISTORY_TIERS - 1))
        return r;
    before = now_ns - h->max_age_ns - history_tier_ns(HISTORY_TIERS - 1);
    r = drop_before(h, "DELETE FROM images WHERE last_ns < ?", before, err);
    if (r == 0)
        r = drop_before(h, "DELETE FROM minutes WHERE end_ns < ?", before, err);
    return r == 0 ? drop_before(h, "DELETE FROM marks WHERE time_ns < ?", before, err) : r;
}

static int drop_empty_epochs(struct history *h, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_prepare(h->store,
                          "DELETE FROM epochs WHERE id < (SELECT max(id) FROM epochs)"
                          " AND NOT EXISTS (SELECT 1 FROM parts WHERE epoch = epochs.id)"
                          " RETURNING id",
                          &stmt, err);

    if (r < 0)
        return r;
    while ((r = store_step(h->store, stmt, CANNOT_DROP, err)) > 0)
        dictionaries_forget(h->store, sqlite3_column_int64(stmt, 0));
    return r;
}

static int read_sizes(struct history *h, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_prepare(
        h->store, "SELECT tier, sum(bytes), min(start_ns) FROM parts GROUP BY tier", &stmt, err);

    if (r < 0)
        return r;
    memset(h->stats.tier_bytes, 0, sizeof(h->stats.tier_bytes));
    memset(h->stats.tier_oldest_ns, 0, sizeof(h->stats.tier_oldest_ns));
    while ((r = store_step(h->store, stmt, CANNOT_READ, err)) > 0) {
        unsigned tier = (unsigned)sqlite3_column_int(stmt, 0);

        if (tier < HISTORY_TIERS) {
            h->stats.tier_bytes[tier] = (uint64_t)sqlite3_column_int64(stmt, 1);
            h->stats.tier_oldest_ns[tier] = (uint64_t)sqlite3_column_int64(stmt, 2);
        }
    }
    return r;
}

/* Drops the oldest parts of @tier, with all of the same part of the next tier. Passes over those
 * that cannot be dropped. Returns 1, 0 (none could be dropped) or -errno. */
static int drop_oldest(struct history *h, unsigned tier, struct error *err)
{
    unsigned next = MIN(tier + 1, HISTORY_TIERS - 1u);
    uint64_t before_ns = history_floor(h->stats.tier_oldest_ns[tier], next);
    uint64_t dropped = h->stats.dropped_by_size;
    int r = 0;

    while (r == 0 && h->stats.dropped_by_size == dropped && before_ns <= h->stats.newest_ns) {
        before_ns += history_tier_ns(next);
        r = drop_parts(h, tier, before_ns, &h->stats.dropped_by_size, err);
    }
    return r < 0 ? r : h->stats.dropped_by_size != dropped;
}

/* Returns the tier that is furthest over its share, without those of the set @stuck; HISTORY_TIERS:
 * none has parts. */
static unsigned largest_tier(const struct history *h, unsigned stuck)
{
    unsigned most = HISTORY_TIERS;

    for (unsigned tier = 0; tier < HISTORY_TIERS; tier++) {
        if (!(stuck & 1u << tier) && h->stats.tier_bytes[tier] &&
            (most == HISTORY_TIERS || h->stats.tier_bytes[tier] / TIERS[tier].percent >
                                          h->stats.tier_bytes[most] / TIERS[most].percent))
            most = tier;
    }
    return most;
}

/* Drops the oldest parts of the tier that is furthest over its share. Adds tiers to *stuck that
 * keep all of their parts. Returns 1 (the file may still be too large), 0 or -errno. */
static int drop_by_size(struct history *h, unsigned *stuck, struct error *err)
{
    uint64_t bytes;
    unsigned most;
    int emptied, r = store_bytes_in_use(h->store, &bytes, err);

    if (r < 0 || bytes <= h->store->opts.max_bytes)
        return r;
    r = read_sizes(h, err);
    most = largest_tier(h, *stuck);
    if (r < 0 || most == HISTORY_TIERS)
        return r;
    r = drop_oldest(h, most, err);
    if (r < 0)
        return r;
    if (r == 0)
        *stuck |= 1u << most;
    emptied = drop_empty_epochs(h, err);
    return emptied < 0 ? emptied : 1;
}

static int retain(struct history *h, uint64_t now_ns, struct error *err)
{
    unsigned stuck = 0; /* set of tiers */
    int r = now_ns ? drop_by_age(h, now_ns, err) : 0;

    if (r == 0)
        r = images_drop(h, err);
    if (r == 0)
        r = stops_drop(h, err);
    if (r == 0)
        r = drop_empty_epochs(h, err);
    for (int i = 0; i < ROLL_DROPS_MAX && r == 0; i++) {
        r = drop_by_size(h, &stuck, err);
        if (r <= 0)
            break;
        r = 0;
        store_leave(h->store);
        sched_yield();
        store_enter_patiently(h->store);
    }
    return r == 0 ? store_exec(h->store, "PRAGMA incremental_vacuum(1000)", err) : r;
}

int history_roll(struct history *h, uint64_t now_ns, struct error *err)
{
    struct store *s = h->store;
    bool writable;
    int r = 0, dropped = 0;

    store_enter_patiently(s);
    dictionaries_forget_unused(s);
    writable = s->writable; /* damage that is found makes it false */
    if (s->db)
        r = store_number(s, HISTORY_NEWEST, &h->stats.newest_ns, err)
                ?: store_number(s, "SELECT min(start_ns) FROM minutes", &h->stats.first_ns, err);
    if (writable && r == 0)
        r = roll_up(h, now_ns ? now_ns : h->stats.newest_ns, err);
    if (writable && !fails_everywhere(r))
        dropped = retain(h, now_ns, r == 0 ? err : NULL);
    if (s->db) {
        read_sizes(h, NULL);
        store_file_bytes(s, &h->stats.bytes, NULL);
    }
    h->stats.names_bytes = dictionaries_bytes(s);
    pthread_mutex_lock(&h->told.lock);
    h->told.stats = h->stats;
    pthread_mutex_unlock(&h->told.lock);
    store_leave(s);
    return r < 0 ? r : dropped;
}
