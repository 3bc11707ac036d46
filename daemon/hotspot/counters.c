/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the names of counters to fields; the names are the same in JDK 8 to 28. */
#include "hotspot/counters.h"

#include "base/list.h"
#include "hotspot/code/code.h"
#include "hotspot/hsperfdata.h"

#define COUNTERS_HERTZ_MAX ((int64_t)NSEC_PER_SEC * 10)
#define COUNTERS_APART_SINCE 13 /* first JDK that counts the time to a safepoint separately */

struct counter_row {
    struct span name;
    size_t field;
};

#define ROW(name, field)                                                                           \
    {                                                                                              \
        { name, sizeof(name) - 1 }, offsetof(struct counters, field)                               \
    }
static const struct counter_row NUMBERS[] = {
    ROW("sun.gc.metaspace.used", metaspace.used),
    ROW("sun.gc.metaspace.capacity", metaspace.committed),
    ROW("sun.gc.metaspace.maxCapacity", metaspace.max),
    ROW("sun.gc.compressedclassspace.used", class_space.used),
    ROW("sun.gc.compressedclassspace.capacity", class_space.committed),
    ROW("sun.gc.compressedclassspace.maxCapacity", class_space.max),
    ROW("sun.rt.createVmBeginTime", vm_begin_ms),
    ROW("sun.rt.safepoints", safepoints),
    ROW("java.threads.live", threads_live),
    ROW("java.threads.daemon", threads_daemon),
    ROW("java.threads.livePeak", threads_peak),
    ROW("java.threads.started", threads_started),
    ROW("java.cls.loadedClasses", classes_loaded),
    ROW("java.cls.unloadedClasses", classes_unloaded),
    ROW("java.cls.sharedLoadedClasses", shared_classes_loaded),
    ROW("java.cls.sharedUnloadedClasses", shared_classes_unloaded),
    ROW("sun.ci.totalCompiles", compiled),
};

/* Counters of time: ticks, until use_hertz() converts them. */
static const struct counter_row TIMES[] = {
    ROW("sun.rt.safepointTime", safepoint_ns),
    ROW("sun.rt.safepointSyncTime", safepoint_sync_ns),
    ROW("sun.rt.applicationTime", application_ns),
    ROW("java.ci.totalTime", compile_ns),
};
#undef ROW

struct counters_scan {
    struct counters c;
    int64_t hertz;
    struct counters_places *places; /* places to fill in; NULL: not needed */
};

static int64_t *field_at(struct counters *c, size_t offset)
{
    return (int64_t *)(void *)((char *)c + offset);
}

