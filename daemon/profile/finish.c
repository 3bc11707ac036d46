/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the immutable profile of a capture: copies what its samples use out of the shared frame
 * table, renumbered, so that the profile depends on nothing that changes.
 */
#include "profile/record_impl.h"

#include "base/array.h"
#include "unwind/unwind.h"

/* The entries of the table that the profile has: id of the profile + 1 by id of the table; 0: not
 * copied yet. Entries of the table are distinct, so the copies need no hash table. */
struct finisher {
    const struct frame_table *table;
    struct frame_table_counts counts; /* counts of the table at the start; later ids are treated as
                                       * id 0 */
    struct profile *p;
    uint32_t *strings, *modules, *functions, *frames;
    size_t module_cap, function_cap, frame_cap;
};

static int finisher_init(struct finisher *f, const struct frame_table *table, struct profile *p)
{
    *f = (struct finisher){ .table = table, .p = p };
    frame_table_counts(table, &f->counts);
    f->strings = calloc(f->counts.strings, sizeof(uint32_t));
    f->modules = calloc(f->counts.modules, sizeof(uint32_t));
    f->functions = calloc(f->counts.functions, sizeof(uint32_t));
    f->frames = calloc(f->counts.frames, sizeof(uint32_t));
    return f->strings && f->modules && f->functions && f->frames ? 0 : -ENOMEM;
}

static void finisher_deinit(struct finisher *f)
{
    free(f->strings);
    free(f->modules);
    free(f->functions);
    free(f->frames);
}

static int finish_string(void *finisher, uint32_t *string)
{
    struct finisher *f = finisher;
    uint32_t old = *string < f->counts.strings ? *string : 0;
    int r = 0;

    if (f->strings[old])
        *string = f->strings[old] - 1;
    else
        r = intern_add(f->p->strings, frame_table_get_string(f->table, old), string);
    if (r == 0)
        f->strings[old] = *string + 1;
    return r;
}

static int finish_module(struct finisher *f, uint32_t old, uint32_t *ret)
{
    struct module copy = *frame_table_get_module(f->table, old);
    int r = 0;

    old = old < f->counts.modules ? old : 0;
    if (!f->modules[old]) {
        r = module_each_string(&copy, finish_string, f);
        if (r == 0 && !array_grow(&f->p->modules, &f->module_cap, f->p->module_count + 1, 16))
            r = -ENOMEM;
        if (r < 0)
            return r;
        f->p->modules[f->p->module_count++] = copy;
        f->modules[old] = (uint32_t)f->p->module_count;
    }
    *ret = f->modules[old] - 1;
    return 0;
}

static int finish_function(struct finisher *f, uint32_t old, uint32_t *ret)
{
    struct function copy = *frame_table_get_function(f->table, old);
    int r = 0;

    old = old < f->counts.functions ? old : 0;
    if (!f->functions[old]) {
        r = function_each_string(&copy, finish_string, f);
        if (r == 0)
            r = finish_module(f, copy.module, &copy.module);
        if (r == 0 && !array_grow(&f->p->functions, &f->function_cap, f->p->function_count + 1, 64))
            r = -ENOMEM;
        if (r < 0)
            return r;
        f->p->functions[f->p->function_count++] = copy;
        f->functions[old] = (uint32_t)f->p->function_count;
    }
    *ret = f->functions[old] - 1;
    return 0;
}

static int finish_frame(struct finisher *f, uint32_t old, uint32_t *ret)
{
    struct frame copy = *frame_table_get(f->table, old);
    int r = 0;

    old = old < f->counts.frames ? old : 0;
    if (!f->frames[old]) {
        r = finish_function(f, copy.function, &copy.function);
        if (r == 0 && !array_grow(&f->p->frames, &f->frame_cap, f->p->frame_count + 1, 64))
            r = -ENOMEM;
        if (r < 0)
            return r;
        f->p->frames[f->p->frame_count++] = copy;
        f->frames[old] = (uint32_t)f->p->frame_count;
    }
    *ret = f->frames[old] - 1;
    return 0;
}

static int finish_stacks(struct finisher *f, const struct record *r)
{
    struct profile_stack *stacks = calloc(r->nodes.count, sizeof(*stacks));
    int k = 0;

    if (!stacks)
        return -ENOMEM;
    f->p->stacks = stacks;
    f->p->stack_count = r->nodes.count;
    for (uint32_t i = 1; i < r->nodes.count && k == 0; i++) {
        const struct record_node *n = id_table_get(&r->nodes, i);

        stacks[i].parent = n->parent;
        stacks[i].depth = stacks[n->parent].depth + 1;
        k = finish_frame(f, n->frame, &stacks[i].frame);
    }
    return k;
}

