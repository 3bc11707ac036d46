/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the history. First makes a plan: the query's span in whole parts, each as long as possible.
 * Parts of shorter tiers replace a part that is not made yet. Then reads the bodies one by one, and
 * adds them up by dictionary.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "store/blob.h"
#include "store/history_impl.h"

#define READ_ROWS_MAX 400000u /* rows of one answer */
#define READ_TURN_ROWS 64     /* rows between two turns of other callers */
#define READ_TALLY_ROWS (TALLY_ROWS_MAX / 2)

struct part_row {
    int64_t n, image, epoch;
    uint64_t start_ns, end_ns;
};

struct plan {
    struct history *h;
    const struct history_query *q;
    struct image_list images;
    struct part_row *rows;
    size_t count, cap;
    uint64_t oldest_ns[HISTORY_TIERS]; /* UINT64_MAX: the tier is empty */
    uint64_t from_ns, to_ns;           /* span in whole minutes */
    struct history_reach *reach;
};

static void plan_deinit(struct plan *p)
{
    image_list_deinit(&p->images);
    free(p->rows);
}

/* ---- the plan ---- */

/* Adds parts to the plan. @unrolled: adds only parts that no longer part includes, and counts
 * damaged parts that a longer part includes only in part. */
static int add_rows(struct plan *p, unsigned tier, uint64_t from_ns, uint64_t to_ns, bool unrolled,
                    struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_query(p->h->store,
                        "SELECT n, image, epoch, start_ns, rolled = " PART_DAMAGED
                        " FROM parts WHERE tier = ?1 AND start_ns >= ?2 AND start_ns < ?3"
                        " AND (?4 = 0 OR rolled <> " PART_ROLLED ")",
                        &stmt, err, VALUE(tier), VALUE(from_ns), VALUE(to_ns), VALUE(unrolled));

    if (r < 0)
        return r;
    while ((r = store_step(p->h->store, stmt, CANNOT_READ, err)) > 0) {
        struct part_row row = { .n = sqlite3_column_int64(stmt, 0),
                                .image = sqlite3_column_int64(stmt, 1),
                                .epoch = sqlite3_column_int64(stmt, 2),
                                .start_ns = (uint64_t)sqlite3_column_int64(stmt, 3) };

        if (!image_list_find(&p->images, row.image))
            continue;
        if (unrolled && sqlite3_column_int(stmt, 4)) {
            p->reach->damaged++;
            continue;
        }
        if (p->count == READ_ROWS_MAX)
            return error_set(err, -EFBIG,
                             "this range has more than %u parts of the history: ask "
                             "for a shorter one, or for one service",
                             READ_ROWS_MAX);
        if (!array_grow(&p->rows, &p->cap, p->count + 1, 256))
            return -ENOMEM;
        row.end_ns = row.start_ns + history_tier_ns(tier);
        p->rows[p->count++] = row;
        p->reach->resolution_ns = MAX(p->reach->resolution_ns, history_tier_ns(tier));
    }
    return r;
}

/* Adds the rows of [from, to), which consists of whole parts of @tier. */
static int add_segment(struct plan *p, unsigned tier, uint64_t from_ns, uint64_t to_ns,
                       struct error *err)
{
    int r = add_rows(p, tier, from_ns, to_ns, /* unrolled= */ false, err);

    while (r == 0 && tier-- > 0)
        r = add_rows(p, tier, from_ns, to_ns, /* unrolled= */ true, err);
    return r;
}

/* Returns the longest tier that keeps a part which begins at @at, or the shortest tier that keeps a
 * part around @at. */
static unsigned tier_at(const struct plan *p, uint64_t at)
{
    unsigned tier = HISTORY_TIERS;

    while (tier-- > 1) {
        uint64_t length = history_tier_ns(tier);

        if (p->q->coarsest_ns && length > p->q->coarsest_ns)
            continue;
        if (at % length == 0 && at + length <= p->to_ns && p->oldest_ns[tier] <= at)
            return tier;
    }
    for (tier = 0; tier < HISTORY_TIERS - 1; tier++) {
        if (p->oldest_ns[tier] <= at)
            return tier;
    }
    return p->oldest_ns[tier] <= at ? tier : 0;
}

