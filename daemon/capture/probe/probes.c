/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probe/probes.h"

#include "base/old_kernel.h"

#define PROBES_TRIES_MAX 50 /* tries while the JVM's compilers make stubs */

_Static_assert(HOTSPOT_ALLOCATORS_MAX <= BROKER_PLACES_MAX, "room for all places");

/* Mangled names of JDK 11 and later; the types of parameters follow. */
static const char *const FUNCTIONS[] = {
    [ALLOC_IN_NEW_TLAB] = "_ZN11AllocTracer27send_allocation_in_new_tlabE",
    [ALLOC_OUTSIDE_TLAB] = "_ZN11AllocTracer28send_allocation_outside_tlabE",
};

/* Finds the places by symbols. Return: 0; -ENOENT: there are none; -EAGAIN. */
static int find_by_symbols(struct symbolizer *s, struct process *p, struct broker_probes *ret)
{
    uint64_t offsets[ARRAY_SIZE(FUNCTIONS)], start, end;
    int r = -ENOENT;

    if (!old_kernel_pretended("libjvm-symbols"))
        r = symbolizer_functions(s, p, p->libjvm_base, FUNCTIONS, ARRAY_SIZE(FUNCTIONS), offsets,
                                 &start, &end);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < ARRAY_SIZE(FUNCTIONS); i++) {
        if (!offsets[i] || offsets[i] > UINT32_MAX)
            return -ENOENT;
        ret->places[i] = broker_place_of(offsets[i], i);
    }
    ret->count = ARRAY_SIZE(FUNCTIONS);
    return 0;
}

/* Finds the places by the calls of allocation stubs, in the mapping @m up to @end. Returns 0,
 * -EAGAIN or -errno with @err. */
static int find_by_stubs(struct process *p, struct heap_probe *one, const struct mapping *m,
                         uint64_t end, struct broker_probes *ret, struct error *err)
{
    struct hotspot_allocators at = { .vm = ret->about.heap };
    int r = hotspot_vm_allocators(p->vm, &at);

    if (r == HOTSPOT_GONE)
        return error_set(err, -ESRCH, "it has ended");
    if (r == -ETIMEDOUT || r == -EAGAIN)
        return -EAGAIN;
    if (r == 0 && !at.complete && one->tries++ < PROBES_TRIES_MAX)
        return -EAGAIN;
    ret->about.heap = at.vm;
    for (uint32_t i = 0; r == 0 && at.complete && i < at.count; i++) {
        uint64_t function = at.at[i].function, offset = function - m->start + m->offset;

        if (function < m->start || function >= end || offset > UINT32_MAX)
            continue;
        ret->places[ret->count++] = broker_place_of(offset, at.at[i].kind);
    }
    if (ret->count)
        return 0;
    error_set(err, -EOPNOTSUPP,
              "its libjvm.so (JDK %d) has no symbols for its allocation functions, and its "
              "allocation stubs were not found in the code cache",
              p->jdk);
    error_remedy(err, "install the debug symbols of that JDK where it runs");
    return -EOPNOTSUPP;
}

/* Finds where the probes go. Returns 0, or as probe_kind.put. */
static int find_places(struct symbolizer *s, struct process *p, struct heap_probe *one,
                       struct broker_probes *ret, struct mapping *ret_mapping, struct error *err)
{
    uint64_t end;
    int r;

    *ret = (struct broker_probes){ .program = BROKER_PROBED_HEAP, .about.heap.reference_bytes = 4 };
    if (p->jvm == JVM_STARTING)
        return -EAGAIN;
    if (p->jvm != JVM_READY)
        return error_set(err, -EOPNOTSUPP, "%s", p->jvm == JVM_NO ? "it is no JVM" : p->reason);
    if (!hotspot_vm_allocation(p->vm, &ret->about.heap))
        return error_set(err, -EOPNOTSUPP,
                         "its tables do not say where a thread counts its allocated bytes");
    r = find_by_symbols(s, p, ret);
    if (r == -EAGAIN)
        return ASKED_PROBES_READING;
    one->by_stubs = r < 0;
    if (symbolizer_libjvm(s, p, p->libjvm_base, ret_mapping, &end) < 0)
        return error_set(err, -ENOENT, "no libjvm.so is mapped into it");
    return r < 0 ? find_by_stubs(p, one, ret_mapping, end, ret, err) : 0;
}

static int put_in_libjvm(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
                         struct process *p, const void *what, struct error *err)
{
    struct broker_probes places;
    struct mapping m = { 0 };
    int r = find_places(env->symbolizer, p, (struct heap_probe *)e, &places, &m, err);

    (void)t;
    (void)what;
    return r == 0 ? broker_probe_put(env->broker, &p->id, m.start, m.end, &places, err) : r;
}

static int put_in_agent(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
                        struct process *p, const void *what, struct error *err)
{
    struct broker_probes probes = { .program = BROKER_PROBED_AGENT };

    (void)t;
    (void)e;
    (void)what;
    if (p->jvm != JVM_READY || hotspot_class_klass(p->vm, &probes.about.agent.class_klass) < 0)
        return error_set(err, -EOPNOTSUPP, "its tables do not say where an object's class is");
    probes.about.agent.collections = hotspot_vm_collections(p->vm);
    return broker_probe_put(env->broker, &p->id, 0, 0, &probes, err);
}

static void take_out_of_libjvm(struct broker *b, const struct probe_entry *e)
{
    broker_probe_drop(b, e->id.host_pid, BROKER_PROBED_HEAP, 0, NULL);
}

static void take_out_of_agent(struct broker *b, const struct probe_entry *e)
{
    broker_probe_drop(b, e->id.host_pid, BROKER_PROBED_AGENT, 0, NULL);
}

const struct probe_kind PROBES_LIBJVM = { .entry_bytes = sizeof(struct heap_probe),
                                          .entries_max = PROBES_MAX,
                                          .standing_max = PROBES_MAX,
                                          .have_all = "JVMs have probes",
                                          .put = put_in_libjvm,
                                          .take_out = take_out_of_libjvm };
const struct probe_kind PROBES_AGENT = { .entry_bytes = sizeof(struct heap_probe),
                                         .entries_max = PROBES_MAX,
                                         .standing_max = PROBES_MAX,
                                         .have_all = "JVMs have probes",
                                         .put = put_in_agent,
                                         .take_out = take_out_of_agent };

bool probes_by_stubs(const struct probe_table *t, const struct proc_id *id)
{
    const struct heap_probe *one = (const struct heap_probe *)probe_table_find(t, id, PROBE_NO_SET);

    return one && one->entry.asked.there && one->by_stubs;
}
