/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorded_allocs.h"

#include "base/clock.h"
#include "base/log.h"
#include "capture/capture_impl.h"
#include "capture/recorder.h"

#define PROBLEM_NS (60 * NSEC_PER_SEC) /* time until the next try after a problem */

_Static_assert(RECORDED_ALLOCS_MAX <= PROBES_MAX / 2, "captures have room for probes");

/* ---- the set ---- */

static void start(struct captures *c, struct recorded_allocs *a, uint64_t now_ns)
{
    const struct event_ref event = event_ref_of(events_row(EVENT_ALLOC));
    uint64_t period = EVENT_PACED | NSEC_PER_SEC / RECORDED_ALLOCS_HZ, real_period;
    int r;

    if (now_ns < a->again_ns)
        return;
    a->problem = ERROR_NULL;
    r = sample_sets_take(&c->sets, c->broker, &event, period, /* may_arm= */ true, &a->set,
                         &real_period, &a->problem);
    a->problem.code = r;
    a->runs = r == 0;
    if (a->runs)
        c->recording.sets |= 1U << a->set;
    else if (r != -EINPROGRESS)
        a->again_ns = now_ns + PROBLEM_NS;
}

void recorded_allocs_begin(struct captures *c, uint64_t now_ns)
{
    struct recorded_allocs *a = &c->recording.allocs;

    if (!a->on || !c->recording.recorder)
        return;
    a->left_out = 0;
    for (size_t i = 0; i < a->count; i++)
        a->jvms[i].seen = false;
    if (!a->runs)
        start(c, a, now_ns);
}

/* ---- the JVMs ---- */

static struct recorded_alloc *find(const struct recorded_allocs *a, const struct proc_id *id)
{
    return (struct recorded_alloc *)(uintptr_t)FIRST_OF(i, a->jvms, a->count,
                                                        proc_id_equal(&a->jvms[i].id, id));
}

/* Frees the place of JVM @i. Stores how long it rests, for its next place. */
static void forget(struct recorded_allocs *a, size_t i)
{
    if (a->jvms[i].rests_ns)
        a->resting[a->oldest++ % ARRAY_SIZE(a->resting)] = a->jvms[i];
    places_give(&a->places, a->jvms[i].payer);
    a->jvms[i] = a->jvms[--a->count];
}

static uint64_t payer_of(const void *table, size_t i)
{
    return ((const struct recorded_allocs *)table)->jvms[i].payer;
}

/* Returns the place of @p, and makes it if needed. NULL: there is none. */
static struct recorded_alloc *place_of(struct recorded_allocs *a, struct process *p,
                                       uint64_t now_ns)
{
    struct recorded_alloc *j = find(a, &p->id), *rest;
    uint64_t payer;

    if (j)
        return j;
    payer = process_payer(p);
    if (a->count == RECORDED_ALLOCS_MAX) {
        size_t at = places_find(&a->places, payer, a->count, payer_of, a);

        if (at == a->count)
            return NULL;
        forget(a, at);
    }
    places_take(&a->places, payer);
    j = &a->jvms[a->count++];
    *j = (struct recorded_alloc){ .id = p->id, .payer = payer, .since_ns = now_ns };
    rest =
        FIRST_OF(i, a->resting, ARRAY_SIZE(a->resting), proc_id_equal(&a->resting[i].id, &p->id));
    if (rest) {
        j->per_second = rest->per_second;
        j->rests_ns = rest->rests_ns;
        *rest = (struct recorded_alloc){ 0 };
    }
    return j;
}

/* Counts the hits of @j, which loses its probes for a while after too many. */
static void look(struct recorded_allocs *a, struct broker *b, struct recorded_alloc *j,
                 uint64_t now_ns)
{
    uint64_t took_ns = now_ns - j->looked_ns, before = j->hits;

    if ((j->looked_ns && took_ns < RECORDED_ALLOCS_LOOK_NS) ||
        broker_heap_hits(b, j->id.host_pid, &j->hits) != 0)
        return;
    if (j->looked_ns && j->hits >= before) /* a lower number is of other probes */
        j->per_second = (j->hits - before) * NSEC_PER_SEC / took_ns;
    j->looked_ns = now_ns;
    if (j->per_second <= RECORDED_ALLOCS_HITS_MAX)
        return;
    j->rests_ns = now_ns + RECORDED_ALLOCS_REST_NS;
    a->rests[a->rested++ % RECORDED_RESTS_MAX] =
        (struct recorded_rest){ j->id, .from_ns = now_ns, .to_ns = j->rests_ns };
    log_warn("allocations of JVM %d are not recorded for %d s: its probes were hit %llu times a "
             "second, and the limit is %d",
             j->id.host_pid, (int)(RECORDED_ALLOCS_REST_NS / NSEC_PER_SEC),
             (unsigned long long)j->per_second, RECORDED_ALLOCS_HITS_MAX);
}

