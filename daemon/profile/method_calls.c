/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the samples of each thread, and adds up the calls found. */
#include "profile/method_calls_impl.h"

#include "base/array.h"
#include "profile/thread_kinds.h"

/* A call under way. */
struct open_call {
    uint64_t caller; /* as in struct method_frame */
    uint32_t method;
    bool cut;          /* true: the call may have begun earlier */
    size_t first;      /* place of its first sample in finder.order */
    uint64_t begun_ns; /* start of the call as far as it is known */
};

/* A matching method on the stacks of the current thread. */
struct method_place {
    size_t seen;     /* 1 + place in `order` of the last sample with the method; 0: none */
    uint64_t caller; /* of that sample; as in struct method_frame */
    bool open;       /* a call of the method is open */
};

/* The length of a call. */
struct call_length {
    uint64_t ns;
    uint32_t method;
};

struct finder {
    const struct profile *p;
    const struct method_calls_opts *o;
    struct method_calls *calls;
    struct method_stacks stacks;
    uint32_t *order; /* owned: indexes of the event's samples, by thread, then by time */
    size_t *starts;  /* owned, [thread_count + 1]: first place of each thread in order */
    uint64_t period_ns, gap_ns;
    struct open_call open[METHOD_CALLS_NESTED_MAX]; /* calls of the current thread */
    size_t open_count;
    struct method_place *places; /* owned, [METHOD_CALLS_METHODS_MAX + 1], by name */
    struct call_length *lengths; /* owned */
    size_t length_count, length_cap;
    struct method_calls_row *by_name; /* owned, [by name of struct method_calls] */
    size_t by_name_cap;
};

/* The state of a thread at one moment, or during one wait. */
struct evidence {
    uint64_t from_ns, to_ns;
    uint32_t frames; /* number of a struct method_frame; 0: none */
    bool cut;        /* its outermost frames are missing */
};

static void finder_deinit(struct finder *f)
{
    method_stacks_deinit(&f->stacks);
    free(f->order);
    free(f->starts);
    free(f->places);
    free(f->lengths);
    free(f->by_name);
}

static bool is_of(const struct finder *f, const struct profile_sample *s)
{
    return s->event == f->o->event && s->thread < f->p->thread_count;
}

/* Orders samples by thread, and within a thread by time, as they are in the profile. */
static int order_samples(struct finder *f)
{
    const struct profile *p = f->p;
    size_t sum = 0;

    f->starts = calloc(p->thread_count + 2, sizeof(*f->starts));
    f->order = calloc(p->sample_count + 1, sizeof(*f->order));
    if (!f->starts || !f->order)
        return -ENOMEM;
    for (size_t i = 0; i < p->sample_count; i++)
        if (is_of(f, &p->samples[i]))
            f->starts[p->samples[i].thread + 2]++;
    for (size_t t = 2; t < p->thread_count + 2; t++)
        f->starts[t] = sum += f->starts[t];
    for (size_t i = 0; i < p->sample_count; i++)
        if (is_of(f, &p->samples[i]))
            f->order[f->starts[p->samples[i].thread + 1]++] = (uint32_t)i;
    return 0;
}

/* ---- lengths ---- */

static struct method_calls_row *row_of(struct finder *f, uint32_t method)
{
    if (!array_extend(&f->by_name, &f->by_name_cap, MAX((size_t)method + 1, (size_t)64)))
        return NULL;
    return &f->by_name[method];
}

/* Counts a call of @ns. @cut: the real call was longer. */
static int add_length(struct finder *f, uint32_t method, uint64_t ns, bool cut)
{
    struct method_calls_row *row = row_of(f, method);

    if (!row)
        return -ENOMEM;
    row->name = method;
    row->total_ns += ns;
    if (ns > row->longest_ns || (ns == row->longest_ns && cut)) {
        row->longest_ns = ns;
        row->longest_cut = cut;
    }
    if (cut) {
        row->cut++;
        return 0;
    }
    row->count++;
    if (f->length_count == METHOD_CALLS_MAX) {
        f->calls->calls_left_out++;
        return 0;
    }
    if (!array_grow(&f->lengths, &f->length_cap, f->length_count + 1, 256))
        return -ENOMEM;
    f->lengths[f->length_count++] = (struct call_length){ .ns = ns, .method = method };
    return 0;
}

