/* SPDX-License-Identifier: Apache-2.0 */
/* Drops and reads the rows of JVM images. */
#include "base/array.h"
#include "base/cleanup.h"
#include "store/history_impl.h"

#define IMAGE_STRINGS_MAX ((size_t)64 << 20) /* bytes of one answer: 2 KiB for each image kept */
#define IMAGE_BYTES 8192u  /* bytes of the file for each image, mostly for its samples */
#define IMAGES_AT_ONCE 16u /* at least 1 in this many images is dropped at a time */
#define IMAGE_COLUMNS                                                                              \
    "n, pid, start_ticks, exec_no, owner, name, container, pod, namespace, service, version,"      \
    " environment, java, flags, started_ns, first_ns, last_ns, attributes, payer"

/* ---- dropping ---- */

/* Drops @excess images of the payers with most images. A payer keeps the images that were seen
 * last; among images of one minute, those that still ran. A payer loses none while another has
 * more. If each payer has one image, drops those that were not seen for the longest time. Images
 * without a known payer count as of one payer. So do the rows of processes that are no JVM, as
 * containers choose their users. */
#define DROP                                                                                       \
    "DELETE FROM images WHERE n IN (SELECT n FROM (SELECT n, last_ns / 60000000000 AS seen,"       \
    " last_ns % 60000000000 != 0 AS ended, row_number() OVER (PARTITION BY payer, pid = 0"         \
    " ORDER BY last_ns / 60000000000 DESC, last_ns % 60000000000 != 0, n DESC) AS place"           \
    " FROM images) ORDER BY place DESC, seen, ended DESC, n LIMIT ?)"

/* Drops rows of other tables that belong to no image. */
static int drop_orphans(struct history *h, struct error *err)
{
    int r =
        store_exec(h->store, "DELETE FROM parts WHERE image NOT IN (SELECT n FROM images)", err);

    if (r < 0)
        return r;
    h->stats.dropped_by_size += (uint64_t)sqlite3_changes(h->store->db);
    return store_exec(h->store,
                      "DELETE FROM stops WHERE image NOT IN (SELECT n FROM images);"
                      "DELETE FROM marks WHERE image != 0 AND image NOT IN (SELECT n FROM images)",
                      err);
}

int images_drop(struct history *h, struct error *err)
{
    uint64_t max = MIN(HISTORY_IMAGES_KEPT, h->store->opts.max_bytes / IMAGE_BYTES), count, dropped;
    int r = store_number(h->store, "SELECT count(*) FROM images", &count, err);

    max = MAX(max, IMAGES_AT_ONCE);
    if (r < 0 || count <= max)
        return r;
    r = store_exec(h->store, "BEGIN IMMEDIATE", err);
    if (r < 0)
        return r;
    r = store_run(h->store, DROP, CANNOT_WRITE, err, VALUE(MAX(count - max, max / IMAGES_AT_ONCE)));
    dropped = r == 0 ? (uint64_t)sqlite3_changes(h->store->db) : 0;
    if (r == 0)
        r = drop_orphans(h, err);
    r = end_transaction(h->store, r, err);
    h->stats.images_dropped += r == 0 ? dropped : 0;
    return r;
}

/* ---- reading ---- */

static const char *kept_text(struct image_list *l, const char *text)
{
    uint32_t id = 0;

    l->texts_left_out += intern_add(l->strings, span_of(text), &id) < 0;
    return id ? intern_get(l->strings, id).p : "";
}

/* Gets the image of the row of @stmt. Its texts live until the next step. */
static void read_image(sqlite3_stmt *stmt, struct history_image *ret)
{
    *ret = (struct history_image){
        .n = sqlite3_column_int64(stmt, 0),
        .host_pid = sqlite3_column_int(stmt, 1),
        .start_ticks = (uint64_t)sqlite3_column_int64(stmt, 2),
        .exec_no = (uint32_t)sqlite3_column_int64(stmt, 3),
        .owner = (uint32_t)sqlite3_column_int64(stmt, 4),
        .name = store_text(stmt, 5),
        .container = store_text(stmt, 6),
        .pod = store_text(stmt, 7),
        .pod_namespace = store_text(stmt, 8),
        .service = store_text(stmt, 9),
        .version = store_text(stmt, 10),
        .environment = store_text(stmt, 11),
        .java = store_text(stmt, 12),
        .flags = (uint64_t)sqlite3_column_int64(stmt, 13),
        .started_ns = (uint64_t)sqlite3_column_int64(stmt, 14),
        .first_ns = (uint64_t)sqlite3_column_int64(stmt, 15),
        .last_ns = (uint64_t)sqlite3_column_int64(stmt, 16),
        .attributes = store_text(stmt, 17),
        .payer = (uint64_t)sqlite3_column_int64(stmt, 18),
    };
}

