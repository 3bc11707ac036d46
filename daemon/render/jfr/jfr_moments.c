/* SPDX-License-Identifier: Apache-2.0 */
/* Writes moments of JVMs as the events that the JDK itself has for them. */
#include "render/jfr/jfr.h"

/* Begins an event with its start and length, which every event has. */
static size_t begin_event(const struct profile_moment *m, enum jfr_type type, uint64_t ns,
                          struct buf *out)
{
    size_t begin = jfr_begin(out, type);

    jfr_add_number(out, m->start_ns);
    jfr_add_number(out, ns);
    return begin;
}

static void add_safepoint(const struct profile_moment *m, uint64_t number, struct buf *out)
{
    size_t begin = begin_event(m, JFR_SAFEPOINT_BEGIN, m->reach_ns, out);

    jfr_add_number(out, number);
    jfr_end(out, begin);
    begin = jfr_begin(out, JFR_SAFEPOINT_END);
    jfr_add_number(out, m->end_ns);
    jfr_add_number(out, 0);
    jfr_add_number(out, number);
    jfr_end(out, begin);
}

/* Writes a collection: threads are stopped for all of its time. */
static void add_collection(const struct profile *p, const struct profile_moment *m, uint64_t number,
                           struct buf *out)
{
    uint64_t ns = m->end_ns - m->start_ns;
    size_t begin = begin_event(m, JFR_GARBAGE_COLLECTION, ns, out);

    jfr_add_number(out, number);
    jfr_add_string(out, intern_get(p->strings, m->name));
    jfr_add_number(out, ns);
    jfr_add_number(out, ns);
    jfr_end(out, begin);
    begin = begin_event(m, JFR_GC_PHASE_PAUSE, ns, out);
    jfr_add_number(out, number);
    jfr_add_string(out, intern_get(p->strings, m->name));
    jfr_end(out, begin);
}

static void add_operation(const struct profile *p, const struct profile_moment *m, struct buf *out)
{
    size_t begin = begin_event(m, JFR_EXECUTE_VM_OPERATION, m->end_ns - m->start_ns, out);

    jfr_add_string(out, intern_get(p->strings, m->name));
    jfr_end(out, begin);
}

/* Writes a compilation, or the load or unload of a class. */
static int add_named(struct jfr_pools *pools, const struct profile_moment *m, enum jfr_type type,
                     struct buf *out)
{
    const struct profile *p = pools->v->profile;
    struct span name = intern_get(p->strings, m->name);
    bool compiled = type == JFR_COMPILATION;
    uint32_t id = 0;
    size_t begin;
    int r = compiled ? jfr_pools_method(pools, name, &id) : jfr_pools_class(pools, name, &id);

    if (r < 0)
        return r;
    begin = begin_event(m, type, m->end_ns - m->start_ns, out);
    jfr_add_string(out, intern_get(p->strings, m->by));
    jfr_add_number(out, (uint64_t)id + 1);
    if (compiled)
        jfr_add_string(out, intern_get(p->strings, m->compiler));
    jfr_end(out, begin);
    return 0;
}

int jfr_add_moments(struct jfr_pools *pools, struct buf *out)
{
    const struct profile *p = pools->v->profile;
    int r = 0;

    for (size_t i = 0; i < p->moment_count && r == 0 && !out->error; i++) {
        const struct profile_moment *m = &p->moments[i];

        if (m->kind == MOMENT_IS_SAFEPOINT)
            add_safepoint(m, i, out);
        else if (m->kind == MOMENT_IS_GC)
            add_collection(p, m, i, out);
        else if (m->kind == MOMENT_IS_OPERATION)
            add_operation(p, m, out);
        else if (m->kind == MOMENT_IS_JIT)
            r = add_named(pools, m, JFR_COMPILATION, out);
        else if (m->kind == MOMENT_IS_CLASS_LOAD)
            r = add_named(pools, m, JFR_CLASS_LOAD, out);
        else if (m->kind == MOMENT_IS_CLASS_UNLOAD)
            r = add_named(pools, m, JFR_CLASS_UNLOAD, out);
    }
    return r;
}