/* Copies the text of @e, with other characters replaced by '_'. */
static void take_name(const struct hsperfdata_entry *e, char name[COUNTERS_NAME_MAX])
{
    size_t n = MIN(e->text.n, (size_t)COUNTERS_NAME_MAX - 1);

    if (!e->text.p)
        return;
    for (size_t i = 0; i < n; i++) {
        char c = e->text.p[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    (c && strchr(" -:.()", c));

        name[i] = good ? c : '_';
    }
    name[n] = '\0';
}

static void take_number(const struct hsperfdata_entry *e, int64_t *field)
{
    if (!e->text.p && e->value >= 0)
        *field = e->value;
}

static bool take_row(const struct counter_row *rows, size_t n, const struct hsperfdata_entry *e,
                     struct counters *c)
{
    for (size_t i = 0; i < n; i++) {
        if (span_eq(e->name, rows[i].name)) {
            take_number(e, field_at(c, rows[i].field));
            return true;
        }
    }
    return false;
}

static void take_pool(struct span what, const struct hsperfdata_entry *e, struct counted_pool *pool)
{
    if (span_eq_str(what, "name"))
        take_name(e, pool->name);
    else if (span_eq_str(what, "used"))
        take_number(e, &pool->used);
    else if (span_eq_str(what, "capacity"))
        take_number(e, &pool->committed);
    else if (span_eq_str(what, "maxCapacity"))
        take_number(e, &pool->max);
}

/* Takes the index at the start of @s, and the dot behind it. */
static bool take_index(struct span *s, uint64_t *ret)
{
    return span_take_dec(s, ret) && span_take_char(s, '.');
}

/* Takes an entry of a generation. @s: the part of its name behind "sun.gc.generation.". */
static void take_generation(struct span s, const struct hsperfdata_entry *e, struct counters *c)
{
    struct counted_generation *g;
    uint64_t generation, space;

    if (!take_index(&s, &generation))
        return;
    if (generation >= COUNTERS_GENERATIONS_MAX) {
        c->left_out += span_eq_str(s, "name");
        return;
    }
    g = &c->generations[generation];
    if (!span_take_str(&s, "space.")) {
        take_pool(s, e, &g->whole);
        return;
    }
    if (!take_index(&s, &space))
        return;
    if (space < COUNTERS_SPACES_MAX)
        take_pool(s, e, &g->spaces[space]);
    else
        c->left_out += span_eq_str(s, "name");
}

/* Takes an entry of a collector. @s: the part of its name behind "sun.gc.collector.". */
static void take_collector(struct span s, const struct hsperfdata_entry *e, struct counters *c)
{
    struct counted_collector *one;
    uint64_t index;

    if (!take_index(&s, &index))
        return;
    if (index >= COUNTERS_COLLECTORS_MAX) {
        c->left_out += span_eq_str(s, "name");
        return;
    }
    one = &c->collectors[index];
    if (span_eq_str(s, "name"))
        take_name(e, one->name);
    else if (span_eq_str(s, "invocations"))
        take_number(e, &one->count);
    else if (span_eq_str(s, "time"))
        take_number(e, &one->time_ns);
    else if (span_eq_str(s, "lastEntryTime"))
        take_number(e, &one->entry_ns);
    else if (span_eq_str(s, "lastExitTime"))
        take_number(e, &one->exit_ns);
}

/* Stores @e if it is a known counter, and returns whether it is. */
static bool take_entry(struct counters_scan *s, const struct hsperfdata_entry *e)
{
    struct span rest = e->name;

    if (span_take_str(&rest, "sun.gc.generation."))
        take_generation(rest, e, &s->c);
    else if (span_take_str(&rest, "sun.gc.collector."))
        take_collector(rest, e, &s->c);
    else if (span_eq_str(e->name, "sun.gc.policy.name"))
        take_name(e, s->c.policy);
    else if (span_eq_str(e->name, "sun.gc.cause"))
        take_name(e, s->c.cause);
    else if (span_eq_str(e->name, "sun.gc.lastCause"))
        take_name(e, s->c.last_cause);
    else if (span_eq_str(e->name, "sun.os.hrt.frequency"))
        take_number(e, &s->hertz);
    else
        return take_row(NUMBERS, ARRAY_SIZE(NUMBERS), e, &s->c) ||
               take_row(TIMES, ARRAY_SIZE(TIMES), e, &s->c);
    return true;
}

static bool see_entry(void *cookie, const struct hsperfdata_entry *e)
{
    struct counters_scan *s = cookie;
    struct counters_places *places = s->places;

    if (!take_entry(s, e) || !places)
        return true;
    if (places->count < COUNTERS_PLACES_MAX)
        places->at[places->count] = e->at;
    places->count++;
    return true;
}

/* Reads only the entries at @places. Returns false if the number of entries has changed, or an
 * entry is broken. */
static bool read_places(struct span memory, const struct counters_places *places,
                        struct counters_scan *s)
{
    struct hsperfdata_entry e;

    if (places->count == 0 || places->count > COUNTERS_PLACES_MAX ||
        hsperfdata_count(memory) != places->entries)
        return false;
    return ALL_OF(i, places->count,
                  hsperfdata_entry_at(memory, places->at[i], &e) && take_entry(s, &e));
}

static void ticks_to_ns(int64_t *ticks, int64_t hertz)
{
    double ns = (double)*ticks * (double)NSEC_PER_SEC / (double)hertz;

    if (*ticks == COUNTERS_UNKNOWN)
        return;
    *ticks = ns < (double)INT64_MAX ? (int64_t)(ns + 0.5) : COUNTERS_UNKNOWN;
}

static void use_hertz(struct counters *c, int64_t hertz)
{
    if (hertz <= 0 || hertz > COUNTERS_HERTZ_MAX)
        hertz = (int64_t)NSEC_PER_SEC;
    for (size_t i = 0; i < ARRAY_SIZE(TIMES); i++)
        ticks_to_ns(field_at(c, TIMES[i].field), hertz);
    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++) {
        ticks_to_ns(&c->collectors[i].time_ns, hertz);
        ticks_to_ns(&c->collectors[i].entry_ns, hertz);
        ticks_to_ns(&c->collectors[i].exit_ns, hertz);
    }
}

