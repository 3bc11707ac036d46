/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probe/yields.h"

#include "base/clock.h"

#define YIELDS_TRIES 16 /* most trials in which the begin of a wait was lost */

_Static_assert((int)YIELDS_KINDS <= BROKER_PLACES_MAX, "room for all places");

static void begin(struct yields_probe *y)
{
    y->looked_ns = y->since_ns = y->over_ns = 0;
    y->counts = (struct yields_counts){ 0 };
    y->tries = 0;
}

/* Finds the functions of @p, once. Returns 0, or as probe_kind.put. */
static int find(struct yields_probe *y, struct process *p, struct error *err)
{
    int r;

    if (p->jvm == JVM_STARTING)
        return -EAGAIN;
    if (p->jvm != JVM_READY || !p->vm)
        return error_set(err, -EOPNOTSUPP, "%s", p->jvm == JVM_NO ? "it is no JVM" : p->reason);
    if (y->at.freeze)
        return 0;
    r = hotspot_vm_yields(p->vm, &y->at);
    if (r == HOTSPOT_GONE)
        return error_set(err, -ESRCH, "it has ended");
    if (r == -EAGAIN || r == -ETIMEDOUT)
        return -EAGAIN;
    return r < 0 ? error_set(err, -EOPNOTSUPP,
                             "the functions of its libjvm.so (JDK %d) that virtual threads yield "
                             "in were not found beyond doubt",
                             p->jdk)
                 : 0;
}

/* Adds the place of the function at @at, in the mapping @m up to @end. Returns false if @at is
 * outside of @m. */
static bool add_place(struct broker_probes *to, const struct mapping *m, uint64_t end, uint64_t at,
                      enum yields_kind kind)
{
    uint64_t offset = at - m->start + m->offset;

    if (at < m->start || at >= end || offset > UINT32_MAX)
        return false;
    to->places[to->count++] = broker_place_of(offset, kind);
    return true;
}

static int put(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
               struct process *p, const void *what, struct error *err)
{
    struct yields_probe *y = (struct yields_probe *)e;
    struct broker_probes probes = { .program = BROKER_PROBED_YIELDS };
    struct mapping m;
    uint64_t end;
    int r = find(y, p, err);

    (void)t;
    (void)what;
    if (r < 0)
        return r;
    begin(y);
    probes.about.yields = y->at.vm;
    if (symbolizer_libjvm(env->symbolizer, p, p->libjvm_base, &m, &end) < 0)
        return error_set(err, -ENOENT, "no libjvm.so is mapped into it");
    if (!add_place(&probes, &m, end, y->at.freeze, YIELDS_FREEZE) ||
        !add_place(&probes, &m, end, y->at.thaw, YIELDS_THAW) ||
        (y->at.preempt && !add_place(&probes, &m, end, y->at.preempt, YIELDS_PREEMPT)))
        return error_set(err, -EOPNOTSUPP, "its libjvm.so is not the one that it runs");
    return broker_probe_put(env->broker, &p->id, m.start, m.end, &probes, err);
}

static void take_out(struct broker *b, const struct probe_entry *e)
{
    broker_probe_drop(b, e->id.host_pid, BROKER_PROBED_YIELDS, 0, NULL);
}

/* Removes the probes for good. */
static void give_up(struct broker *b, struct yields_probe *y)
{
    take_out(b, &y->entry);
    y->entry.asked.there = false;
    y->entry.asked.reason.code = -EDQUOT;
    y->entry.asked.again_ns = UINT64_MAX;
}

/* Returns whether the hits since the last look, @took_ns ago, are too many, or waits are lost. */
static bool is_over(struct yields_probe *y, const struct yields_counts *now, uint64_t took_ns)
{
    uint64_t hits = now->hits - y->counts.hits, refused = now->refused - y->counts.refused;
    uint64_t per_second = hits * NSEC_PER_SEC / MAX(took_ns, YIELDS_TRIAL_NS);
    struct error *why = &y->entry.asked.reason;

    if (per_second > YIELDS_PER_SECOND_MAX)
        error_set(why, -EDQUOT,
                  "its virtual threads yield so often that probes would be hit %llu times a "
                  "second, and the limit is %d",
                  (unsigned long long)per_second, YIELDS_PER_SECOND_MAX);
    else if (refused)
        error_set(why, -EDQUOT,
                  "flamed had no room for %llu of its waits: too many virtual threads wait at a "
                  "time, here and in other JVMs of its container or user; a later capture may have "
                  "probes",
                  (unsigned long long)refused);
    else if (now->missed)
        error_set(
            why, -EDQUOT,
            "flamed lost track of some of its waits, which it could not read; a later capture "
            "may have probes");
    else
        return false;
    return true;
}

/* Counts the hits of the probes. */
static void look(struct broker *b, struct probe_entry *e)
{
    struct yields_probe *y = (struct yields_probe *)e;
    uint64_t now_ns = clock_monotonic_ns(), took_ns;
    struct yields_counts now;

    if (y->over_ns) {
        if (now_ns - y->over_ns >= YIELDS_CLOSING_NS)
            give_up(b, y);
        return;
    }
    if (broker_yields(b, e->id.host_pid, &now) != 0)
        return;
    took_ns = clock_monotonic_ns() - y->looked_ns; /* the broker may have answered late */
    if (now.missed && !y->since_ns && (y->unread || y->tries++ < YIELDS_TRIES)) {
        y->looked_ns = now_ns; /* a new trial begins: the unwinder's tables come after the probes */
        y->counts = now;
        return;
    }
    if (y->looked_ns && is_over(y, &now, took_ns)) {
        y->counts = now;
        if (y->since_ns)
            y->over_ns = now_ns;
        else
            give_up(b, y);
        return;
    }
    if (y->looked_ns && took_ns < YIELDS_TRIAL_NS)
        return;
    if (y->looked_ns && !y->since_ns)
        y->since_ns = now_ns;
    y->looked_ns = now_ns;
    y->counts = now;
}

const struct probe_kind YIELDS = { .entry_bytes = sizeof(struct yields_probe),
                                   .entries_max = YIELDS_MAX,
                                   .standing_max = YIELDS_MAX,
                                   .have_all = "JVMs have probes",
                                   .put = put,
                                   .take_out = take_out,
                                   .look = look };

const struct yields_probe *yields_find(const struct probe_table *t, const struct proc_id *id)
{
    return (const struct yields_probe *)probe_table_find(t, id, PROBE_NO_SET);
}

void yields_described(struct probe_table *t, const struct proc_id *id, bool described)
{
    struct yields_probe *y = (struct yields_probe *)probe_table_find(t, id, PROBE_NO_SET);

    if (y)
        y->unread = !described;
}
