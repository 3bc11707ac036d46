/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of releases: how a JVM differs from the one that ran in its service and place before. */
#include "base/cleanup.h"
#include "base/text.h"
#include "store/history_impl.h"
#include "store/jvm_options.h"

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

int releases_note(struct history *h, const struct history_image *image, int64_t n,
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