/* Copies the routes of functions that are in the profile. */
static int finish_routes(struct finisher *f)
{
    struct profile *p = f->p;

    for (uint32_t i = 0; i < f->counts.functions; i++) {
        uint32_t route = f->functions[i] ? frame_table_get_route(f->table, i) : 0;

        if (!route)
            continue;
        if (!p->routes)
            p->routes = calloc(p->function_count, sizeof(*p->routes));
        if (!p->routes || (route != FUNCTION_ROUTE_NONE && finish_string(f, &route) < 0))
            return -ENOMEM;
        p->routes[f->functions[i] - 1] = route;
    }
    return 0;
}

static int finish_who(struct finisher *f, const struct record *r)
{
    struct profile *p = f->p;
    int k = 0;

    p->processes = calloc(r->processes.count ? r->processes.count : 1, sizeof(*p->processes));
    p->threads = calloc(r->threads.count ? r->threads.count : 1, sizeof(*p->threads));
    if (!p->processes || !p->threads)
        return -ENOMEM;
    for (uint32_t i = 0; i < r->processes.count && k == 0; i++) {
        struct profile_process *to = &p->processes[p->process_count++];

        *to = *(const struct profile_process *)id_table_get(&r->processes, i);
        k = process_each_string(to, finish_string, f);
    }
    for (uint32_t i = 0; i < r->threads.count && k == 0; i++) {
        struct profile_thread *to = &p->threads[p->thread_count++];

        *to = *(const struct profile_thread *)id_table_get(&r->threads, i);
        k = finish_string(f, &to->name);
    }
    return k;
}

ORDER_FUNCTION(sample_compare, struct profile_sample, COMPARE(x->time_ns, y->time_ns))

/* Sorts by time an array in which few samples are out of order. Takes these out, sorts them, and
 * merges them back from the end. Unlike qsort(), needs no second array of all samples. */
static int sort_samples(struct profile_sample *s, size_t n)
{
    struct profile_sample *late;
    size_t kept = 0, lates = 0, late_max = 0;
    uint64_t last_ns = 0;

    for (size_t i = 0; i < n; i++) {
        late_max += s[i].time_ns < last_ns;
        last_ns = MAX(last_ns, s[i].time_ns);
    }
    if (late_max == 0)
        return 0;
    late = malloc(late_max * sizeof(*late));
    if (!late)
        return -ENOMEM;
    last_ns = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i].time_ns < last_ns)
            late[lates++] = s[i];
        else
            s[kept++] = s[i];
        last_ns = MAX(last_ns, s[i].time_ns);
    }
    qsort(late, lates, sizeof(*late), sample_compare);
    for (size_t to = n; lates > 0;) {
        if (kept > 0 && s[kept - 1].time_ns > late[lates - 1].time_ns)
            s[--to] = s[--kept];
        else
            s[--to] = late[--lates];
    }
    free(late);
    return 0;
}

/* Sets the period of events sampled at a pace: the mean value of a sample. */
static void finish_periods(struct profile *p)
{
    uint64_t values[PROFILE_EVENTS_MAX] = { 0 }, counts[PROFILE_EVENTS_MAX] = { 0 };

    for (size_t i = 0; i < p->sample_count; i++) {
        values[p->samples[i].event] += p->samples[i].value;
        counts[p->samples[i].event] += p->samples[i].count;
    }
    for (uint32_t i = 0; i < p->event_count; i++) {
        if (!p->events[i].period)
            p->events[i].period = MAX(values[i] / MAX(counts[i], UINT64_C(1)), UINT64_C(1));
    }
}

static int finish_samples(struct profile *p, const struct record *r)
{
    int k;

    p->samples = malloc(MAX(r->sample_count, (size_t)1) * sizeof(*p->samples));
    if (!p->samples)
        return -ENOMEM;
    if (r->sample_count)
        memcpy(p->samples, r->samples, r->sample_count * sizeof(*p->samples));
    p->sample_count = r->sample_count;
    k = sort_samples(p->samples, p->sample_count);
    if (k < 0)
        return k;
    for (size_t i = 0; i < p->sample_count; i++) {
        struct profile_sample *s = &p->samples[i];

        if (s->event >= p->event_count)
            s->event = 0;
        if (!s->value)
            s->value = s->count * p->events[s->event].period;
        p->total += s->count;
        if (s->context >= p->context_count)
            s->context = 0;
        if (s->context)
            p->context_states[p->contexts[s->context].state] += s->count;
        if (s->flags & PROFILE_SAMPLE_UNKNOWN)
            p->unknown += s->count;
        if (s->flags & PROFILE_SAMPLE_CUT) {
            p->truncated += s->count;
            p->truncated_by[PROFILE_SAMPLE_END(s->flags)] += s->count;
        }
    }
    finish_periods(p);
    return 0;
}

/* Copies the facts of *meta that are plain values. */
static void finish_meta(struct profile *p, const struct profile *meta)
{
    memcpy(p->id, meta->id, sizeof(p->id));
    memcpy(p->events, meta->events, sizeof(p->events));
    memcpy(p->scope, meta->scope, sizeof(p->scope));
    memcpy(p->target, meta->target, sizeof(p->target));
    memcpy(p->symbols, meta->symbols, sizeof(p->symbols));
    p->event_count = CLAMP(meta->event_count, 1u, (uint32_t)PROFILE_EVENTS_MAX);
    p->start_ns = meta->start_ns;
    p->end_ns = meta->end_ns;
    p->start_realtime_ns = meta->start_realtime_ns;
    p->by_process = meta->by_process;
    p->lost = meta->lost;
}

