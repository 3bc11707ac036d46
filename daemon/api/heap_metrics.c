/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of JVMs as Prometheus text. The engine's thread only copies the counters that discover/
 * keeps; the thread that answers converts them to text.
 */
#include "api/exposition.h"
#include "api/heap.h"
#include "base/shares.h"
#include "discover/residence.h"

#define LABELS_MAX ((size_t)8 << 20)
#define NS_PER_S 1e9
#define RESIDENCE_OLD_NS                                                                           \
    (180 * NSEC_PER_SEC) /* flamed counts pages each minute while there is time */

struct heap_metrics_jvm {
    struct counters c;
    uint64_t resident[MEMORY_AREA_COUNT]; /* bytes */
    bool counted;                         /* resident is known */
    size_t labels_at, labels_n;           /* position of its labels in the buffer of labels */
};

/* ---- the engine's thread ---- */

#define OWNERS_AT_ONCE 128 /* limit of JVMs per answer for which the owner is determined */

struct collecting {
    struct heap_metrics *m;
    const struct target *seen;
    uint64_t now_ns;
    size_t found, asked;        /* number of JVMs with counters; number of owners determined */
    struct shares wanted, used; /* number of JVMs by owner, if there are too many */
    uint64_t level;             /* the answer has at most this many JVMs of an owner */
};

/* Returns the counter of left-out JVMs for the reason that applies to @p. NULL: @p is in the
 * answer. */
static uint64_t *reason(struct collecting *a, const struct process *p)
{
    if (p->jvm != JVM_READY || (!p->counters && !p->counters_off))
        return &a->m->unread;
    if (p->counters_off)
        return &a->m->off;
    return a->now_ns - p->counters_ns > HEAP_METRICS_NEW_NS ? &a->m->late : NULL;
}

static bool is_seen(const struct collecting *a, const struct process *p)
{
    return p->jvm != JVM_NO && !p->exited && target_sees(a->seen, p);
}

static uint64_t owner_of(struct collecting *a, struct process *p)
{
    if (!p->payer && ++a->asked > OWNERS_AT_ONCE)
        return OWNER_FOREIGN;
    return process_payer(p);
}

static int count(void *cookie, struct process *p)
{
    struct collecting *a = cookie;
    uint64_t *why = is_seen(a, p) ? reason(a, p) : &(uint64_t){ 0 };

    *(why ? why : &a->found) += 1;
    return 0;
}

static int count_of_owner(void *cookie, struct process *p)
{
    struct collecting *a = cookie;

    if (is_seen(a, p) && !reason(a, p))
        shares_force(&a->wanted, owner_of(a, p), 1);
    return 0;
}

/* Counts @p for its owner. Returns false if that exceeds the share of one owner. */
static bool has_room(struct collecting *a, struct process *p)
{
    uint64_t owner = a->level == UINT64_MAX ? 0 : owner_of(a, p);

    shares_force(&a->used, owner, 1);
    return shares_used(&a->used, owner) <= a->level;
}

/* Returns room for one more JVM; NULL: no memory, or too many. */
static struct heap_metrics_jvm *add_room(struct heap_metrics *m)
{
    size_t room = m->room ? MIN(m->room * 2, (size_t)HEAP_METRICS_JVMS_MAX) : 16;
    struct heap_metrics_jvm *jvms;

    if (m->count < m->room)
        return &m->jvms[m->count];
    if (m->room == HEAP_METRICS_JVMS_MAX)
        return NULL;
    jvms = realloc(m->jvms, room * sizeof(*jvms));
    if (!jvms)
        return NULL;
    m->jvms = jvms;
    m->room = room;
    return &m->jvms[m->count];
}

static int collect(void *cookie, struct process *p)
{
    struct collecting *a = cookie;
    struct heap_metrics *m = a->m;
    struct heap_metrics_jvm *one;

    if (!is_seen(a, p) || reason(a, p))
        return 0;
    one = has_room(a, p) ? add_room(m) : NULL;
    if (!one) {
        m->beyond++;
        return 0;
    }
    one->c = *p->counters;
    one->counted = p->residence && a->now_ns - p->residence->held_ns <= RESIDENCE_OLD_NS;
    if (one->counted)
        memcpy(one->resident, p->residence->now.bytes, sizeof(one->resident));
    one->labels_at = m->labels.n;
    metric_jvm_labels(&m->labels, p);
    one->labels_n = m->labels.n - one->labels_at;
    m->count++;
    return 0;
}