static int plan_segments(struct plan *p, struct error *err)
{
    uint64_t at = p->from_ns, since = 0, next;
    unsigned tier = 0, now;
    int r = 0;

    p->reach->from_ns = p->from_ns;
    while (at < p->to_ns && r == 0) {
        now = tier_at(p, at);
        next = history_floor(at, now) + history_tier_ns(now);
        if (!since)
            p->reach->from_ns = since = history_floor(at, now);
        else if (now != tier) {
            r = add_segment(p, tier, since, history_floor(at, now), err);
            since = history_floor(at, now);
        }
        tier = now;
        at = next;
    }
    p->reach->to_ns = at;
    return r == 0 && since ? add_segment(p, tier, since, at, err) : r;
}

/* ---- what there is ---- */

static int read_oldest(struct plan *p, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r =
        store_prepare(p->h->store, "SELECT min(start_ns) FROM parts WHERE tier = ?", &stmt, err);

    if (r < 0)
        return r;
    for (int tier = 0; tier < HISTORY_TIERS; tier++) {
        p->oldest_ns[tier] = UINT64_MAX;
        sqlite3_reset(stmt);
        store_bind(stmt, VALUE(tier));
        r = store_step(p->h->store, stmt, CANNOT_READ, err);
        if (r < 0)
            return r;
        if (sqlite3_column_type(stmt, 0) != SQLITE_NULL) /* it has parts */
            p->oldest_ns[tier] = (uint64_t)sqlite3_column_int64(stmt, 0);
        if (p->oldest_ns[tier] != UINT64_MAX &&
            (!p->reach->oldest_ns || p->oldest_ns[tier] < p->reach->oldest_ns))
            p->reach->oldest_ns = p->oldest_ns[tier];
    }
    return 0;
}

/* Sums the recorder's running time in [from, to). Minutes overlap only if the clock was set
 * back. */
static int read_covered(struct plan *p, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_query(p->h->store,
                        "SELECT coalesce(sum(min(end_ns, ?2) - max(start_ns, ?1)), 0),"
                        " coalesce(sum(lost), 0) FROM minutes WHERE start_ns < ?2 AND start_ns >="
                        " ?1 - 120000000000 AND end_ns > ?1",
                        &stmt, err, VALUE(p->from_ns), VALUE(p->to_ns));

    if (r == 0)
        r = store_step(p->h->store, stmt, CANNOT_READ, err);
    if (r > 0) {
        p->reach->covered_ns = (uint64_t)sqlite3_column_int64(stmt, 0);
        p->reach->lost = (uint64_t)sqlite3_column_int64(stmt, 1);
    }
    return MIN(r, 0);
}

ORDER_FUNCTION(by_epoch, struct part_row,
               COMPARE(x->epoch, y->epoch) ?:
                   COMPARE(x->start_ns, y->start_ns) ?:
                   COMPARE(x->n, y->n))

ORDER_FUNCTION(by_time, struct part_row, COMPARE(x->start_ns, y->start_ns))

/* Moves the answer's begin to its first minute, as a part may begin before the recorder was
 * started. If the wall clock was slowed down, a minute begins shortly before its part: see
 * history_minute_of(). */
static int read_begin(struct plan *p, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_query(p->h->store,
                        "SELECT max(start_ns, ?1) FROM minutes WHERE start_ns < ?2 AND"
                        " start_ns >= ?1 - 60000000000 AND"
                        " start_ns + (end_ns - start_ns) / 2 >= ?1 ORDER BY start_ns LIMIT 1",
                        &stmt, err, VALUE(p->reach->from_ns), VALUE(p->to_ns));

    if (r == 0)
        r = store_step(p->h->store, stmt, CANNOT_READ, err);
    if (r > 0)
        p->reach->from_ns = (uint64_t)sqlite3_column_int64(stmt, 0);
    return MIN(r, 0);
}

/* Skips the time before the recorder's first minute. The part of that hour begins earlier, but all
 * its samples are later. */
