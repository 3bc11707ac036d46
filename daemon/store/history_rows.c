/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, adds and updates the rows of JVM images. */
#include "base/cleanup.h"
#include "store/history_impl.h"

/* Facts of a JVM that come later than that do not belong to its start. */
#define NAMED_WITHIN_NS (5 * HISTORY_MINUTE_NS)

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
 * is the exact end, which later samples do not change. If the JVM still runs, that end was false:
 * only its first thread had ended. first_ns stays when a known end is repeated, as the wall clock
 * may have been set back since. */
static int image_update(struct history *h, int64_t n, const struct history_image *image,
                        uint64_t start_ns, struct error *err)
{
    static const char SQL[] =
        "UPDATE images SET"
        " first_ns = CASE WHEN ?11 != 0 AND ?11 = last_ns THEN first_ns"
        " ELSE min(first_ns, ?3) END,"
        " last_ns = CASE WHEN ?11 != 0 THEN ?11"
        " WHEN ?17 THEN max((last_ns + 59999999999) / 60000000000 * 60000000000, ?2)"
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
                     VALUE(image->options ? image->options : ""), VALUE(image->running));
}

/* The facts of a row before the minute that is written. */
#define FOUND                                                                                      \
    "SELECT n, java, service, version, attributes, flags, container, pod, namespace, payer,"       \
    " started_ns, first_ns FROM images"
struct found_image {
    int64_t n;       /* 0: there is none */
    bool understood; /* the facts of the JVM are known */
    bool differs;    /* the minute has other facts, which may show a release */
    uint64_t started_ns, first_ns;
};

/* Returns whether @now is known and not that of column @column. */
static bool other_text(sqlite3_stmt *row, int column, const char *now)
{
    return now[0] && strcmp(now, store_text(row, column)) != 0;
}

/* Does the same for the line of the attributes @now that begins with @key. */
static bool other_line(sqlite3_stmt *row, const char *now, const char *key)
{
    struct span line = span_find_line(span_of(now), key);

    return line.n && !span_eq(line, span_find_line(span_of(store_text(row, 4)), key));
}

/* Returns whether @now has a fact that releases_note() uses and @row does not have. */
static bool has_other_facts(sqlite3_stmt *row, const struct history_image *now)
{
    return other_text(row, 1, now->java) || other_text(row, 2, now->service) ||
           other_text(row, 3, now->version) || other_text(row, 6, now->container) ||
           other_text(row, 7, now->pod) || other_text(row, 8, now->pod_namespace) ||
           other_line(row, now->attributes, HISTORY_CONTAINER_NAME) ||
           other_line(row, now->attributes, HISTORY_JAR) ||
           (now->version[0] && !span_eq(history_version_source(store_text(row, 4)),
                                        history_version_source(now->attributes))) ||
           (now->flags && (int64_t)now->flags != sqlite3_column_int64(row, 5)) ||
           (now->payer && (int64_t)now->payer != sqlite3_column_int64(row, 9));
}

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
        ret->differs = has_other_facts(stmt, image);
        ret->started_ns = (uint64_t)sqlite3_column_int64(stmt, 10);
        ret->first_ns = (uint64_t)sqlite3_column_int64(stmt, 11);
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
                    FOUND " WHERE pid = ?1 AND start_ticks = ?2"
                          " AND exec_no = ?3 AND owner = ?4 AND (n > ?5 OR ?3 = 0 AND name = ?6)",
                    image, ret, err);

    if (r < 0 || ret->n || image->exec_no || !h->earlier)
        return r;
    return find_by(h,
                   FOUND " WHERE pid = ?1 AND start_ticks = ?2"
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

/* Judges again whether @image is another release. A JVM, or its container, may be named some
 * seconds after the row got its first facts. */
static int note_again(struct history *h, const struct history_image *image,
                      const struct found_image *found, uint64_t start_ns, struct error *err)
{
    int r =
        store_run(h->store, "DELETE FROM marks WHERE time_ns IN (?, ?) AND image = ? AND kind = ?",
                  CANNOT_WRITE, err, VALUE(found->started_ns), VALUE(found->first_ns),
                  VALUE(found->n), VALUE(HISTORY_MARK_DEPLOY));

    return r == 0 ? releases_note(h, image, found->n, start_ns, err) : r;
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
        r = releases_note(h, image, n, start_ns, err);
    else if (r == 0 && found.differs && image->java[0] && image->service[0] &&
             start_ns - MIN(start_ns, found.first_ns) < NAMED_WITHIN_NS)
        r = note_again(h, image, &found, start_ns, err);
    if (r == 0)
        *ret = n;
    return r;
}