/* Marks the samples of call @c, which lie before place @end. */
static int mark(struct finder *f, const struct open_call *c, size_t end)
{
    int r = 0;

    for (size_t i = c->first; i < end && r == 0; i++) {
        uint8_t *inside = &f->calls->inside[f->order[i]];
        const struct method_node *node;

        if (*inside)
            continue;
        r = method_stacks_get(&f->stacks, f->p->samples[f->order[i]].stack, &node, NULL);
        if (r == 0)
            *inside = method_stacks_have(&f->stacks, node->frames, c->method);
    }
    return r;
}

/* Ends call @i at @end_ns, before the sample at place @end. @cut: the real end may be later. */
static int end_call(struct finder *f, size_t i, uint64_t end_ns, bool cut, size_t end)
{
    struct open_call c = f->open[i];
    uint64_t ns = end_ns - MIN(c.begun_ns, end_ns);
    int r = add_length(f, c.method, ns, c.cut || cut);

    f->open[i] = f->open[--f->open_count];
    f->places[c.method].open = false;
    return r == 0 && ns >= f->o->over_ns ? mark(f, &c, end) : r;
}

/* ---- a thread ---- */

/* Marks the methods on the stack of @e, the sample at place @at. */
static void see(struct finder *f, const struct evidence *e, size_t at)
{
    for (uint32_t n = e->frames; n; n = method_stacks_frame(&f->stacks, n)->before) {
        const struct method_frame *frame = method_stacks_frame(&f->stacks, n);
        struct method_place *place = &f->places[frame->method];

        place->seen = at + 1;
        place->caller = frame->caller;
    }
}

/* Returns whether call @c continues in @e, after see(). */
static bool goes_on(const struct finder *f, struct open_call *c, const struct evidence *e,
                    size_t at)
{
    const struct method_place *place = &f->places[c->method];

    if (e->cut || place->seen != at + 1)
        return e->cut; /* if frames are missing, the method may be one of them */
    if (!c->caller)
        c->caller = place->caller;
    return c->caller == place->caller;
}

/* The state of the thread before a sample. */
struct before {
    uint64_t ns;      /* until when the state of the thread is known */
    uint64_t seen_ns; /* time of the last sample; later than ns if its stack was not known */
    bool known;       /* false: ns is the start of the profile */
    bool absent;      /* the thread began after ns */
    bool hole;        /* a long wait with an unknown stack follows ns */
};

/* Returns the start of a call first seen in @e: the middle between @e and before->ns or, for a new
 * thread, half a period before @e. */
static uint64_t begin_of(const struct finder *f, const struct evidence *e,
                         const struct before *before, bool gap)
{
    uint64_t back_ns = before->known && !gap ? (e->from_ns - before->ns) / 2
                       : before->absent      ? f->period_ns / 2
                                             : 0;

    return e->from_ns - back_ns;
}

/* Ends the open calls that @e does not contain, and begins new ones. @at: the place of the sample
 * of @e. */
static int step(struct finder *f, const struct evidence *e, struct before *before, size_t at)
{
    bool gap = before->known && (before->hole || e->from_ns - before->ns > f->gap_ns);
    uint64_t between_ns = begin_of(f, e, before, gap);
    int r = 0;

    see(f, e, at);
    for (size_t i = f->open_count; i > 0 && r == 0; i--) {
        struct open_call *c = &f->open[i - 1];

        if (gap)
            r = end_call(f, i - 1, before->ns, /* cut= */ true, at);
        else if (!goes_on(f, c, e, at))
            r = end_call(f, i - 1, between_ns, /* cut= */ false, at);
    }
    for (uint32_t n = e->frames; n && r == 0;) {
        const struct method_frame *frame = method_stacks_frame(&f->stacks, n);
        struct method_place *place = &f->places[frame->method];

        n = frame->before;
        if (place->open || f->open_count == METHOD_CALLS_NESTED_MAX)
            continue;
        place->open = true;
        f->open[f->open_count++] =
            (struct open_call){ .caller = e->cut ? 0 : frame->caller,
                                .method = frame->method,
                                .cut = gap || (!before->known && !before->absent),
                                .first = at,
                                .begun_ns = between_ns };
    }
    *before = (struct before){ .ns = e->to_ns, .seen_ns = e->to_ns, .known = true };
    return r;
}