static void pool_clear(struct counted_pool *p)
{
    p->name[0] = '\0';
    p->used = p->committed = p->max = COUNTERS_UNKNOWN;
}

static void counters_clear(struct counters *c)
{
    *c = (struct counters){ .left_out = 0 };
    for (size_t i = 0; i < ARRAY_SIZE(NUMBERS); i++)
        *field_at(c, NUMBERS[i].field) = COUNTERS_UNKNOWN;
    for (size_t i = 0; i < ARRAY_SIZE(TIMES); i++)
        *field_at(c, TIMES[i].field) = COUNTERS_UNKNOWN;
    for (size_t i = 0; i < COUNTERS_GENERATIONS_MAX; i++) {
        pool_clear(&c->generations[i].whole);
        for (size_t j = 0; j < COUNTERS_SPACES_MAX; j++)
            pool_clear(&c->generations[i].spaces[j]);
    }
    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++)
        c->collectors[i].count = c->collectors[i].time_ns = COUNTERS_UNKNOWN;
    c->allocated = c->code_cache_committed = c->code_cache_max = COUNTERS_UNKNOWN;
}

static bool read_all(struct span memory, struct counters_places *places, struct counters_scan *s)
{
    *s = (struct counters_scan){ .places = places };
    counters_clear(&s->c);
    if (places)
        *places = (struct counters_places){ .entries = hsperfdata_count(memory) };
    if (hsperfdata_each(memory, see_entry, s))
        return true;
    if (places) /* an entry was unfinished, so the places of later entries are unknown */
        *places = (struct counters_places){ .entries = 0 };
    return false;
}

bool counters_parse(struct span memory, struct counters_places *places, struct counters *ret)
{
    struct counters_scan s = { .hertz = 0 };

    counters_clear(&s.c);
    if ((!places || !read_places(memory, places, &s)) && !read_all(memory, places, &s))
        return false;
    snprintf(s.c.metaspace.name, sizeof(s.c.metaspace.name), "metaspace");
    snprintf(s.c.class_space.name, sizeof(s.c.class_space.name), "class space");
    use_hertz(&s.c, s.hertz);
    *ret = s.c;
    return true;
}

int64_t counters_pause_ns(const struct counters *c, int jdk)
{
    int64_t ns = c->safepoint_ns;

    if (jdk < COUNTERS_APART_SINCE || ns == COUNTERS_UNKNOWN)
        return ns;
    if (c->safepoint_sync_ns == COUNTERS_UNKNOWN ||
        __builtin_add_overflow(ns, c->safepoint_sync_ns, &ns))
        return COUNTERS_UNKNOWN;
    return ns;
}

