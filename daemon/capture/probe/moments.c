/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probe/moments.h"

#include "base/cleanup.h"

/* ---- probes of JVMs ---- */

static int open_ring(struct moments *all, struct broker *b, struct error *err)
{
    _cleanup_close_ int fd = -1;
    size_t bytes;
    int r;

    if (all->ring)
        return 0;
    r = broker_moments_ring(b, &fd, &bytes, err);
    return r < 0 ? r : ring_open(fd, bytes, &all->ring, err);
}

static int put(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
               struct process *p, const void *what, struct error *err)
{
    struct moments *all = (struct moments *)t;
    struct moment_source *one = (struct moment_source *)e;
    struct broker *b = env->broker;
    struct broker_probes probes = { .program = BROKER_PROBED_MOMENTS };
    struct mapping m;
    uint64_t end;
    int r;

    (void)what;
    one->safepoint.start_ns = one->gc.start_ns = 0;
    one->nested = 0;
    one->taken_out = 0;
    memset(one->compilers, 0, sizeof(one->compilers));
    if (p->jvm == JVM_STARTING)
        return -EAGAIN;
    if (p->jvm != JVM_READY)
        return error_set(err, -EOPNOTSUPP, "%s", p->jvm == JVM_NO ? "it is no JVM" : p->reason);
    if (symbolizer_libjvm(env->symbolizer, p, p->libjvm_base, &m, &end) < 0)
        return error_set(err, -ENOENT, "no libjvm.so is mapped into it");
    if (hotspot_vm_thread_states(p->vm, &probes.about.thread) < 0)
        return error_set(err, -EOPNOTSUPP,
                         "its libjvm.so (JDK %d) does not publish the states of threads", p->jdk);
    r = open_ring(all, b, err) ?: broker_probe_put(b, &p->id, m.start, m.end, &probes, err);
    if (r == BROKER_ABSENT) {
        error_set(err, -EOPNOTSUPP,
                  "its libjvm.so (JDK %d) has no marks for probes (USDT), by which flamed sees "
                  "safepoints",
                  p->jdk);
        error_remedy(err, "use a build of OpenJDK that has them, such as those of Debian or of "
                          "Temurin for glibc");
        return -EOPNOTSUPP;
    }
    return r;
}

static void take_out(struct broker *b, const struct probe_entry *e)
{
    broker_probe_drop(b, e->id.host_pid, BROKER_PROBED_MOMENTS, /* which= */ 0, NULL);
}

/* Removes the probes of groups with moments that came too often since the last look. */
static void look(struct broker *b, struct probe_entry *e)
{
    struct moment_source *t = (struct moment_source *)e;

    if (t->often != t->taken_out)
        broker_probe_drop(b, e->id.host_pid, BROKER_PROBED_MOMENTS, t->often, NULL);
    t->taken_out = t->often;
}

static const struct probe_kind KIND = { .entry_bytes = sizeof(struct moment_source),
                                        .entries_max = MOMENTS_JVMS_MAX,
                                        .standing_max = MOMENTS_AT_ONCE_MAX,
                                        .have_all = "JVMs are probed for safepoints",
                                        .put = put,
                                        .take_out = take_out,
                                        .look = look };

void moments_init(struct moments *all)
{
    *all = (struct moments){ .table = { .kind = &KIND } };
}

void moments_deinit(struct moments *all)
{
    all->ring = ring_close(all->ring);
    probe_table_deinit(&all->table);
}

static struct moment_source *find_source(const struct moments *all, const struct proc_id *id)
{
    return (struct moment_source *)probe_table_find(&all->table, id, PROBE_NO_SET);
}

uint32_t moments_often(const struct moments *all, const struct proc_id *id)
{
    const struct moment_source *t = find_source(all, id);

    return t ? t->often : 0;
}

/* ---- pairs ---- */

static void begin(struct begun_moment *m, const struct moment_record *rec)
{
    *m = (struct begun_moment){ .start_ns = rec->time_ns };
    memcpy(m->name, rec->name, sizeof(m->name));
}

/* Ends @m if it has begun. */
static bool end(struct begun_moment *m, enum profile_moment_kind kind,
                const struct moment_record *rec, struct moment *ret, uint64_t *unpaired)
{
    if (!m->start_ns || rec->time_ns < m->start_ns) {
        (*unpaired)++;
        return false;
    }
    *ret = (struct moment){ .kind = kind,
                            .start_ns = m->start_ns,
                            .end_ns = rec->time_ns,
                            .host_tid = (int32_t)rec->host_tid,
                            .name = m->name };
    m->start_ns = 0;
    return true;
}

static bool end_safepoint(struct moment_source *t, const struct moment_record *rec,
                          struct moment *ret, uint64_t *unpaired)
{
    uint64_t reached_ns = t->safepoint.reached_ns;

    if (!end(&t->safepoint, MOMENT_IS_SAFEPOINT, rec, ret, unpaired))
        return false;
    /* Without an operation (JDK 8), the time to reach the safepoint is unknown. Its whole duration
     * then counts as time to reach it. */
    ret->reach_ns = (reached_ns ? reached_ns : ret->end_ns) - ret->start_ns;
    return true;
}