/* Returns whether outer frames of a sample are missing. */
static bool is_cut(const struct profile_sample *s)
{
    return s->flags & PROFILE_SAMPLE_CUT || !s->stack;
}

/* Reads the samples of one moment or one wait from place *@at on, and moves *@at behind them. A
 * wait may have a second sample, for its part in a run queue. Returns 1, 0 if the stack is not
 * known, or -errno. */
static int read_evidence(struct finder *f, size_t *at, size_t end, uint64_t since_ns,
                         struct evidence *ret, struct error *err)
{
    const struct profile_sample *first = &f->p->samples[f->order[*at]], *best = first;
    uint64_t waited_ns = 0;
    const struct method_node *node;
    int r = 0;

    for (; *at < end && r == 0; (*at)++) {
        const struct profile_sample *s = &f->p->samples[f->order[*at]];

        if (s->time_ns != first->time_ns)
            break;
        if (PROFILE_SAMPLE_STATE(s->flags) > STATE_RUNNING && s->count == 1)
            waited_ns += s->value;
        if (is_cut(best))
            best = s;
        r = method_stacks_get(&f->stacks, s->stack, &node, err);
        f->calls->virtual_left_out += r == 0 && node->matches_virtual ? s->count : 0;
    }
    if (r == 0)
        r = method_stacks_get(&f->stacks, best->stack, &node, err);
    if (r < 0)
        return r;
    if (waited_ns <= f->period_ns) /* a short wait, sampled by chance: its value is not its
                                    * length */
        waited_ns = 0;
    *ret = (struct evidence){ .from_ns =
                                  MAX(first->time_ns - MIN(waited_ns, first->time_ns), since_ns),
                              .to_ns = MAX(first->time_ns, since_ns),
                              .frames = node->frames,
                              .cut = is_cut(best) };
    return !ret->cut || node->frames;
}

/* Ends the open calls at the end of a thread's samples, at place @end. */
static int end_thread(struct finder *f, const struct before *before, size_t end)
{
    bool unknown = before->hole || before->seen_ns - before->ns > f->gap_ns;
    bool ended = !f->o->joined && !unknown && f->p->end_ns > before->seen_ns + f->gap_ns;
    int r = 0;

    while (f->open_count > 0 && r == 0)
        r = end_call(f, f->open_count - 1, before->ns + (ended ? f->period_ns / 2 : 0), !ended,
                     end);
    return r;
}

static int find_in_thread(struct finder *f, size_t begin, size_t end, struct error *err)
{
    struct before before = { .ns = f->p->start_ns, .seen_ns = f->p->start_ns };
    size_t at = begin;
    int r = 0;

    f->open_count = 0;
    while (at < end && r >= 0) {
        struct evidence e = { 0 };
        size_t first = at;

        r = read_evidence(f, &at, end, before.ns, &e, err);
        if (r < 0)
            break;
        before.absent = first == begin && !f->o->joined && e.from_ns > before.ns + f->gap_ns;
        before.seen_ns = e.to_ns;
        before.hole |= r == 0 && e.to_ns - e.from_ns > METHOD_CALLS_HOLE_PERIODS * f->period_ns;
        if (r > 0)
            r = step(f, &e, &before, first);
    }
    return r < 0 ? r : end_thread(f, &before, end);
}

/* ---- the table ---- */

ORDER_FUNCTION(length_cmp, struct call_length,
               COMPARE(x->method, y->method) ?: COMPARE(x->ns, y->ns))

ORDER_FUNCTION(row_cmp, struct method_calls_row,
               COMPARE(y->total_ns, x->total_ns) ?: COMPARE(x->name, y->name))

/* Sets the median and the 99th percentile of each method's calls. */
static void add_ranks(struct finder *f)
{
    size_t n;

    if (f->length_count)
        qsort(f->lengths, f->length_count, sizeof(*f->lengths), length_cmp);
    for (size_t first = 0; first < f->length_count; first += n) {
        struct method_calls_row *row = &f->by_name[f->lengths[first].method];

        for (n = 1; first + n < f->length_count &&
                    f->lengths[first + n].method == f->lengths[first].method;)
            n++;
        row->p50_ns = f->lengths[first + (n * 50 + 99) / 100 - 1].ns;
        row->p99_ns = f->lengths[first + (n * 99 + 99) / 100 - 1].ns;
    }
}

