/* SPDX-License-Identifier: Apache-2.0 */
/* The JVM images of the history. */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/shares.h"
#include "base/text.h"
#include "store/history_impl.h"
#include "store/jvm_options.h"

#define IMAGE_STRINGS_MAX ((size_t)64 << 20) /* bytes of one answer: 2 KiB for each image kept */
#define IMAGE_BYTES 8192u  /* bytes of the file for each image, mostly for its samples */
#define IMAGES_AT_ONCE 16u /* at least 1 in this many images is dropped at a time */
#define IMAGE_COLUMNS                                                                              \
    "n, pid, start_ticks, exec_no, owner, name, container, pod, namespace, service, version,"      \
    " environment, java, flags, started_ns, first_ns, last_ns, attributes, payer"
#define OPTIONS_BYTES 320 /* this and the next two: bytes of a mark's text */
#define VERSION_BYTES 60
#define DIFFERENCE_BYTES (OPTIONS_BYTES + 4 * VERSION_BYTES + 40)
/* The text for changed values that are not kept, and for options of the program. */
#define OTHER_OPTIONS "other options of the JVM"

/* Selects the JVM of a service and place (history_same_place()) that started last before ?9, except
 * row ?3: flamed may see JVMs in another order than they started in. ?7: name_line(). ?8: the
 * payer; 0 and -1 (OWNER_FOREIGN) mean no payer. */
#define LAST_OF                                                                                    \
    "SELECT version, java, flags, options, attributes FROM images WHERE service = ?1"              \
    " AND owner = ?2 AND n != ?3 AND java != '' AND started_ns <= ?9 AND namespace = ?4"           \
    " AND (CASE WHEN ?5 = '' THEN pod = '' AND"                                                    \
    " CASE WHEN ?7 != '' THEN instr(char(10) || attributes, ?7) ELSE container = ?6"               \
    " AND (?6 = '' OR (payer = ?8 AND payer NOT IN (0, -1)))"                                      \
    " AND NOT instr(char(10) || attributes, char(10) || '" HISTORY_CONTAINER_NAME "') END"         \
    " ELSE pod != '' AND (?4 != '' OR pod = ?5) END)"                                              \
    " ORDER BY started_ns DESC, n DESC LIMIT 1"

/* ---- writing ---- */

/* Returns @text cut to VERSION_BYTES, after a whole character, in @field. */
static const char *cut(const char *text, char field[VERSION_BYTES + 1])
{
    return text_clean_into(span_of(text), field, VERSION_BYTES + 1);
}

/* Returns the name of the jar in the line @jar, cut to VERSION_BYTES, in @field. */
static const char *jar_name(struct span jar, char field[VERSION_BYTES + 1])
{
    return text_clean_into(span_from(jar, span_find(jar, ' ') + 1), field, VERSION_BYTES + 1);
}

/* Writes how the program's jar differs. Returns the number of bytes; 0: it is the same, or not
 * known of both JVMs. */
static size_t jar_difference(const char *before, const char *now, char *ret, size_t size)
{
    struct span old = span_find_line(span_of(before), HISTORY_JAR),
                new = span_find_line(span_of(now), HISTORY_JAR);
    char a[VERSION_BYTES + 1], b[VERSION_BYTES + 1];

    if (!old.n || !new.n || span_eq(old, new))
        return 0;
    if (strcmp(jar_name(new, a), jar_name(old, b)) == 0)
        return (size_t)snprintf(ret, size, "another %s", a);
    return (size_t)snprintf(ret, size, "%s after %s", a, b);
}

/* Writes the differences as part of a sentence; "" if no fact differs that is known of both
 * JVMs. */
