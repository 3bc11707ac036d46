/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/jvms/{pid}/heap: a JVM's memory, by the JVM's own counters, as JSON. */
#include "api/heap.h"

#include "api/json.h"
#include "base/clock.h"
#include "discover/discover.h"
#include "discover/memory_history.h"
#include "discover/residence.h"
#include "symbolize/java_text.h"

#include <unistd.h>

#define RESIDENCE_AGE_NS (250 * NSEC_PER_MSEC) /* a count of pages is reused up to this age */
#define RESIDENCE_WAIT_NS (3 * NSEC_PER_SEC)   /* the longest that an answer waits for a count */
#define RESIDENCE_PAUSE_US 2000                /* between two slices of a count */

struct heap_ask {
    const struct viewer *viewer;
    int32_t host_pid;
    bool counted;
    struct counters c;
    uint64_t rss_bytes;
    struct memory_history history; /* owned */
    struct residence *residence;   /* owned; NULL: not known */
    struct error why;              /* why residence is not known */
    struct error *err;
};

/* ---- the engine's thread ---- */

static int heap_refuse(struct heap_ask *a, struct process *p, int r)
{
    if (r == -ENOENT) {
        error_set(a->err, -EOPNOTSUPP, "JVM %d keeps no counters: it runs with -XX:-UsePerfData",
                  a->host_pid);
        error_remedy(a->err, "start it without that option; nothing else is needed");
        return BACKEND_CONFLICT;
    }
    if (r == HOTSPOT_GONE || p->exited) {
        error_set(a->err, -ESRCH, "JVM %d has exited", a->host_pid);
        return BACKEND_NOT_FOUND;
    }
    if (r == -ETIMEDOUT || r == -EBADMSG || r == -EFAULT) {
        error_set(a->err, r, "the counters of JVM %d cannot be read now: %s", a->host_pid,
                  r == -ETIMEDOUT ? "its memory does not answer" : "they contradict each other");
        error_remedy(a->err, "ask again in a second");
        return BACKEND_CONFLICT;
    }
    return error_code(a->err, r, "cannot read the counters of JVM %d", a->host_pid);
}

/* Copies the history with the newest point. Leaves @ret empty if memory is short. */
static void copy_history(const struct process *p, struct memory_history *ret)
{
    const struct memory_history *h = p->history;

    if (!h || !array_grow(&ret->points, &ret->room, h->count + 1, 1))
        return;
    if (h->count)
        memcpy(ret->points, h->points, h->count * sizeof(*h->points));
    ret->count = h->count;
    ret->last = h->last;
    if (!h->count || h->points[h->count - 1].at_ns != h->last.at_ns)
        ret->points[ret->count++] = h->last;
}

static int call_heap(struct api *api, void *arg)
{
    struct heap_ask *a = arg;
    struct process_usage usage = { 0 };
    struct process *p;
    int r = jvm_find_readable(api, a->viewer, a->host_pid, &p, a->err);

    if (r)
        return r;
    if (!a->counted) {
        r = discover_counters(api->engine.discover, p, /* asked= */ true);
        if (r != 0)
            return heap_refuse(a, p, r);
        a->c = *p->counters;
        discover_usage(api->engine.discover, p, &usage);
        a->rss_bytes = usage.rss_bytes;
        copy_history(p, &a->history);
        a->counted = true;
    }
    a->why = ERROR_NULL;
    r = discover_residence(api->engine.discover, p, RESIDENCE_AGE_NS, &a->why);
    if (r == -EINPROGRESS)
        return r;
    if (r != 0)
        return 0;
    a->residence = malloc(sizeof(*a->residence));
    if (!a->residence)
        return -ENOMEM;
    *a->residence = *p->residence;
    return 0;
}

/* ---- the caller's thread ---- */

static json_t *json_known(int64_t v)
{
    return v == COUNTERS_UNKNOWN ? json_null() : json_integer(v);
}

static json_t *json_seconds(int64_t ns)
{
    return ns == COUNTERS_UNKNOWN ? json_null() : json_real((double)ns / 1e9);
}

static json_t *pool_json(const struct counted_pool *p)
{
    return json_pack("{s:s, s:o, s:o, s:o}", "name", p->name, "used", json_known(p->used),
                     "committed", json_known(p->committed), "max", json_known(p->max));
}

static json_t *generations_json(const struct counters *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < COUNTERS_GENERATIONS_MAX; i++) {
        const struct counted_generation *g = &c->generations[i];
        json_t *spaces;

        if (!g->whole.name[0])
            continue;
        spaces = json_array();
        for (size_t j = 0; j < COUNTERS_SPACES_MAX; j++) {
            if (g->spaces[j].name[0])
                json_array_append_new(spaces, pool_json(&g->spaces[j]));
        }
        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o}", "name", g->whole.name,
                                              "committed", json_known(g->whole.committed), "max",
                                              json_known(g->whole.max), "spaces", spaces));
    }
    return list;
}