void profile_describe(struct profile *p, const struct profile *meta)
{
    uint64_t lost = p->lost;

    finish_meta(p, meta);
    p->lost = lost;
}

/* Adds warnings about the present state of the record. The warnings are removed from the record
 * afterwards, because a running record changes. */
static int finish_warnings(struct profile *p, struct record *r)
{
    size_t before = r->warning_count;
    char taken[RECORD_TAKEN_BYTES];
    int k;

    r->finishing = true;
    if (r->thinned && r->charged.starved)
        record_warn(r,
                    "the memory for captures (captures_max_bytes%s) was used up: then 1 in %u "
                    "samples was kept, with the weight of the dropped ones; lower hz or seconds, "
                    "or take fewer captures at once",
                    record_taken_text(r->charged.taken_bytes, taken), r->keep_every);
    else if (r->thinned)
        record_warn(r,
                    "the limit of %zu samples was reached: then 1 in %u samples was kept, with the "
                    "weight of the dropped ones; lower hz or seconds",
                    r->sample_max, r->keep_every);
    if (r->dropped)
        record_warn(r,
                    "%llu samples were dropped for want of memory or for too many distinct stacks, "
                    "processes or threads; lower hz or seconds, or choose fewer processes",
                    (unsigned long long)r->dropped);
    if (r->moments_dropped)
        record_warn(r,
                    "%llu safepoints, operations of the VM and other moments are not in this "
                    "profile: it holds %d of them; lower seconds",
                    (unsigned long long)r->moments_dropped, PROFILE_MOMENTS_MAX);
    if (contexts_without_ids(r->contexts))
        record_warn(r,
                    "%llu samples have no trace: the profile holds the most different requests "
                    "that it can; lower seconds, or ask for a shorter range",
                    (unsigned long long)contexts_without_ids(r->contexts));
    if (contexts_without_name(r->contexts))
        record_warn(r, "a service has more than %u operations: the others are [other operations]",
                    PROFILE_OPERATIONS_MAX);
    if (p->truncated_by[UNWIND_END_THREAD])
        record_warn(r,
                    "%llu of %llu " RECORD_COUNTED_TEXT
                    "their older frames lie in the heap, and could not be read there. [...] stands "
                    "for them, and they count as truncated",
                    (unsigned long long)p->truncated_by[UNWIND_END_THREAD],
                    (unsigned long long)p->total);
    if (r->unwarned.count)
        record_warn(r, "there are %s%u more warnings, which are left out here",
                    r->unwarned.count == RECORD_UNWARNED_MAX ? "at least " : "", r->unwarned.count);
    r->finishing = false;
    for (size_t i = 0; i < r->warning_count; i++) {
        p->warnings[i] = strdup(r->warnings[i]);
        if (!p->warnings[i])
            break;
        p->warning_count++;
    }
    k = p->warning_count == r->warning_count ? 0 : -ENOMEM;
    while (r->warning_count > before)
        free(r->warnings[--r->warning_count]);
    return k;
}

static int finish_all(struct finisher *f, const struct record *r)
{
    struct profile *p = f->p;
    uint32_t unknown;
    int k;

    k = intern_new(RECORD_STRING_BYTES_MAX, &p->strings) ?:
        finish_frame(f, 0, &unknown) ?:
        finish_stacks(f, r) ?:
        finish_routes(f) ?:
        finish_who(f, r) ?:
        contexts_finish(r->contexts, p) ?:
        finish_samples(p, r);
    return k == 0 ? record_finish_moments(r, p, finish_string, f) : k;
}

/* Fills @p from a record with all frames resolved. */
static int finish_known(struct profile *p, const struct record *r)
{
    struct finisher f;
    int k = finisher_init(&f, r->table, p);

    if (k == 0)
        k = finish_all(&f, r);
    finisher_deinit(&f);
    return k;
}

/* Resolves the frames of @r that are known only now, then fills @p. */
static int finish_later(struct profile *p, struct record *r)
{
    struct record resolved;
    int k;

    if (!r->later)
        return finish_known(p, r);
    k = record_resolve(r, &resolved);
    if (k < 0)
        return k;
    k = finish_known(p, &resolved);
    record_resolved_deinit(&resolved);
    return k;
}

int record_finish(struct record *r, const struct profile *meta, struct profile **ret)
{
    struct profile *p = calloc(1, sizeof(*p));
    int k;

    if (!p)
        return -ENOMEM;
    p->hold.refs = 1;
    finish_meta(p, meta);
    p->lost += r->dropped;
    k = finish_later(p, r) ?: finish_warnings(p, r);
    if (k < 0) {
        profile_unref(p);
        return k == -ENOSPC ? -ENOMEM : k;
    }
    *ret = p;
    return 0;
}