static int skip_to_first_minute(struct plan *p, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_prepare(p->h->store, "SELECT min(start_ns) FROM minutes", &stmt, err);

    if (r == 0)
        r = store_step(p->h->store, stmt, CANNOT_READ, err);
    if (r > 0 && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
        p->from_ns = MAX(p->from_ns, history_floor((uint64_t)sqlite3_column_int64(stmt, 0), 0));
    return MIN(r, 0);
}

/* Makes the plan. Call with the lock held. */
static int plan_make(struct plan *p, struct error *err)
{
    struct history_query clipped = *p->q;
    int r = read_oldest(p, err);

    if (r == 0)
        r = store_number(p->h->store, HISTORY_NEWEST, &p->reach->newest_ns, err);
    if (r < 0 || !p->reach->oldest_ns)
        return r;
    clipped.from_ns = MAX(p->q->from_ns, p->reach->oldest_ns);
    clipped.to_ns = MIN(p->q->to_ns, p->reach->newest_ns);
    p->from_ns = history_floor(clipped.from_ns, 0);
    p->to_ns = history_floor(clipped.to_ns + HISTORY_MINUTE_NS - 1, 0);
    r = skip_to_first_minute(p, err);
    if (r < 0 || p->from_ns >= p->to_ns)
        return r;
    r = image_list_read(p->h, &clipped, &p->images, err);
    p->reach->texts_left_out = p->images.texts_left_out;
    if (r == 0)
        r = plan_segments(p, err);
    if (r == 0)
        r = read_begin(p, err);
    return r == 0 ? read_covered(p, err) : r;
}

static int plan_open(struct plan *p, struct error *err)
{
    int r = store_enter(p->h->store, STORE_WAIT_NS, err);

    *p->reach = (struct history_reach){ 0 };
    if (r < 0)
        return r;
    r = plan_make(p, err);
    store_leave(p->h->store);
    return r;
}

/* ---- stacks ---- */

struct reader {
    struct plan *plan;
    struct tally tally; /* sums of the rows of one dictionary */
    int64_t epoch;
    uint64_t *slots;
    size_t slot_count, slot_cap;
    history_profile_fn fn;
    void *cookie;
};

static void reader_begin(struct reader *rd)
{
    tally_init(&rd->tally);
    rd->tally.wants_event = rd->plan->q->wants_event;
    rd->tally.cookie = rd->plan->q->cookie;
}

/* Makes a profile of the tally and clears the tally. *ret stays NULL if there are no rows. Call
 * with the lock held. */
static int reader_profile(struct reader *rd, struct profile **ret, struct error *err)
{
    struct profile meta = { .start_ns = rd->plan->reach->from_ns,
                            .start_realtime_ns = rd->plan->reach->from_ns,
                            .end_ns = rd->plan->reach->to_ns };
    struct dictionary *e;
    int r = 0;

    if (rd->tally.rows.count) {
        r = dictionaries_load(rd->plan->h->store, rd->epoch, &e, err) ?:
            tally_profile(&rd->tally, e, rd->slots, rd->slot_count, &meta, ret) ?:
            image_list_describe(&rd->plan->images, *ret);
        rd->plan->reach->texts_left_out = rd->plan->images.texts_left_out;
    }
    tally_deinit(&rd->tally);
    reader_begin(rd);
    rd->slot_count = 0;
    if (r == -EBADMSG) { /* names of this epoch are damaged, or ids in its parts */
        rd->plan->reach->damaged++;
        r = 0;
    }
    return r;
}

/* Passes the tally's profile to the callback. Call with the lock held; it is released during the
 * callback. */
static int reader_flush(struct reader *rd, struct error *err)
{
    _cleanup_(profile_unrefp) struct profile *p = NULL;
    int k, r = reader_profile(rd, &p, err);

    if (r < 0 || !p)
        return r;
    store_leave(rd->plan->h->store);
    r = rd->fn(rd->cookie, p);
    k = store_enter(rd->plan->h->store, STORE_WAIT_NS, err);
    if (k < 0) /* the caller releases the lock */
        store_enter_patiently(rd->plan->h->store);
    return r ? r : k;
}

static int reader_body(struct reader *rd, const struct part_row *row, sqlite3_stmt *stmt)
{
    const struct history_image *image = image_list_find(&rd->plan->images, row->image);
    struct span packed = { sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0) };
    uint64_t first_ns = rd->plan->reach->from_ns;
    uint64_t start_ns = rd->plan->q->summed ? first_ns : MAX(row->start_ns, first_ns);
    _cleanup_buf_ struct buf body = BUF_UPTO(BLOB_MAX_BYTES);
    int r;

    if (!rd->slot_count || rd->slots[rd->slot_count - 1] != start_ns) {
        if (!array_grow(&rd->slots, &rd->slot_cap, rd->slot_count + 1, 64))
            return -ENOMEM;
        rd->slots[rd->slot_count++] = start_ns;
    }
    r = blob_decompress(packed, &body)
            ?: tally_decode(&rd->tally, buf_span(&body), (uint32_t)rd->slot_count - 1, image->owner,
                            image->exec_no);
    if (r == -EBADMSG || r == -ENOSPC) {
        rd->plan->reach->damaged++;
        return 0;
    }
    rd->plan->reach->parts += r == 0;
    return r;
}