void heap_metrics_collect(struct api *api, const struct viewer *v, struct heap_metrics *ret)
{
    struct target_selector all = { .viewer = v };
    _cleanup_(target_freep) struct target *seen = NULL;
    struct collecting a = { .m = ret };

    if (target_new(&all, &seen, NULL) != 0)
        return;
    buf_init(&ret->labels, LABELS_MAX);
    discover_want_counters(api->engine.discover);
    a.seen = seen;
    a.now_ns = clock_monotonic_ns();
    a.level = UINT64_MAX;
    shares_init(&a.wanted, 0);
    shares_init(&a.used, 0);
    discover_each(api->engine.discover, count, &a);
    if (a.found > HEAP_METRICS_JVMS_MAX) {
        discover_each(api->engine.discover, count_of_owner, &a);
        a.level = shares_level(&a.wanted, HEAP_METRICS_JVMS_MAX);
    }
    discover_each(api->engine.discover, collect, &a);
}

void heap_metrics_deinit(struct heap_metrics *m)
{
    free(TAKE_PTR(m->jvms));
    buf_deinit(&m->labels);
    m->count = m->room = 0;
}

/* ---- the thread that answers ---- */

/* State of line(), which writes samples of family @name for @jvm, and skips unknown values. */
struct writer {
    const struct heap_metrics *m;
    const struct heap_metrics_jvm *jvm;
    const char *name;
    struct buf *out;
};

static void line(const struct writer *w, const char *label, const char *text, double value)
{
    if (value < 0)
        return;
    buf_add_str(w->out, w->name);
    buf_add_char(w->out, '{');
    buf_add(w->out, w->m->labels.p + w->jvm->labels_at, w->jvm->labels_n);
    if (label) {
        buf_add_char(w->out, ',');
        metric_label(w->out, label, text);
    }
    buf_add_str(w->out, "} ");
    metric_value(w->out, value);
}

typedef int64_t (*pool_value_fn)(const struct counted_pool *p);

static int64_t pool_used(const struct counted_pool *p)
{
    return p->used;
}

static int64_t pool_committed(const struct counted_pool *p)
{
    return p->committed;
}

static int64_t pool_max(const struct counted_pool *p)
{
    return p->max;
}

/* Writes each space of the heap, named as "young eden", then metaspace and its class space. */
static void pools(const struct writer *w, pool_value_fn value)
{
    const struct counters *c = &w->jvm->c;

    for (size_t i = 0; i < COUNTERS_GENERATIONS_MAX; i++) {
        const struct counted_generation *g = &c->generations[i];

        for (size_t j = 0; j < COUNTERS_SPACES_MAX; j++) {
            char name[2 * COUNTERS_NAME_MAX];

            if (!g->spaces[j].name[0])
                continue;
            snprintf(name, sizeof(name), "%s %s", g->whole.name, g->spaces[j].name);
            line(w, "pool", name, (double)value(&g->spaces[j]));
        }
    }
    line(w, "pool", c->metaspace.name, (double)value(&c->metaspace));
    line(w, "pool", c->class_space.name, (double)value(&c->class_space));
}

static void write_used(const struct writer *w)
{
    pools(w, pool_used);
}

static void write_committed(const struct writer *w)
{
    pools(w, pool_committed);
    line(w, "pool", "code cache", (double)w->jvm->c.code_cache_committed);
}

static void write_max(const struct writer *w)
{
    pools(w, pool_max);
    line(w, "pool", "code cache", (double)w->jvm->c.code_cache_max);
}

static double seconds(int64_t ns)
{
    return ns == COUNTERS_UNKNOWN ? -1 : (double)ns / NS_PER_S;
}

static void write_counter(const struct writer *w, size_t at, double scale)
{
    int64_t value = *(const int64_t *)(const void *)((const char *)&w->jvm->c + at);

    line(w, NULL, NULL, value == COUNTERS_UNKNOWN ? -1 : (double)value / scale);
}

static void write_collections(const struct writer *w)
{
    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++) {
        if (w->jvm->c.collectors[i].name[0])
            line(w, "collector", w->jvm->c.collectors[i].name,
                 (double)w->jvm->c.collectors[i].count);
    }
}

static void write_collection_seconds(const struct writer *w)
{
    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++) {
        if (w->jvm->c.collectors[i].name[0])
            line(w, "collector", w->jvm->c.collectors[i].name,
                 seconds(w->jvm->c.collectors[i].time_ns));
    }
}

static void write_threads(const struct writer *w)
{
    const struct counters *c = &w->jvm->c;

    line(w, "kind", "daemon", (double)c->threads_daemon);
    if (c->threads_live >= c->threads_daemon && c->threads_daemon >= 0)
        line(w, "kind", "other", (double)(c->threads_live - c->threads_daemon));
}

