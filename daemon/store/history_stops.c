/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses of the collector and throttling of JVMs, by minute. */
#include "base/cleanup.h"
#include "store/history_impl.h"

int stops_add(struct history *h, const struct history_image *image, int64_t n, uint64_t start_ns,
              struct error *err)
{
    static const char SQL[] =
        "INSERT INTO stops(start_ns, image, pauses, pause_ns, throttled_ns) VALUES(?,?,?,?,?)"
        " ON CONFLICT DO UPDATE SET pauses = pauses + excluded.pauses, pause_ns = pause_ns +"
        " excluded.pause_ns, throttled_ns = throttled_ns + excluded.throttled_ns";
    const struct history_stopped *of = &image->stopped;

    if (!of->pauses && !of->pause_ns && !of->throttled_ns)
        return 0;
    return store_run(h->store, SQL, CANNOT_WRITE, err, VALUE(start_ns), VALUE(n), VALUE(of->pauses),
                     VALUE(of->pause_ns), VALUE(of->throttled_ns));
}

int stops_drop(struct history *h, struct error *err)
{
    return store_exec(h->store,
                      "DELETE FROM stops WHERE start_ns <"
                      " (SELECT min(start_ns) FROM parts WHERE tier <= 1)",
                      err);
}

static int stops_each(struct history *h, const struct history_query *q,
                      const struct image_list *list, size_t max, history_stop_fn fn, void *cookie,
                      struct error *err)
{
    size_t rows = 0;
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_query(h->store,
                        "SELECT start_ns, image, pauses, pause_ns, throttled_ns FROM stops"
                        " WHERE start_ns >= ? AND start_ns < ? ORDER BY start_ns DESC LIMIT ?",
                        &stmt, err, VALUE(MIN(q->from_ns, (uint64_t)INT64_MAX)),
                        VALUE(MIN(q->to_ns, (uint64_t)INT64_MAX)), VALUE(max + 1));

    if (r < 0)
        return r;
    while ((r = store_step(h->store, stmt, CANNOT_READ, err)) > 0) {
        const struct history_image *image = image_list_find(list, sqlite3_column_int64(stmt, 1));
        struct history_stopped s = { .pauses = (uint64_t)sqlite3_column_int64(stmt, 2),
                                     .pause_ns = (uint64_t)sqlite3_column_int64(stmt, 3),
                                     .throttled_ns = (uint64_t)sqlite3_column_int64(stmt, 4) };

        if (rows++ == max)
            return 1;
        if (image)
            fn(cookie, image->host_pid, (uint64_t)sqlite3_column_int64(stmt, 0), &s);
    }
    return r;
}

int history_stops(struct history *h, const struct history_query *q, size_t max, history_stop_fn fn,
                  void *cookie, struct error *err)
{
    _cleanup_(image_list_deinit) struct image_list list = { 0 };
    int r = store_enter(h->store, STORE_WAIT_NS, err);

    if (r < 0)
        return r;
    r = image_list_read(h, q, &list, err) ?: stops_each(h, q, &list, max, fn, cookie, err);
    store_leave(h->store);
    return r;
}