int64_t counters_loaded(const struct counters *c)
{
    int64_t n = COUNTERS_UNKNOWN;

    if (c->classes_loaded == COUNTERS_UNKNOWN || c->shared_classes_loaded == COUNTERS_UNKNOWN ||
        __builtin_add_overflow(c->classes_loaded, c->shared_classes_loaded, &n))
        return COUNTERS_UNKNOWN;
    return n;
}

/* ---- of a running JVM ---- */

/* Reads @n bytes at @start into memory from malloc(). Returns 0, -ENOMEM or -errno. */
static int read_bytes(struct hotspot_vm *vm, uint64_t start, size_t n, char **ret)
{
    _cleanup_free_ char *bytes = malloc(n);
    int r = bytes ? memory_read_direct(&vm->memory, start, bytes, n) : -ENOMEM;

    if (r == 0)
        *ret = TAKE_PTR(bytes);
    return r;
}

int counters_memory(struct hotspot_vm *vm, uint64_t *ret_start, char **ret, size_t *ret_n)
{
    const struct hotspot_layout *l = &vm->layout;
    _cleanup_free_ char *bytes = NULL;
    uint64_t start = vm->counters_start, n = vm->counters_bytes;
    uint32_t used;
    bool known = start && n;
    int r = 0;

    if (!l->perf_start_at || !l->perf_capacity_at)
        return -ENOENT;
    if (!known)
        r = memory_u64(&vm->memory, l->perf_start_at, &start)
                ?: memory_u64(&vm->memory, l->perf_capacity_at, &n);
    if (r < 0)
        return r;
    n = MIN(n, HSPERFDATA_MAX_BYTES);
    if (start == 0 || n == 0)
        return -ENOENT;
    r = read_bytes(vm, start, n, &bytes);
    if (r < 0)
        return r;
    used = hsperfdata_used((struct span){ bytes, n });
    vm->counters_start = start;
    vm->counters_bytes = used && used < n ? used : n; /* the used part is seldom more than half */
    if (known && used > n) {                          /* entries were added */
        vm->counters_bytes = 0;
        return counters_memory(vm, ret_start, ret, ret_n);
    }
    *ret_start = start;
    *ret = TAKE_PTR(bytes);
    *ret_n = n;
    return 0;
}

/* Reads and parses the VM's counters. Return: 0; -ENOENT: the VM keeps no counters; -EBADMSG;
 * -errno. */
static int read_memory(struct hotspot_vm *vm, struct counters *ret)
{
    _cleanup_free_ char *bytes = NULL;
    uint64_t start;
    size_t n;
    int r = counters_memory(vm, &start, &bytes, &n);

    if (r < 0)
        return r;
    return counters_parse((struct span){ bytes, n }, &vm->counters_places, ret) ? 0 : -EBADMSG;
}

struct counters_question {
    uint64_t look_ns;
    struct counters c;
};

static int counters_call(struct hotspot_vm *vm, void *arg)
{
    struct counters_question *q = arg;
    struct counters *c = &q->c;
    uint64_t committed, max;
    int r;

    memory_begin(&vm->memory);
    r = read_memory(vm, c);
    if (r == 0 && codecache_bytes(vm, &committed, &max) == 0) {
        c->code_cache_committed = (int64_t)committed;
        c->code_cache_max = (int64_t)max;
    }
    if (r == 0)
        allocated_read(vm, c->threads_live, q->look_ns);
    if (r == 0 && vm->allocated.at_ns) {
        c->allocated = (int64_t)vm->allocated.bytes;
        c->allocated_ns = vm->allocated.at_ns;
    }
    return r;
}

int hotspot_vm_counters(struct hotspot_vm *vm, uint64_t look_ns, struct counters *ret)
{
    struct counters_question q = { .look_ns = look_ns };
    int r;

    if (vm_is_left(vm))
        return -ETIMEDOUT;
    r = vm_call(vm, counters_call, &q, sizeof(q));
    if (r == 0)
        *ret = q.c;
    return r == -ESRCH ? (int)HOTSPOT_GONE : r;
}
