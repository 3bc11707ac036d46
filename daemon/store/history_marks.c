/* SPDX-License-Identifier: Apache-2.0 */
/* The marks of the history. */
#include "base/array.h"
#include "base/cleanup.h"
#include "store/history_impl.h"

#include <math.h>

#define MARK_UNKNOWN 1e300                /* the file has no NAN */
#define MARK_TEXTS_MAX ((size_t)64 << 20) /* bytes of one answer: 600 for each mark */
#define MARKS_OF                                                                                   \
    "SELECT time_ns, kind, image, text, value FROM marks WHERE time_ns >= ? AND time_ns < ?"

const char *history_mark_name(enum history_mark_kind kind)
{
    static const char *const NAMES[HISTORY_MARK_KINDS] = { "deploy", "clock", "change" };

    return NAMES[kind];
}

int marks_add(struct history *h, const struct history_mark *m, int64_t image, struct error *err)
{
    return store_run(h->store,
                     "INSERT INTO marks(time_ns, kind, image, text, value) VALUES(?,?,?,?,?)",
                     CANNOT_WRITE, err, VALUE(m->time_ns), VALUE(m->kind), VALUE(image),
                     VALUE(m->text), VALUE(isnan(m->value) ? MARK_UNKNOWN : m->value));
}

/* The marks of an answer. Their texts are offsets in `texts` until all marks are read. */
struct mark_list {
    struct history_mark *items;
    size_t *texts_at;
    size_t count, room, texts_room;
    struct buf texts;
};

static void mark_list_deinit(struct mark_list *l)
{
    free(l->items);
    free(l->texts_at);
    buf_deinit(&l->texts);
}

static int mark_list_add(struct mark_list *l, const struct history_mark *m)
{
    if (!array_grow(&l->items, &l->room, l->count + 1, 64) ||
        !array_grow(&l->texts_at, &l->texts_room, l->count + 1, 64))
        return -ENOMEM;
    l->texts_at[l->count] = l->texts.n;
    l->items[l->count++] = *m;
    buf_add(&l->texts, m->text, strlen(m->text) + 1);
    return l->texts.error;
}

static int marks_read(struct history *h, const struct history_query *q,
                      const struct image_list *images, struct mark_list *ret,
                      uint64_t *ret_left_out, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    uint64_t count = 0;
    int r = store_query(h->store,
                        q->newest_first ? MARKS_OF " ORDER BY time_ns DESC, n DESC"
                                        : MARKS_OF " ORDER BY time_ns, n",
                        &stmt, err, VALUE(MIN(q->from_ns, (uint64_t)INT64_MAX)),
                        VALUE(MIN(q->to_ns, (uint64_t)INT64_MAX)));

    while (r == 0 && (r = store_step(h->store, stmt, CANNOT_READ, err)) > 0) {
        int64_t image = sqlite3_column_int64(stmt, 2);
        unsigned kind = (unsigned)sqlite3_column_int(stmt, 1);
        double value = sqlite3_column_double(stmt, 4);
        struct history_mark m = { .time_ns = (uint64_t)sqlite3_column_int64(stmt, 0),
                                  .kind = (enum history_mark_kind)kind,
                                  .image = image ? image_list_find(images, image) : NULL,
                                  .text = store_text(stmt, 3),
                                  .value = value < MARK_UNKNOWN ? value : (double)NAN };

        r = 0;
        if (kind < HISTORY_MARK_KINDS && (!image || m.image) && count++ < HISTORY_MARKS_MAX)
            r = mark_list_add(ret, &m);
    }
    *ret_left_out = count > HISTORY_MARKS_MAX ? count - HISTORY_MARKS_MAX : 0;
    return r;
}

int history_marks(struct history *h, const struct history_query *q, history_mark_fn fn,
                  void *cookie, uint64_t *ret_left_out, struct error *err)
{
    _cleanup_(image_list_deinit) struct image_list images = { 0 };
    _cleanup_(mark_list_deinit) struct mark_list marks = { .texts = BUF_UPTO(MARK_TEXTS_MAX) };
    int r = store_enter(h->store, STORE_WAIT_NS, err);

    *ret_left_out = 0;
    if (r < 0)
        return r;
    r = image_list_read(h, q, &images, err) ?: marks_read(h, q, &images, &marks, ret_left_out, err);
    store_leave(h->store);
    for (size_t i = 0; i < marks.count && r == 0; i++) {
        marks.items[i].text = marks.texts.p + marks.texts_at[i];
        fn(cookie, &marks.items[i]);
    }
    return r;
}

/* Checks that the row of @image is still its own. Returns 0, or -ENOENT if the row is gone, or now
 * is that of another image. */
static int find_row(struct history *h, const struct history_image *image, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r =
        store_query(h->store, "SELECT 1 FROM images WHERE n = ? AND pid = ? AND start_ticks = ?",
                    &stmt, err, VALUE(image->n), VALUE(image->host_pid), VALUE(image->start_ticks));

    if (r == 0)
        r = store_step(h->store, stmt, CANNOT_READ, err);
    if (r == 0)
        r = error_set(err, -ENOENT, "the history does not have that JVM any more");
    return MIN(r, 0);
}

int history_mark_put(struct history *h, const struct history_mark *m, struct error *err)
{
    int r;

    store_enter_patiently(h->store);
    r = store_writable(h->store, err) ?: find_row(h, m->image, err);
    if (r == 0)
        r = marks_add(h, m, m->image->n, err);
    store_leave(h->store);
    return r;
}
