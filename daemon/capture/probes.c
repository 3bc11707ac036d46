/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probes.h"

#include "base/clock.h"
#include "base/old_kernel.h"

#define PROBES_TRIES_MAX 50 /* while its compilers start */

_Static_assert((int)BROKER_PROBE_ALLOCATORS + (int)HOTSPOT_ALLOCATORS == (int)BROKER_PROBE_KINDS &&
                   HOTSPOT_ALLOCATORS_MAX <= BROKER_PROBES_MAX,
               "the kinds of both sides");

/* As C++ spells them, of JDK 11 and up; what follows is the types of parameters. */
static const char *const FUNCTIONS[] = {
    [BROKER_PROBE_IN_NEW_TLAB] = "_ZN11AllocTracer27send_allocation_in_new_tlabE",
    [BROKER_PROBE_OUTSIDE_TLAB] = "_ZN11AllocTracer28send_allocation_outside_tlabE",
};

static struct probed *find(struct probes *all, const struct proc_id *id)
{
    for (size_t i = 0; i < all->count; i++) {
        if (proc_id_equal(&all->all[i].id, id))
            return &all->all[i];
    }
    return NULL;
}

/* Takes out the probes of @one, also those that are being installed. */
static void take_out(const struct probes *all, struct probed *one, struct broker *b)
{
    if (asked_probes_stand(&one->asked))
        broker_unprobe(b, one->id.host_pid, all->where, NULL);
    one->asked.there = false;
}

/* Finds the places by symbols. 0; -ENOENT: there are none; -EAGAIN. */
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
        ret->probes[i].offset = (uint32_t)offsets[i];
        ret->probes[i].kind = i;
    }
    ret->count = ARRAY_SIZE(FUNCTIONS);
    return 0;
}

/* Finds the places by the calls of the stubs that allocate, between the begin of @m and @end. 0;
 * -EAGAIN; -errno with @err. */
static int find_by_stubs(struct process *p, struct probed *one, const struct mapping *m,
                         uint64_t end, struct broker_probes *ret, struct error *err)
{
    struct hotspot_allocators at;
    int r = hotspot_vm_allocators(p->vm, &at);

    if (r == HOTSPOT_GONE)
        return error_set(err, -ESRCH, "it has ended");
    if (r == -ETIMEDOUT || r == -EAGAIN)
        return -EAGAIN;
    if (r == 0 && !at.complete && one->tries++ < PROBES_TRIES_MAX)
        return -EAGAIN;
    ret->layout_helper = at.layout_helper;
    ret->element_klass = at.element_klass;
    ret->resolved_klasses = at.resolved_klasses;
    ret->pool_bytes = at.pool_bytes;
    ret->reference_bytes = at.reference_bytes;
    for (uint32_t i = 0; r == 0 && at.complete && i < at.count; i++) {
        uint64_t function = at.at[i].function, offset = function - m->start + m->offset;

        if (function < m->start || function >= end || offset > UINT32_MAX)
            continue;
        ret->probes[ret->count].offset = (uint32_t)offset;
        ret->probes[ret->count++].kind = BROKER_PROBE_ALLOCATORS + at.at[i].kind;
    }
    if (ret->count)
        return 0;
    error_set(err, -EOPNOTSUPP,
              "its libjvm.so (JDK %d) has no symbols that say where memory is allocated, and the "
              "stubs in its code cache do not tell it",
              p->jdk);
    error_remedy(err, "install the debug symbols of that JDK where it runs");
    return -EOPNOTSUPP;
}

/* Finds where the probes go. 0 or as probes_put(). */
static int find_places(struct symbolizer *s, struct process *p, struct probed *one,
                       struct broker_probes *ret, struct mapping *ret_mapping, struct error *err)
{
    struct hotspot_allocation at;
    uint64_t end;
    int r;