static int reader_row(struct reader *rd, const struct part_row *row, sqlite3_stmt *stmt,
                      struct error *err)
{
    int r = 0;

    if (row->epoch != rd->epoch || rd->tally.rows.count > READ_TALLY_ROWS)
        r = reader_flush(rd, err);
    rd->epoch = row->epoch;
    if (r)
        return r;
    store_bind(stmt, VALUE(row->n));
    r = store_step(rd->plan->h->store, stmt, CANNOT_READ, err);
    if (r > 0) /* 0: the row was dropped since the plan was made */
        r = reader_body(rd, row, stmt);
    sqlite3_reset(stmt);
    return r;
}

/* Reads the rows of the plan. Call with the lock held; it is released at times for other
 * callers. */
static int reader_run(struct reader *rd, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    struct store *s = rd->plan->h->store;
    int r = store_prepare(s, "SELECT body FROM parts WHERE n = ?", &stmt, err);

    for (size_t i = 0; i < rd->plan->count && r == 0; i++) {
        r = reader_row(rd, &rd->plan->rows[i], stmt, err);
        if (i % READ_TURN_ROWS == READ_TURN_ROWS - 1) {
            store_leave(s);
            store_enter_patiently(s);
        }
    }
    return r == 0 ? reader_flush(rd, err) : r;
}

int history_read(struct history *h, const struct history_query *q, history_profile_fn fn,
                 void *cookie, struct history_reach *ret, struct error *err)
{
    _cleanup_(plan_deinit) struct plan plan = { .h = h, .q = q, .reach = ret };
    struct reader rd = { .plan = &plan, .fn = fn, .cookie = cookie };
    int r = plan_open(&plan, err);

    if (r < 0 || !plan.count)
        return r;
    qsort(plan.rows, plan.count, sizeof(*plan.rows), by_epoch);
    reader_begin(&rd);
    rd.epoch = plan.rows[0].epoch;
    r = store_enter(h->store, STORE_WAIT_NS, err);
    if (r == 0) {
        r = reader_run(&rd, err);
        store_leave(h->store);
    }
    tally_deinit(&rd.tally);
    free(rd.slots);
    return r;
}

/* ---- sums ---- */

static bool take_sums(struct span s, struct history_sums *ret)
{
    bool good = blob_take_number(&s, &ret->period_ns);

    for (size_t i = 0; i < CATEGORY_COUNT && good; i++)
        good = blob_take_number(&s, &ret->samples[i]);
    return good;
}

static int sums_run(struct plan *p, history_sums_fn fn, void *cookie, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_prepare(p->h->store, "SELECT sums FROM parts WHERE n = ?", &stmt, err);

    for (size_t i = 0; i < p->count && r == 0; i++) {
        const struct part_row *row = &p->rows[i];
        struct history_sums sums = { .start_ns = row->start_ns,
                                     .end_ns = row->end_ns,
                                     .image = image_list_find(&p->images, row->image) };

        store_bind(stmt, VALUE(row->n));
        r = store_step(p->h->store, stmt, CANNOT_READ, err);
        if (r > 0) {
            r = 0;
            if (take_sums((struct span){ sqlite3_column_blob(stmt, 0),
                                         (size_t)sqlite3_column_bytes(stmt, 0) },
                          &sums)) {
                p->reach->parts++;
                fn(cookie, &sums);
            } else {
                p->reach->damaged++;
            }
        }
        sqlite3_reset(stmt);
    }
    return r;
}

int history_sums(struct history *h, const struct history_query *q, history_sums_fn fn, void *cookie,
                 struct history_reach *ret, struct error *err)
{
    _cleanup_(plan_deinit) struct plan plan = { .h = h, .q = q, .reach = ret };
    int r = plan_open(&plan, err);

    if (r < 0 || !plan.count)
        return r;
    qsort(plan.rows, plan.count, sizeof(*plan.rows), by_time);
    r = store_enter(h->store, STORE_WAIT_NS, err);
    if (r < 0)
        return r;
    r = sums_run(&plan, fn, cookie, err);
    store_leave(h->store);
    return r;
}