/* Puts the probes of @p, or keeps them. */
static void want(struct captures *c, struct recorded_alloc *j, struct process *p, uint64_t now_ns,
                 uint64_t until_ns)
{
    const struct probe_env env = captures_probe_env(c);
    struct probe_table *t = &c->probes;
    const struct probe_entry *e = probe_table_find(t, &p->id, PROBE_NO_SET);

    if (e && e->asked.there)
        look(&c->recording.allocs, c->broker, j, now_ns);
    if (j->rests_ns)
        return;
    if ((e && e->asked.there) || clock_monotonic_ns() >= until_ns)
        probe_table_want(t, &p->id, PROBE_NO_SET);
    else if (e || t->count < PROBES_MAX)
        probe_table_put(t, &env, p, PROBE_NO_SET, /* what= */ NULL, /* until_ns= */ 0, NULL);
}

void recorded_allocs_want(struct captures *c, struct process *p, uint64_t now_ns, uint64_t until_ns)
{
    struct recorded_allocs *a = &c->recording.allocs;
    struct recorded_alloc *j;

    if (!a->runs || p->jvm != JVM_READY || !recorder_knows(c->recording.recorder, &p->id))
        return;
    j = place_of(a, p, now_ns);
    if (!j) {
        a->left_out++;
        return;
    }
    j->seen = true;
    if (j->rests_ns && now_ns >= j->rests_ns)
        *j = (struct recorded_alloc){
            .id = j->id, .payer = j->payer, .since_ns = j->since_ns, .seen = true
        };
    if (now_ns - j->since_ns >= RECORDED_ALLOCS_AFTER_NS)
        want(c, j, p, now_ns, until_ns);
}

void recorded_allocs_end(struct captures *c)
{
    struct recorded_allocs *a = &c->recording.allocs;

    for (size_t i = a->count; i > 0; i--) {
        if (!a->jvms[i - 1].seen)
            forget(a, i - 1);
    }
}

bool recorded_allocs_of(const struct recorded_allocs *a, const struct proc_id *id)
{
    const struct recorded_alloc *j = find(a, id);

    return j && !j->rests_ns;
}

int recorded_allocs_why(const struct captures *c, const struct process *p, struct error *err)
{
    const struct recorded_allocs *a = &c->recording.allocs;
    const struct recorded_alloc *j = find(a, &p->id);
    const struct probe_entry *e = probe_table_find(&c->probes, &p->id, PROBE_NO_SET);

    if (!a->on)
        return error_set(err, -EOPNOTSUPP, "recorder_alloc is off");
    if (!a->runs) {
        if (err)
            *err = a->problem;
        return a->problem.code ?: error_set(err, -EAGAIN, "the flight recorder is starting");
    }
    if (p->jvm == JVM_STARTING)
        return error_set(err, -EAGAIN, "the JVM is still starting");
    if (p->jvm != JVM_READY)
        return error_set(err, -EOPNOTSUPP, "%s", p->reason[0] ? p->reason : "it is no JVM");
    if (!j && a->count == RECORDED_ALLOCS_MAX && recorder_knows(c->recording.recorder, &p->id))
        return error_set(err, -E2BIG, "the allocations of %d JVMs are recorded, the most at a time",
                         RECORDED_ALLOCS_MAX);
    if (!j)
        return error_set(err, -EAGAIN, "it has used no CPU time yet");
    if (j->rests_ns)
        return error_set(err, -EDQUOT,
                         "its probes were hit %llu times a second, and the limit is %d: it has "
                         "none for %d minutes",
                         (unsigned long long)j->per_second, RECORDED_ALLOCS_HITS_MAX,
                         (int)(RECORDED_ALLOCS_REST_NS / NSEC_PER_SEC / 60));
    if (e && e->asked.there)
        return 0;
    if (e && asked_probes_failed(&e->asked)) {
        if (err)
            *err = e->asked.reason;
        return e->asked.reason.code;
    }
    return error_set(err, -EAGAIN, "its probes are being placed");
}