static void take_rows(struct finder *f)
{
    struct method_calls *c = f->calls;

    add_ranks(f);
    for (size_t i = 0; i < f->by_name_cap; i++)
        if (f->by_name[i].count || f->by_name[i].cut)
            f->by_name[c->row_count++] = f->by_name[i];
    c->rows = TAKE_PTR(f->by_name);
    if (c->row_count)
        qsort(c->rows, c->row_count, sizeof(*c->rows), row_cmp);
}

/* Returns the mean count of the event's samples. */
static double thinning(const struct profile *p, uint8_t event)
{
    uint64_t count = 0, samples = 0;

    for (size_t i = 0; i < p->sample_count; i++) {
        if (p->samples[i].event != event)
            continue;
        count += p->samples[i].count;
        samples++;
    }
    return samples ? (double)count / (double)samples : 1;
}

static int refuse(struct error *err, const char *why)
{
    error_remedy(err, "take a capture of event=wall with an interval of at most 500ms");
    return error_parameter(err, "calls", -EINVAL,
                           "calls are found in the samples of single threads, and %s", why);
}

static int check_event(const struct profile_event *e, struct error *err)
{
    if (e->period && e->period <= METHOD_CALLS_PERIOD_MAX_NS)
        return 0;
    return refuse(err, "these are too far apart: the flight recorder looks at threads once a "
                       "second");
}

/* Counts the samples of a thread entry without a single thread. Waiting virtual threads share one
 * entry. In the history an entry is a pool, in which calls cannot be found. */
static int leave_out(struct finder *f, uint32_t thread, struct error *err)
{
    bool of_virtual = thread_kind_is_unmounted(f->p, thread);
    int r = 0;

    if (!of_virtual && f->starts[thread] < f->starts[thread + 1])
        return refuse(
            err, "some of these samples come from the history, which does not keep their threads");
    for (size_t i = f->starts[thread]; i < f->starts[thread + 1] && r == 0; i++) {
        const struct profile_sample *s = &f->p->samples[f->order[i]];
        const struct method_node *node;

        r = method_stacks_get(&f->stacks, s->stack, &node, err);
        if (r == 0 && (node->frames || node->matches_virtual))
            f->calls->virtual_left_out += s->count;
    }
    return r;
}

static int find_all(struct finder *f, struct error *err)
{
    const struct profile *p = f->p;
    int r = method_stacks_init(&f->stacks, p, f->o, f->calls);

    f->calls->inside = calloc(p->sample_count + 1, sizeof(*f->calls->inside));
    f->places = calloc(METHOD_CALLS_METHODS_MAX + 1, sizeof(*f->places));
    if (r == 0)
        r = f->calls->inside && f->places ? order_samples(f) : -ENOMEM;
    for (size_t t = 0; t < p->thread_count && r == 0; t++) {
        r = p->threads[t].host_tid > 0 ? find_in_thread(f, f->starts[t], f->starts[t + 1], err)
                                       : leave_out(f, (uint32_t)t, err);
    }
    if (r == 0)
        take_rows(f);
    return r;
}

int method_calls_find(const struct profile *p, const struct method_calls_opts *o,
                      struct method_calls **ret, struct error *err)
{
    const struct profile_event *event = &p->events[o->event];
    double thinned = thinning(p, o->event);
    struct method_calls *c;
    struct finder f = { .p = p, .o = o, .period_ns = event->period };
    int r = check_event(event, err);

    if (r < 0)
        return r;
    c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->over_ns = o->over_ns;
    c->period_ns = event->period;
    f.calls = c;
    f.gap_ns = MAX((uint64_t)((double)(METHOD_CALLS_GAP_PERIODS * event->period) * thinned),
                   (uint64_t)METHOD_CALLS_GAP_NS);
    match_begin(o->methods);
    r = find_all(&f, err);
    finder_deinit(&f);
    if (r < 0) {
        method_calls_free(c);
        return r;
    }
    method_calls_warn(c, thinned);
    *ret = c;
    return 0;
}

struct method_calls *method_calls_free(struct method_calls *c)
{
    if (!c)
        return NULL;
    intern_free(c->names);
    free(c->rows);
    free(c->inside);
    free(c);
    return NULL;
}
