/* SPDX-License-Identifier: Apache-2.0 */
/* Moments of JVMs in a record, and the weights that safepoints give to samples. */
#include "base/array.h"
#include "profile/record_impl.h"

static const char *const KIND_NAMES[MOMENT_SORTS] = {
    [MOMENT_IS_SAFEPOINT] = "safepoint",
    [MOMENT_IS_OPERATION] = "operation",
    [MOMENT_IS_GC] = "gc",
    [MOMENT_COUNTS_COLLECTIONS] = "collections",
    [MOMENT_COUNTS_SAFEPOINTS] = "safepoints",
    [MOMENT_COUNTS_COMPILATIONS] = "compilations",
    [MOMENT_COUNTS_CLASSES_LOADED] = "classes_loaded",
    [MOMENT_COUNTS_CLASSES_UNLOADED] = "classes_unloaded",
    [MOMENT_IS_JIT] = "jit",
    [MOMENT_IS_CLASS_LOAD] = "class_load",
    [MOMENT_IS_CLASS_UNLOAD] = "class_unload",
};

const char *profile_moment_kind_name(uint32_t kind)
{
    return KIND_NAMES[kind < MOMENT_SORTS ? kind : MOMENT_IS_OPERATION];
}

int record_moment(struct record *r, const struct profile_moment *m)
{
    int k = 0;

    if (r->moment_count == PROFILE_MOMENTS_MAX)
        k = -ENOSPC;
    else if (!array_grow(&r->moments, &r->moment_cap, r->moment_count + 1, 64))
        k = -ENOMEM;
    if (k < 0)
        r->moments_dropped++;
    else
        r->moments[r->moment_count++] = *m;
    return k;
}

ORDER_FUNCTION(by_start, struct profile_moment, COMPARE(x->start_ns, y->start_ns))

int record_finish_moments(const struct record *r, struct profile *p, string_fn fn, void *cookie)
{
    int k = 0;

    if (!r->moment_count)
        return 0;
    p->moments = calloc(r->moment_count, sizeof(*p->moments));
    if (!p->moments)
        return -ENOMEM;
    for (size_t i = 0; i < r->moment_count && k == 0; i++) {
        struct profile_moment *m = &p->moments[p->moment_count++];

        *m = r->moments[i];
        k = moment_each_string(m, fn, cookie);
    }
    qsort(p->moments, p->moment_count, sizeof(*p->moments), by_start);
    return k;
}

/* ---- weights ---- */

/* The safepoints of a profile, by process and start, with the samples of each. */
struct weighing {
    struct safepoint {
        const struct profile_moment *m;
        uint64_t samples; /* weight of its samples, without the one with PROFILE_SAMPLE_REST */
        uint64_t left_ns; /* time that is not assigned to a sample yet */
    } * all;
    size_t count;
};

ORDER_FUNCTION(by_process_and_start, struct safepoint,
               COMPARE(x->m->process, y->m->process) ?: by_start(x->m, y->m))

/* Returns the safepoint that process @process was reaching at @time_ns. NULL: none. */
static struct safepoint *find_safepoint(const struct weighing *w, uint32_t process,
                                        uint64_t time_ns)
{
    size_t low = 0, high = w->count;
    struct safepoint *s;

    while (low < high) { /* finds the first safepoint after @time_ns */
        size_t middle = low + (high - low) / 2;
        const struct profile_moment *m = w->all[middle].m;

        if (m->process > process || (m->process == process && m->start_ns > time_ns))
            high = middle;
        else
            low = middle + 1;
    }
    s = low ? &w->all[low - 1] : NULL;
    return s && s->m->process == process && time_ns - s->m->start_ns <= s->m->reach_ns ? s : NULL;
}

static struct safepoint *safepoint_of(const struct weighing *w, const struct profile *p,
                                      const struct profile_sample *s)
{
    return s->thread < p->thread_count
               ? find_safepoint(w, p->threads[s->thread].process, s->time_ns)
               : NULL;
}

/* Returns the value of @s; 0: the sample is dropped. */
static uint64_t weigh(const struct weighing *w, const struct profile *p,
                      const struct profile_sample *s)
{
    struct safepoint *of = safepoint_of(w, p, s);
    uint64_t value;

    if (!of || (s->flags & PROFILE_SAMPLE_REST && of->samples))
        return 0;
    if (s->flags & PROFILE_SAMPLE_REST)
        return of->m->reach_ns;
    value = MAX(of->left_ns * s->count / of->samples, UINT64_C(1));
    of->left_ns -= MIN(value, of->left_ns);
    of->samples -= s->count; /* the last sample gets the remaining time */
    if (!of->samples)
        of->samples = UINT64_MAX; /* not 0, which would mean no samples */
    return value;
}

static void drop_sample(struct profile *p, const struct profile_sample *s)
{
    p->total -= s->count;
    if (s->context)
        p->context_states[p->contexts[s->context].state] -= s->count;
    if (s->flags & PROFILE_SAMPLE_UNKNOWN)
        p->unknown -= s->count;
    if (s->flags & PROFILE_SAMPLE_CUT) {
        p->truncated -= s->count;
        p->truncated_by[PROFILE_SAMPLE_END(s->flags)] -= s->count;
    }
}

int profile_weigh_safepoints(struct profile *p, uint32_t event)
{
    struct weighing w = { .all = calloc(p->moment_count + 1, sizeof(*w.all)) };
    size_t kept = 0;

    if (!w.all)
        return -ENOMEM;
    for (size_t i = 0; i < p->moment_count; i++) {
        if (p->moments[i].kind == MOMENT_IS_SAFEPOINT)
            w.all[w.count++] =
                (struct safepoint){ .m = &p->moments[i], .left_ns = p->moments[i].reach_ns };
    }
    qsort(w.all, w.count, sizeof(*w.all), by_process_and_start);
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        struct safepoint *of = s->event == event ? safepoint_of(&w, p, s) : NULL;

        if (of && !(s->flags & PROFILE_SAMPLE_REST))
            of->samples += s->count;
    }
    for (size_t i = 0; i < p->sample_count; i++) {
        struct profile_sample s = p->samples[i];

        if (s.event == event) {
            s.value = weigh(&w, p, &s);
            if (!s.value) {
                drop_sample(p, &s);
                continue;
            }
            s.flags &= (uint16_t)~PROFILE_SAMPLE_REST;
        }
        p->samples[kept++] = s;
    }
    p->sample_count = kept;
    free(w.all);
    return 0;
}