static void begin_operation(struct moment_source *t, const struct moment_record *rec)
{
    if (t->safepoint.start_ns && !t->safepoint.reached_ns) {
        t->safepoint.reached_ns = MAX(rec->time_ns, t->safepoint.start_ns + 1);
        memcpy(t->safepoint.name, rec->name, sizeof(rec->name));
    }
    if (t->nested < MOMENTS_NESTED_MAX)
        begin(&t->operations[t->nested], rec);
    t->nested++;
}

static bool end_operation(struct moment_source *t, const struct moment_record *rec,
                          struct moment *ret, uint64_t *unpaired)
{
    if (t->nested == 0) {
        (*unpaired)++;
        return false;
    }
    t->nested--;
    return t->nested < MOMENTS_NESTED_MAX &&
           end(&t->operations[t->nested], MOMENT_IS_OPERATION, rec, ret, unpaired);
}

/* Returns the entry of the compiling thread. If it has none, returns a free entry, else the
 * oldest. */
static struct compiling *compiler_of(struct moment_source *t, uint32_t host_tid)
{
    struct compiling *oldest = &t->compilers[0];

    for (size_t i = 0; i < MOMENTS_COMPILERS_MAX; i++) {
        struct compiling *c = &t->compilers[i];

        if (c->start_ns && c->host_tid == host_tid)
            return c;
        if (c->start_ns < oldest->start_ns)
            oldest = c;
    }
    return oldest;
}

static bool end_compilation(struct moment_source *t, const struct moment_record *rec,
                            struct moment *ret, uint64_t *unpaired)
{
    struct compiling *c = compiler_of(t, rec->host_tid);
    struct begun_moment begun = { .start_ns = c->host_tid == rec->host_tid ? c->start_ns : 0 };

    if (!end(&begun, MOMENT_IS_JIT, rec, ret, unpaired))
        return false;
    ret->name = rec->name;
    c->start_ns = 0;
    return true;
}

/* Makes a moment without duration. */
static bool at_once(enum profile_moment_kind kind, const struct moment_record *rec,
                    struct moment *ret)
{
    *ret = (struct moment){ .kind = kind,
                            .start_ns = rec->time_ns,
                            .end_ns = rec->time_ns,
                            .host_tid = (int32_t)rec->host_tid,
                            .name = "" };
    return true;
}

bool moments_pair(struct moment_source *t, const struct moment_record *rec, struct moment *ret,
                  uint64_t *unpaired)
{
    switch ((enum moment_kind)rec->kind) {
    case MOMENT_SAFEPOINT_BEGIN:
        begin(&t->safepoint, rec);
        t->nested = 0; /* no operation can be under way: its end was lost */
        return false;
    case MOMENT_SAFEPOINT_END:
        return end_safepoint(t, rec, ret, unpaired);
    case MOMENT_OPERATION_BEGIN:
        begin_operation(t, rec);
        return false;
    case MOMENT_OPERATION_END:
        return end_operation(t, rec, ret, unpaired);
    case MOMENT_GC_BEGIN:
        begin(&t->gc, rec);
        return false;
    case MOMENT_COLLECTOR:
        if (t->gc.start_ns) /* the last name counts: a full collection may begin as young */
            memcpy(t->gc.name, rec->name, sizeof(rec->name));
        return false;
    case MOMENT_GC_END:
        return end(&t->gc, MOMENT_IS_GC, rec, ret, unpaired);
    case MOMENT_COMPILE_BEGIN:
        *compiler_of(t, rec->host_tid) = (struct compiling){ rec->time_ns, rec->host_tid };
        return false;
    case MOMENT_COMPILE_END:
        return end_compilation(t, rec, ret, unpaired);
    case MOMENT_CLASS_LOADED:
        return at_once(MOMENT_IS_CLASS_LOAD, rec, ret);
    case MOMENT_CLASS_UNLOADED:
        return at_once(MOMENT_IS_CLASS_UNLOAD, rec, ret);
    case MOMENT_OFTEN_COMPILED:
        t->often |= 1U << MOMENT_GROUP_COMPILED;
        return false;
    case MOMENT_OFTEN_CLASSES:
        t->often |= 1U << MOMENT_GROUP_CLASSES;
        return false;
    case MOMENT_KINDS:
        break;
    }
    return false;
}

struct draining {
    struct moments *all;
    struct discover *discover;
    moment_fn fn;
    void *cookie;
};

static void take(void *cookie, const struct moment_record *rec, const struct moment_names *names)
{
    struct draining *d = cookie;
    struct process *p = discover_get(d->discover, (int32_t)rec->host_pid, rec->start_boottime_ns,
                                     rec->exec_id, rec->time_ns, /* comm= */ "");
    struct moment_source *t = p ? find_source(d->all, &p->id) : NULL;
    struct moment m;

    if (!t || !moments_pair(t, rec, &m, &d->all->unpaired))
        return;
    m.names = names;
    d->fn(d->cookie, p, &m);
}

void moments_drain(struct moments *all, struct discover *d, moment_fn fn, void *cookie)
{
    struct draining draining = { all, d, fn, cookie };

    if (all->ring)
        ring_drain_moments(all->ring, MOMENTS_DRAIN_MAX, take, &draining);
}