/* Adds two counters. Either may be unknown. */
static double sum_of_known(int64_t a, int64_t b)
{
    if (a < 0 && b < 0)
        return -1;
    return (double)MAX(a, 0) + (double)MAX(b, 0);
}

static void write_classes_loaded(const struct writer *w)
{
    line(w, NULL, NULL, sum_of_known(w->jvm->c.classes_loaded, w->jvm->c.shared_classes_loaded));
}

static void write_classes_unloaded(const struct writer *w)
{
    line(w, NULL, NULL,
         sum_of_known(w->jvm->c.classes_unloaded, w->jvm->c.shared_classes_unloaded));
}

static void write_resident(const struct writer *w)
{
    for (size_t i = 0; w->jvm->counted && i < MEMORY_AREA_COUNT; i++)
        line(w, "area", memory_area_name((enum memory_area)i), (double)w->jvm->resident[i]);
}

#define COUNTER(field) .at = offsetof(struct counters, field), .scale = 1
#define COUNTER_NS(field) .at = offsetof(struct counters, field), .scale = NS_PER_S

static const struct {
    const char *name, *help;
    void (*write)(const struct writer *w); /* NULL: writes the counter at @at divided by @scale */
    size_t at;
    double scale;
} FAMILIES[] = {
    { "flamed_jvm_pool_used_bytes",
      "Memory in use, by space of the heap, metaspace and class space.", .write = write_used },
    { "flamed_jvm_pool_committed_bytes",
      "Memory committed now, by space of the heap, metaspace and class space.",
      .write = write_committed },
    { "flamed_jvm_pool_max_bytes",
      "Most memory that a space of the heap, metaspace or class space may have.",
      .write = write_max },
    { "flamed_jvm_memory_bytes",
      "Memory of the JVM that is resident, by area; the areas add up to its RSS.",
      .write = write_resident },
    { "flamed_jvm_allocated_bytes_total",
      "Bytes that Java threads allocated on the heap, without threads that lived only between two "
      "readings.",
      COUNTER(allocated) },
    { "flamed_jvm_collections_total", "Garbage collections, or their pauses, by collector.",
      .write = write_collections },
    { "flamed_jvm_collection_seconds_total",
      "Time of garbage collections, or of their pauses, by collector.",
      .write = write_collection_seconds },
    { "flamed_jvm_safepoints_total", "Safepoints: moments at which no Java thread runs.",
      COUNTER(safepoints) },
    { "flamed_jvm_safepoint_seconds_total", "Time at safepoints.", COUNTER_NS(safepoint_ns) },
    { "flamed_jvm_safepoint_sync_seconds_total",
      "Time until all threads had stopped for a safepoint.", COUNTER_NS(safepoint_sync_ns) },
    { "flamed_jvm_threads", "Java threads alive.", .write = write_threads },
    { "flamed_jvm_threads_started_total", "Java threads that were started.",
      COUNTER(threads_started) },
    { "flamed_jvm_classes_loaded_total", "Classes loaded.", .write = write_classes_loaded },
    { "flamed_jvm_classes_unloaded_total", "Classes unloaded.", .write = write_classes_unloaded },
    { "flamed_jvm_compile_seconds_total", "Time that compiling methods took.",
      COUNTER_NS(compile_ns) },
};

static void write_left_out(const struct heap_metrics *m, struct buf *out)
{
    const struct {
        const char *why;
        uint64_t n;
    } ROWS[] = { { "no_counters", m->off },
                 { "late", m->late },
                 { "unread", m->unread },
                 { "too_many", m->beyond } };

    metric_head(out, "flamed_jvm_counters_missing",
                "JVMs whose counters are not in this answer, by reason.");
    for (size_t i = 0; i < ARRAY_SIZE(ROWS); i++) {
        buf_printf(out, "flamed_jvm_counters_missing{reason=\"%s\"} ", ROWS[i].why);
        metric_value(out, (double)ROWS[i].n);
    }
}

void heap_metrics_write(const struct heap_metrics *m, bool whole, struct buf *out)
{
    if (m->labels.error)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(FAMILIES); i++) {
        struct writer w = { .m = m, .name = FAMILIES[i].name, .out = out };

        metric_head(out, FAMILIES[i].name, FAMILIES[i].help);
        for (size_t j = 0; j < m->count; j++) {
            w.jvm = &m->jvms[j];
            if (FAMILIES[i].write)
                FAMILIES[i].write(&w);
            else
                write_counter(&w, FAMILIES[i].at, FAMILIES[i].scale);
        }
    }
    if (whole)
        write_left_out(m, out);
}