static void difference(sqlite3_stmt *before, const struct history_image *now, char *ret,
                       size_t size)
{
    _cleanup_buf_ struct buf options = BUF_UPTO(OPTIONS_BYTES);
    const char *version = store_text(before, 0), *java = store_text(before, 1);
    uint64_t flags = (uint64_t)sqlite3_column_int64(before, 2);
    char a[VERSION_BYTES + 1], b[VERSION_BYTES + 1];
    size_t n = 0;

    ret[0] = '\0';
    if (version[0] && now->version[0] && strcmp(version, now->version) != 0 &&
        span_eq(history_version_source(store_text(before, 4)),
                history_version_source(now->attributes)))
        n += (size_t)snprintf(ret, size, "version %s after %s", cut(now->version, a),
                              cut(version, b));
    else
        n += jar_difference(store_text(before, 4), now->attributes, ret, size);
    if (java[0] && strcmp(java, now->java) != 0 && n < size)
        n += (size_t)snprintf(ret + n, size - n, "%sJava %s after %s", n ? ", " : "",
                              cut(now->java, a), cut(java, b));
    if (!flags || !now->flags || flags == now->flags || n >= size)
        return;
    if (store_text(before, 3)[0] && now->options && now->options[0])
        jvm_options_difference(span_of(store_text(before, 3)), span_of(now->options), &options);
    snprintf(ret + n, size - n, "%s%.*s", n ? ", " : "",
             options.n ? (int)options.n : (int)strlen(OTHER_OPTIONS),
             options.n ? options.p : OTHER_OPTIONS);
}

struct history_place history_place_of(const struct history_image *image)
{
    return (struct history_place){ .owner = image->owner,
                                   .container = image->container,
                                   .pod = image->pod,
                                   .pod_namespace = image->pod_namespace,
                                   .attributes = image->attributes,
                                   .payer = image->payer };
}

struct span history_container_name(const char *attributes)
{
    return span_find_line(span_of(attributes), HISTORY_CONTAINER_NAME);
}

struct span history_version_source(const char *attributes)
{
    return span_find_line(span_of(attributes), HISTORY_VERSION_SOURCE);
}

/* Writes the line of attributes that names the container of @image, with line ends around it; ""
 * without a name. */
static void name_line(const struct history_image *image, struct buf *ret)
{
    struct span name = history_container_name(image->attributes);

    if (name.n)
        buf_printf(ret, "\n" HISTORY_CONTAINER_NAME "%.*s\n", (int)name.n, name.p);
    else
        buf_add_str(ret, "");
}

/* A service's name is only a claim of the JVM. So pods count as one service only in the same
 * namespace, and other containers only with the same name. If the runtime gives no names, an id
 * counts only with the same payer: a container that may write cgroups can choose its id, but not
 * its name or payer. LAST_OF selects by the same rule. */
bool history_same_place(const struct history_place *a, const struct history_place *b)
{
    struct span name = history_container_name(a->attributes);
    bool same_name = span_eq(name, history_container_name(b->attributes));

    if (a->owner != b->owner || strcmp(a->pod_namespace, b->pod_namespace) != 0 ||
        !a->pod[0] != !b->pod[0])
        return false;
    if (a->pod[0])
        return a->pod_namespace[0] || strcmp(a->pod, b->pod) == 0;
    if (!same_name || name.n)
        return same_name;
    if (strcmp(a->container, b->container) != 0)
        return false;
    return !a->container[0] || (a->payer == b->payer && a->payer && a->payer != OWNER_FOREIGN);
}

/* Adds a mark if @image differs from the JVM of its service and place that started last. */
static int note_deploy(struct history *h, const struct history_image *image, int64_t n,
                       uint64_t start_ns, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    _cleanup_buf_ struct buf name = BUF_UPTO(4096);
    char what[DIFFERENCE_BYTES], text[DIFFERENCE_BYTES + 160];
    uint64_t started_ns = image->started_ns ? image->started_ns : start_ns;
    int r;

    if (!image->service[0] || !image->java[0])
        return 0;
    name_line(image, &name);
    if (name.error)
        return name.error;
    r = store_query(h->store, LAST_OF, &stmt, err, VALUE(image->service), VALUE(image->owner),
                    VALUE(n), VALUE(image->pod_namespace), VALUE(image->pod),
                    VALUE(image->container), VALUE(name.p), VALUE((int64_t)image->payer),
                    VALUE(started_ns));
    if (r == 0)
        r = store_step(h->store, stmt, CANNOT_READ, err);
    if (r <= 0)
        return r; /* 0: no other JVM of this service is known */
    difference(stmt, image, what, sizeof(what));
    if (!what[0])
        return 0;
    snprintf(text, sizeof(text), "%.128s was started again: %s.", image->service, what);
    return marks_add(
        h,
        &(struct history_mark){ .time_ns = started_ns, .kind = HISTORY_MARK_DEPLOY, .text = text },
        n, err);
}