/* Copies the texts of @image, so that they live as long as @l. */
static void keep_texts(struct image_list *l, struct history_image *image)
{
    const char **const texts[] = { &image->name,        &image->container,  &image->pod,
                                   &image->service,     &image->version,    &image->pod_namespace,
                                   &image->environment, &image->attributes, &image->java };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        *texts[i] = kept_text(l, *texts[i]);
}

int image_list_read(struct history *h, const struct history_query *q, struct image_list *ret,
                    struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    uint64_t hour_ns = history_tier_ns(HISTORY_TIERS - 1);
    struct history_image image;
    int r = intern_new(IMAGE_STRINGS_MAX, &ret->strings);

    /* a part of an hour also has images that were seen only outside the query's span */
    if (r == 0)
        r = store_query(h->store,
                        "SELECT " IMAGE_COLUMNS " FROM images WHERE first_ns < ?2 AND last_ns >= "
                        "?1 ORDER BY n",
                        &stmt, err, VALUE(history_floor(q->from_ns, HISTORY_TIERS - 1)),
                        VALUE(MIN(q->to_ns, (uint64_t)INT64_MAX - hour_ns) + hour_ns));
    while (r == 0 && ret->count < HISTORY_IMAGES_MAX &&
           (r = store_step(h->store, stmt, CANNOT_READ, err)) > 0) {
        r = 0;
        read_image(stmt, &image);
        if (q->wants && !q->wants(q->cookie, &image))
            continue;
        if (!array_grow(&ret->items, &ret->cap, ret->count + 1, 64)) {
            r = -ENOMEM;
            continue;
        }
        keep_texts(ret, &image);
        ret->items[ret->count++] = image;
    }
    return r;
}

void image_list_deinit(struct image_list *l)
{
    free(l->items);
    free(l->by_process);
    intern_free(l->strings);
}

const struct history_image *image_list_find(const struct image_list *l, int64_t n)
{
    size_t low = array_first(l->count, middle, l->items[middle].n < n);

    return low < l->count && l->items[low].n == n ? &l->items[low] : NULL;
}

ORDER_FUNCTION(by_process, struct history_image *const,
               COMPARE((*x)->host_pid, (*y)->host_pid) ?:
                   COMPARE((*x)->start_ticks, (*y)->start_ticks) ?:
                   COMPARE((*x)->exec_no, (*y)->exec_no))

static int sort_by_process(struct image_list *l)
{
    if (l->by_process)
        return 0;
    l->by_process = calloc(l->count + 1, sizeof(*l->by_process));
    if (!l->by_process)
        return -ENOMEM;
    for (size_t i = 0; i < l->count; i++)
        l->by_process[i] = &l->items[i];
    qsort(l->by_process, l->count, sizeof(*l->by_process), by_process);
    return 0;
}

/* Adds @text to the strings of @p. Returns its id; 0 if the text is empty or there is no room. */
static uint32_t add_text(struct image_list *l, struct profile *p, const char *text)
{
    uint32_t id = 0;

    l->texts_left_out += intern_add(p->strings, span_of(text), &id) < 0;
    return id;
}

int image_list_describe(struct image_list *l, struct profile *p)
{
    int r = sort_by_process(l);

    for (size_t i = 0; i < p->process_count && r == 0; i++) {
        struct profile_process *process = &p->processes[i];
        const struct history_image like = { .host_pid = process->host_pid,
                                            .start_ticks = process->start_ticks,
                                            .exec_no = process->exec_no },
                                   *key = &like, **found;

        found = bsearch(&key, l->by_process, l->count, sizeof(*l->by_process), by_process);
        if (!process->host_pid || !found)
            continue;
        process->version = add_text(l, p, (*found)->version);
        process->attributes = add_text(l, p, (*found)->attributes);
        process->payer = (*found)->payer;
    }
    return r;
}

int history_images(struct history *h, const struct history_query *q, history_image_fn fn,
                   void *cookie, struct error *err)
{
    _cleanup_(image_list_deinit) struct image_list list = { 0 };
    int r = store_enter(h->store, STORE_WAIT_NS, err);

    if (r < 0)
        return r;
    r = image_list_read(h, q, &list, err);
    store_leave(h->store);
    for (size_t i = list.count; i > 0 && r == 0; i--) {
        const struct history_image *image = &list.items[i - 1];

        if (image->host_pid && image->first_ns < q->to_ns && image->last_ns > q->from_ns)
            fn(cookie, image);
    }
    return r;
}
