/* SPDX-License-Identifier: Apache-2.0 */
/* The time between minutes of the history: the recorder did not run, or its minutes were lost. */
#include "base/cleanup.h"
#include "store/history_impl.h"

static int gaps_each(struct history *h, uint64_t from_ns, uint64_t to_ns, history_gap_fn fn,
                     void *cookie, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    uint64_t at = 0;
    /* from the last minute that begins before the range */
    int r = store_query(h->store,
                        "SELECT start_ns, end_ns FROM minutes WHERE start_ns < ?2 AND start_ns >="
                        " coalesce((SELECT max(start_ns) FROM minutes WHERE start_ns <= ?1), ?1)"
                        " ORDER BY start_ns",
                        &stmt, err, VALUE(MIN(from_ns, (uint64_t)INT64_MAX)),
                        VALUE(MIN(to_ns, (uint64_t)INT64_MAX)));

    if (r < 0)
        return r;
    while ((r = store_step(h->store, stmt, CANNOT_READ, err)) > 0) {
        uint64_t start_ns = (uint64_t)sqlite3_column_int64(stmt, 0),
                 end_ns = (uint64_t)sqlite3_column_int64(stmt, 1);

        if (at && MAX(at, from_ns) + HISTORY_GAP_NS <= start_ns)
            fn(cookie, MAX(at, from_ns), start_ns);
        at = MAX(at, end_ns); /* minutes overlap if the clock was set back */
    }
    if (r == 0 && at && MAX(at, from_ns) + HISTORY_GAP_NS <= to_ns)
        fn(cookie, MAX(at, from_ns), to_ns);
    return r;
}

int history_gaps(struct history *h, uint64_t from_ns, uint64_t to_ns, history_gap_fn fn,
                 void *cookie, struct error *err)
{
    int r = store_enter(h->store, STORE_WAIT_NS, err);

    if (r < 0)
        return r;
    r = gaps_each(h, from_ns, to_ns, fn, cookie, err);
    store_leave(h->store);
    return r;
}