static int image_insert(struct history *h, const struct history_image *image, uint64_t start_ns,
                        int64_t *ret, struct error *err)
{
    static const char SQL[] =
        "INSERT INTO images(n, pid, start_ticks, exec_no, owner, name, container, pod, namespace,"
        " service, version, environment, java, flags, started_ns, first_ns, last_ns, attributes,"
        " payer, options) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
    int r = store_run(h->store, SQL, CANNOT_WRITE, err, VALUE(h->next_image),
                      VALUE(image->host_pid), VALUE(image->start_ticks), VALUE(image->exec_no),
                      VALUE(image->owner), VALUE(image->name), VALUE(image->container),
                      VALUE(image->pod), VALUE(image->pod_namespace), VALUE(image->service),
                      VALUE(image->version), VALUE(image->environment), VALUE(image->java),
                      VALUE(image->flags), VALUE(image->started_ns), VALUE(start_ns),
                      VALUE(image->ended_ns ? image->ended_ns : start_ns + HISTORY_MINUTE_NS),
                      VALUE(image->attributes), VALUE((int64_t)image->payer),
                      VALUE(image->options ? image->options : ""));

    if (r == 0)
        *ret = h->next_image++;
    return r;
}

/* Updates a row, but keeps known facts that a later minute lacks. A last_ns that is no whole minute
 * is the exact end, which later samples do not change. */
static int image_update(struct history *h, int64_t n, const struct history_image *image,
                        uint64_t start_ns, struct error *err)
{
    static const char SQL[] =
        "UPDATE images SET first_ns = min(first_ns, ?3), last_ns = CASE WHEN ?11 != 0 THEN ?11"
        " WHEN last_ns % 60000000000 != 0 THEN last_ns ELSE max(last_ns, ?2) END,"
        " service = CASE ?4 WHEN '' THEN service ELSE ?4 END,"
        " version = CASE ?5 WHEN '' THEN version ELSE ?5 END,"
        " environment = CASE ?6 WHEN '' THEN environment ELSE ?6 END,"
        " java = CASE ?7 WHEN '' THEN java ELSE ?7 END,"
        " flags = CASE ?8 WHEN 0 THEN flags ELSE ?8 END,"
        " started_ns = CASE ?9 WHEN 0 THEN started_ns ELSE ?9 END,"
        " attributes = CASE ?10 WHEN '' THEN attributes ELSE ?10 END,"
        " container = CASE ?12 WHEN '' THEN container ELSE ?12 END,"
        " pod = CASE ?13 WHEN '' THEN pod ELSE ?13 END,"
        " namespace = CASE ?14 WHEN '' THEN namespace ELSE ?14 END,"
        " payer = CASE ?15 WHEN 0 THEN payer ELSE ?15 END,"
        " options = CASE ?16 WHEN '' THEN options ELSE ?16 END WHERE n = ?1";

    return store_run(h->store, SQL, CANNOT_WRITE, err, VALUE(n),
                     VALUE(start_ns + HISTORY_MINUTE_NS), VALUE(start_ns), VALUE(image->service),
                     VALUE(image->version), VALUE(image->environment), VALUE(image->java),
                     VALUE(image->flags), VALUE(image->started_ns), VALUE(image->attributes),
                     VALUE(image->ended_ns), VALUE(image->container), VALUE(image->pod),
                     VALUE(image->pod_namespace), VALUE((int64_t)image->payer),
                     VALUE(image->options ? image->options : ""));
}

/* A row of images. */
struct found_image {
    int64_t n;       /* 0: there is none */
    bool understood; /* the facts of the JVM are known */
};

/* Runs @sql, which selects a row of images. Returns 0 or -errno. */
static int find_by(struct history *h, const char *sql, const struct history_image *image,
                   struct found_image *ret, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int r = store_query(h->store, sql, &stmt, err, VALUE(image->host_pid),
                        VALUE(image->start_ticks), VALUE(image->exec_no), VALUE(image->owner),
                        VALUE(h->earlier), VALUE(image->name), VALUE(image->service));

    *ret = (struct found_image){ 0 };
    if (r == 0)
        r = store_step(h->store, stmt, CANNOT_READ, err);
    if (r > 0) {
        ret->n = sqlite3_column_int64(stmt, 0);
        ret->understood = store_text(stmt, 1)[0] != '\0';
    }
    return MIN(r, 0);
}