static json_t *collections_json(const struct counters *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++) {
        if (c->collectors[i].name[0])
            json_array_append_new(list,
                                  json_pack("{s:s, s:o, s:o}", "name", c->collectors[i].name,
                                            "count", json_known(c->collectors[i].count), "seconds",
                                            json_seconds(c->collectors[i].time_ns)));
    }
    return list;
}

static int64_t sum_of_known(int64_t a, int64_t b)
{
    if (a == COUNTERS_UNKNOWN && b == COUNTERS_UNKNOWN)
        return COUNTERS_UNKNOWN;
    return (int64_t)MIN((uint64_t)MAX(a, 0) + (uint64_t)MAX(b, 0), (uint64_t)INT64_MAX);
}

static json_t *area_json(const struct residence *d, enum memory_area i)
{
    return json_pack("{s:s, s:s, s:I, s:I, s:I}", "area", memory_area_name(i), "description",
                     memory_area_text(i), "bytes", (json_int_t)d->now.bytes[i], "mapped",
                     (json_int_t)d->mapped[i], "swapped", (json_int_t)d->swapped[i]);
}

/* Returns the stored points, oldest first: each with its time, its RSS, and the areas in their
 * order. */
static json_t *points_json(const struct residence *d)
{
    json_t *list = json_array();

    for (size_t i = 0; i < d->point_count; i++) {
        const struct residence_point *p =
            &d->points[(d->point_next + RESIDENCE_POINTS_MAX - d->point_count + i) %
                       RESIDENCE_POINTS_MAX];
        json_t *bytes = json_array();

        for (size_t k = 0; k < MEMORY_AREA_COUNT; k++)
            json_array_append_new(bytes, json_integer((json_int_t)p->bytes[k]));
        json_array_append_new(list, json_pack("{s:o, s:I, s:o}", "time", json_time(p->time_ns),
                                              "rss", (json_int_t)p->rss_bytes, "bytes", bytes));
    }
    return list;
}

/* Returns the classes in a sample of the heap, the largest first; null: there is none. */
static json_t *objects_json(const struct residence *d)
{
    const struct heap_sample *s = &d->heap;
    json_t *classes = json_array();

    if (!d->heap_time_ns || !s->pages) {
        json_decref(classes);
        return json_null();
    }
    for (size_t i = 0; i < s->class_count; i++) {
        char name[HEAP_CLASS_NAME_BYTES];

        json_array_append_new(classes,
                              json_pack("{s:s, s:f}", "class",
                                        java_type_clean(s->classes[i].name, name, sizeof(name)),
                                        "share", (double)s->classes[i].bytes / (double)s->bytes));
    }
    return json_pack("{s:o, s:I, s:f, s:o}", "time", json_time(d->heap_time_ns), "pages",
                     (json_int_t)s->pages, "known", (double)s->known / (double)s->bytes, "classes",
                     classes);
}

static json_t *residence_json(const struct residence *d)
{
    json_t *areas;
    uint64_t sum = 0;

    if (!d)
        return json_null();
    areas = json_array();
    for (size_t i = 0; i < MEMORY_AREA_COUNT; i++) {
        sum += d->now.bytes[i];
        json_array_append_new(areas, area_json(d, (enum memory_area)i));
    }
    return json_pack("{s:o, s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:b, s:o}", "time",
                     json_time(d->now.time_ns), "rss", (json_int_t)d->now.rss_bytes, "sum",
                     (json_int_t)sum, "areas", areas, "objects", objects_json(d), "java_threads",
                     (json_int_t)d->java_stacks, "threads", (json_int_t)d->threads, "huge_pages",
                     (json_int_t)d->huge_bytes, "uncounted", (json_int_t)d->uncounted, "truncated",
                     (int)d->truncated, "points", points_json(d));
}

/* ---- over time ---- */

/* Members of a point that are written as plain numbers. */
static const struct {
    const char *name;
    size_t field;
} HISTORY[] = {
    { "heap_used", offsetof(struct memory_point, heap_used) },
    { "heap_committed", offsetof(struct memory_point, heap_committed) },
    { "metaspace", offsetof(struct memory_point, metaspace) },
    { "code_cache", offsetof(struct memory_point, code_cache) },
    { "allocated", offsetof(struct memory_point, allocated) },
    { "collections", offsetof(struct memory_point, collections) },
    { "threads", offsetof(struct memory_point, threads_live) },
    { "threads_started", offsetof(struct memory_point, threads_started) },
};

/* Returns one number of a point. Allocation is unknown if threads were not read since the previous
 * point. */
static int64_t history_number(const struct memory_history *h, size_t at, size_t i)
{
    const struct memory_point *p = &h->points[at];
    int64_t n;

    if (HISTORY[i].field == offsetof(struct memory_point, allocated) && at > 0 &&
        p->allocated_ns == p[-1].allocated_ns)
        return COUNTERS_UNKNOWN;
    memcpy(&n, (const char *)p + HISTORY[i].field, sizeof(n));
    return n;
}