    *ret = (struct broker_probes){ .reference_bytes = 4 };
    if (p->jvm == JVM_STARTING)
        return -EAGAIN;
    if (p->jvm != JVM_READY)
        return error_set(err, -EOPNOTSUPP, "%s", p->jvm == JVM_NO ? "it is no JVM" : p->reason);
    if (!hotspot_vm_allocation(p->vm, &at))
        return error_set(err, -EOPNOTSUPP, "its tables do not tell what a thread has allocated");
    ret->allocated_bytes = at.allocated_bytes;
    ret->tlab_start = at.tlab_start;
    ret->tlab_top = at.tlab_top;
    ret->tlab_end = at.tlab_end;
    r = find_by_symbols(s, p, ret);
    if (r == -EAGAIN)
        return ASKED_PROBES_READING;
    one->by_stubs = r < 0;
    if (symbolizer_mapping(s, p, p->libjvm_base, ret_mapping, &end) < 0)
        return error_set(err, -ENOENT, "no libjvm.so is mapped into it");
    return r < 0 ? find_by_stubs(p, one, ret_mapping, end, ret, err) : 0;
}

static int put_in_libjvm(struct broker *b, struct symbolizer *s, struct process *p,
                         struct probed *one, struct error *err)
{
    struct broker_probes places;
    struct mapping m = { 0 };
    int r = find_places(s, p, one, &places, &m, err);

    return r == 0 ? broker_probe(b, &p->id, m.start, m.end, &places, err) : r;
}

static int put_in_agent(struct broker *b, struct process *p, struct error *err)
{
    uint32_t class_klass;

    if (p->jvm != JVM_READY || hotspot_class_klass(p->vm, &class_klass) < 0)
        return error_set(err, -EOPNOTSUPP, "its tables do not tell the class of an object");
    return broker_agent_probe(b, &p->id, class_klass, hotspot_vm_collections(p->vm), err);
}

static int put(const struct probes *all, struct broker *b, struct symbolizer *s, struct process *p,
               struct probed *one, struct error *err)
{
    return all->where == BROKER_PROBED_AGENT ? put_in_agent(b, p, err)
                                             : put_in_libjvm(b, s, p, one, err);
}

/* After an exec: takes out the probes of the image before. */
static void drop_before(struct probes *all, struct broker *b, const struct process *p)
{
    for (size_t i = 0; i < all->count; i++) {
        struct probed *one = &all->all[i];

        if (one->id.host_pid == p->id.host_pid)
            take_out(all, one, b);
    }
}

int probes_put(struct probes *all, struct broker *b, struct symbolizer *s, struct process *p,
               uint64_t until_ns, struct error *err)
{
    struct probed *one = find(all, &p->id);
    uint64_t now_ns = clock_monotonic_ns();
    struct error reason = ERROR_NULL;
    int r;

    if (!one && all->count == PROBES_MAX)
        return error_set(err, -E2BIG, "%d JVMs have probes already", PROBES_MAX);
    if (!one) {
        drop_before(all, b, p);
        one = &all->all[all->count++];
        *one = (struct probed){ .id = p->id };
    }
    if (asked_probes_want(&one->asked))
        return 0;
    if (now_ns >= one->asked.again_ns || until_ns > now_ns) {
        r = asked_probes_coming(&one->asked, b, p->id.host_pid, &reason);
        if (r == 0)
            r = put(all, b, s, p, one, &reason);
        if (r == -ENOENT) {
            symbolizer_read_maps(s, p);
            r = put(all, b, s, p, one, &reason);
        }
        if (r > 0)
            r = error_set(&reason, -ESRCH, "it has ended");
        asked_probes_note(&one->asked, r, &reason);
    }
    return asked_probes_answer(&one->asked, until_ns, err);
}

bool probes_by_stubs(struct probes *all, const struct proc_id *id)
{
    const struct probed *one = find(all, id);

    return one && one->asked.there && one->by_stubs;
}

void probes_want(struct probes *all, const struct proc_id *id)
{
    struct probed *one = find(all, id);

    if (one)
        one->asked.wanted = true;
}

void probes_look(struct probes *all)
{
    for (size_t i = 0; i < all->count; i++)
        all->all[i].asked.wanted = false;
}

void probes_looked(struct probes *all, struct broker *b)
{
    for (size_t i = all->count; i-- > 0;) {
        if (all->all[i].asked.wanted)
            continue;
        take_out(all, &all->all[i], b);
        all->all[i] = all->all[--all->count];
    }
}

void probes_forget(struct probes *all)
{
    all->count = 0;
}