/* Finds the row of @image. flamed numbers the execs that it saw. A process that is older than
 * flamed has number 0, and an earlier flamed may have given it another number. So such a process
 * belongs to an earlier row with its name and service, unless that row has ended. Returns 0 or
 * -errno. */
static int find_image(struct history *h, const struct history_image *image, struct found_image *ret,
                      struct error *err)
{
    int r = find_by(h,
                    "SELECT n, java FROM images WHERE pid = ?1 AND start_ticks = ?2"
                    " AND exec_no = ?3 AND owner = ?4 AND (n > ?5 OR ?3 = 0 AND name = ?6)",
                    image, ret, err);

    if (r < 0 || ret->n || image->exec_no || !h->earlier)
        return r;
    return find_by(h,
                   "SELECT n, java FROM images WHERE pid = ?1 AND start_ticks = ?2"
                   " AND exec_no != ?3 AND owner = ?4 AND n <= ?5 AND name = ?6"
                   " AND service = ?7 AND last_ns % 60000000000 = 0 ORDER BY n DESC LIMIT 1",
                   image, ret, err);
}

/* Gives the number of @image to its row @n; 0: it has no row yet. If an earlier flamed gave that
 * number to another program, that program's row gets a number that flamed never gives. */
static int number_image(struct history *h, int64_t n, const struct history_image *image,
                        struct error *err)
{
    int r = store_run(h->store,
                      "UPDATE images SET exec_no = 0x80000000 + n WHERE pid = ? AND start_ticks = ?"
                      " AND exec_no = ? AND owner = ? AND n != ?",
                      CANNOT_WRITE, err, VALUE(image->host_pid), VALUE(image->start_ticks),
                      VALUE(image->exec_no), VALUE(image->owner), VALUE(n));

    if (r < 0 || !n)
        return r;
    return store_run(h->store, "UPDATE images SET exec_no = ?2 WHERE n = ?1 AND exec_no != ?2",
                     CANNOT_WRITE, err, VALUE(n), VALUE(image->exec_no));
}

int images_number(struct history *h, struct error *err)
{
    _cleanup_stmt_ sqlite3_stmt *stmt = NULL;
    int64_t last;
    int r;

    if (h->numbered == h->store->openings)
        return 0;
    r = store_query(h->store, "SELECT max(n) FROM images", &stmt, err);
    if (r == 0)
        r = store_step(h->store, stmt, CANNOT_READ, err);
    if (r < 0)
        return r;
    last = sqlite3_column_int64(stmt, 0); /* 0: no rows */
    if (last >= h->next_image) {
        h->earlier = last;
        h->next_image = last + 1;
    }
    h->numbered = h->store->openings;
    return 0;
}

int images_note(struct history *h, const struct history_image *image, uint64_t start_ns,
                int64_t *ret, struct error *err)
{
    /* the end may be reported in the minute after the end */
    uint64_t seen_ns =
        image->ended_ns ? MIN(start_ns, history_floor(image->ended_ns, 0)) : start_ns;
    struct found_image found; /* the row before this minute */
    int64_t n;
    int r = find_image(h, image, &found, err);

    n = r < 0 ? 0 : found.n;
    if (r == 0 && h->earlier && n <= h->earlier)
        r = number_image(h, n, image, err);
    if (r == 0)
        r = n ? image_update(h, n, image, seen_ns, err) : image_insert(h, image, seen_ns, &n, err);
    if (r == 0 && !found.understood)
        r = note_deploy(h, image, n, start_ns, err);
    if (r == 0)
        *ret = n;
    return r;
}

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
    uint64_t max = MIN(HISTORY_IMAGES_KEPT, h->store->opts.max_bytes / IMAGE_BYTES),
             count = store_number(h->store, "SELECT count(*) FROM images"), dropped;
    int r;

    max = MAX(max, IMAGES_AT_ONCE);
    if (count <= max)
        return 0;
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