static json_t *time_before(uint64_t realtime_ns, uint64_t now_ns, uint64_t at_ns)
{
    return at_ns ? json_time(realtime_ns - (now_ns - MIN(at_ns, now_ns))) : json_null();
}

/* Returns a list of numbers per member. Entries with the same index belong to one point. */
static json_t *history_json(const struct memory_history *h, uint64_t realtime_ns, uint64_t now_ns)
{
    json_t *ret = json_object(), *times = json_array(), *rss = json_array(),
           *collecting = json_array(), *allocated = json_array();

    for (size_t i = 0; i < h->count; i++) {
        const struct memory_point *p = &h->points[i];

        json_array_append_new(times, time_before(realtime_ns, now_ns, p->at_ns));
        json_array_append_new(allocated, time_before(realtime_ns, now_ns, p->allocated_ns));
        json_array_append_new(rss, json_integer((json_int_t)p->rss_bytes));
        json_array_append_new(collecting, json_seconds(p->collection_ns));
    }
    json_object_set_new(ret, "time", times);
    json_object_set_new(ret, "allocated_time", allocated);
    json_object_set_new(ret, "rss", rss);
    json_object_set_new(ret, "collection_seconds", collecting);
    for (size_t k = 0; k < ARRAY_SIZE(HISTORY); k++) {
        json_t *list = json_array();

        for (size_t i = 0; i < h->count; i++)
            json_array_append_new(list, json_known(history_number(h, i, k)));
        json_object_set_new(ret, HISTORY[k].name, list);
    }
    return ret;
}

static json_t *allocation_json(const struct memory_history *h, const struct counters *c,
                               uint64_t realtime_ns, uint64_t now_ns)
{
    double rate, seconds;
    bool known = memory_history_rate(h, now_ns, &rate, &seconds);

    return json_pack(
        "{s:o, s:o, s:o, s:o}", "time", time_before(realtime_ns, now_ns, c->allocated_ns), "bytes",
        json_known(c->allocated), "bytes_per_second", known ? json_real(rate) : json_null(),
        "seconds", known ? json_real(seconds) : json_null());
}

static json_t *heap_json(const struct heap_ask *a)
{
    const struct counters *c = &a->c;
    uint64_t realtime_ns = clock_realtime_ns(), now_ns = clock_monotonic_ns();

    return json_pack(
        "{s:i, s:o, s:I, s:s, s:o, s:o, s:o, s:{s:o, s:o}, s:o, s:{s:o, s:o, s:o, s:o},"
        " s:{s:o, s:o, s:o, s:o}, s:{s:o, s:o}, s:{s:o, s:o}, s:i, s:o, s:o, s:o, s:s}",
        "pid", (int)a->host_pid, "time", json_time(realtime_ns), "rss", (json_int_t)a->rss_bytes,
        "policy", c->policy, "generations", generations_json(c), "metaspace",
        pool_json(&c->metaspace), "class_space", pool_json(&c->class_space), "code_cache",
        "committed", json_known(c->code_cache_committed), "max", json_known(c->code_cache_max),
        "collections", collections_json(c), "safepoints", "count", json_known(c->safepoints),
        "seconds", json_seconds(c->safepoint_ns), "sync_seconds",
        json_seconds(c->safepoint_sync_ns), "application_seconds", json_seconds(c->application_ns),
        "threads", "live", json_known(c->threads_live), "daemon", json_known(c->threads_daemon),
        "peak", json_known(c->threads_peak), "started", json_known(c->threads_started), "classes",
        "loaded", json_known(sum_of_known(c->classes_loaded, c->shared_classes_loaded)), "unloaded",
        json_known(sum_of_known(c->classes_unloaded, c->shared_classes_unloaded)), "compiler",
        "methods", json_known(c->compiled), "seconds", json_seconds(c->compile_ns), "left_out",
        (int)c->left_out, "allocation", allocation_json(&a->history, c, realtime_ns, now_ns),
        "history", history_json(&a->history, realtime_ns, now_ns), "resident",
        residence_json(a->residence), "resident_problem", a->residence ? "" : a->why.msg);
}

int document_heap(struct api *api, const struct document_query *q, json_t **ret, struct error *err)
{
    struct heap_ask a = { .viewer = q->viewer, .host_pid = q->host_pid, .err = err };
    uint64_t until_ns = clock_monotonic_ns() + RESIDENCE_WAIT_NS;
    int r;

    while ((r = api_ask(api, call_heap, &a, err)) == -EINPROGRESS &&
           clock_monotonic_ns() < until_ns)
        usleep(RESIDENCE_PAUSE_US);
    if (r == -EINPROGRESS) {
        error_set(&a.why, -ETIMEDOUT, "it takes longer to count the pages; ask again in a second");
        r = 0;
    }
    if (r == 0)
        *ret = heap_json(&a);
    free(a.residence);
    memory_history_deinit(&a.history);
    return r == 0 && !*ret ? -ENOMEM : r;
}
