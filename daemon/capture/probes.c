/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probes.h"

#include "base/clock.h"

#define PROBES_AGAIN_NS (100 * NSEC_PER_MSEC) /* while it starts, or its symbols are read */
#define PROBES_FAILED_NS (10 * NSEC_PER_SEC)

/* As C++ spells them, of JDK 11 and up; what follows is the types of parameters. */
static const char *const FUNCTIONS[BROKER_PROBE_KINDS] = {
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

/* Where the probes go. 0 or as probes_put(). */
static int find_places(struct symbolizer *s, struct process *p, uint64_t until_ns,
                       struct broker_probes *ret, uint64_t *ret_start, uint64_t *ret_end,
                       struct error *err)
{
    uint64_t offsets[BROKER_PROBE_KINDS];
    struct hotspot_allocation at;
    int r;

    *ret = (struct broker_probes){ 0 };
    if (p->jvm == JVM_STARTING)
        return -EAGAIN;
    if (p->jvm != JVM_READY)
        return error_set(err, -EOPNOTSUPP, "%s", p->jvm == JVM_NO ? "it is no JVM" : p->reason);
    if (!hotspot_vm_allocation(p->vm, &at))
        return error_set(err, -EOPNOTSUPP, "its tables do not tell what a thread has allocated");
    r = symbolizer_functions(s, p, "/libjvm.so", FUNCTIONS, BROKER_PROBE_KINDS, until_ns, offsets,
                             ret_start, ret_end);
    if (r == -EAGAIN)
        return r;
    if (r < 0)
        return error_set(err, r, "the symbols of its libjvm.so cannot be read");
    ret->allocated_bytes = at.allocated_bytes;
    ret->tlab_start = at.tlab_start;
    ret->tlab_top = at.tlab_top;
    ret->tlab_end = at.tlab_end;
    for (uint32_t i = 0; i < BROKER_PROBE_KINDS; i++) {
        if (!offsets[i] || offsets[i] > UINT32_MAX) {
            error_set(err, -EOPNOTSUPP,
                      p->jdk < 11 ? "JDK %d does not tell its probes which thread allocates"
                                  : "its libjvm.so (JDK %d) has no symbols, which say where memory "
                                    "is allocated",
                      p->jdk);
            error_remedy(err, p->jdk < 11 ? "use JDK 11 or later"
                                          : "install the debug symbols of that JDK where it runs");
            return -EOPNOTSUPP;
        }
        ret->probes[ret->count].offset = (uint32_t)offsets[i];
        ret->probes[ret->count++].kind = i;
    }
    return 0;
}

static int put(struct broker *b, struct symbolizer *s, struct process *p, uint64_t until_ns,
               struct error *err)
{
    struct broker_probes places;
    uint64_t start, end;
    int r = find_places(s, p, until_ns, &places, &start, &end, err);

    if (r == 0)
        r = broker_probe(b, &p->id, start, end, &places, err);
    return r > 0 ? error_set(err, -ESRCH, "it has ended") : r;
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
        for (size_t i = 0; i < all->count;
             i++) /* an exec: the new image gets probes in their place */
            all->all[i].there &= all->all[i].id.host_pid != p->id.host_pid;
        one = &all->all[all->count++];
        *one = (struct probed){ .id = p->id };
    }
    one->wanted = true;
    if (one->there)
        return 0;
    if (now_ns >= one->again_ns || until_ns > now_ns) {
        r = put(b, s, p, until_ns, &reason);
        one->there = r == 0;
        one->reason = reason;
        one->reason.code = r;
        one->again_ns = clock_monotonic_ns() + (r == -EAGAIN ? PROBES_AGAIN_NS : PROBES_FAILED_NS);
    }
    if (one->reason.code && one->reason.code != -EAGAIN && err)
        *err = one->reason;
    return one->reason.code;
}

void probes_look(struct probes *all)
{
    for (size_t i = 0; i < all->count; i++)
        all->all[i].wanted = false;
}

void probes_looked(struct probes *all, struct broker *b)
{
    for (size_t i = all->count; i-- > 0;) {
        if (all->all[i].wanted)
            continue;
        if (all->all[i].there)
            broker_unprobe(b, all->all[i].id.host_pid, NULL);
        all->all[i] = all->all[--all->count];
    }
}

void probes_forget(struct probes *all)
{
    all->count = 0;
}
