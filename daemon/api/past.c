/* SPDX-License-Identifier: Apache-2.0 */
/* The past: out of the flight recorder, and out of stored captures where it does not reach. */
#include "api/api_impl.h"
#include "event/events.h"
#include "profile/match.h"
#include "request/matcher.h"

#define PAST_CAPTURES_MAX 1000 /* merged into one answer */

static const char TOO_MANY[] =
    "more than 1000 captures are stored of this time: the newest 1000 were added up; ask for a "
    "shorter range";
static const char AT_ONCE[] =
    "captures of this time ran at once: what both sampled counts twice; GET /api/v1/captures lists "
    "them";

/* How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. */
static uint64_t realtime_offset_ns(void)
{
    return clock_realtime_ns() - clock_monotonic_ns();
}

static uint64_t to_monotonic(uint64_t realtime_ns)
{
    uint64_t offset = realtime_offset_ns();

    return realtime_ns == UINT64_MAX ? UINT64_MAX : realtime_ns > offset ? realtime_ns - offset : 0;
}

/* ---- which processes ---- */

struct past_filter {
    const struct target_selector *t;
    struct match *jvm;
    struct matcher_set *seen; /* of the viewer; NULL: none */
    bool owned;               /* what is asked for is its viewer's own: captures of his scope */
    int32_t pid;              /* a single pid: only its last image */
    uint64_t start_ticks;     /* of that image */
    uint32_t exec_no;
};

static bool text_equal(const struct profile *p, uint32_t id, const char *wanted)
{
    return span_eq_str(intern_get(p->strings, id), wanted);
}

static bool container_equal(const struct profile *p, uint32_t id, const char *wanted)
{
    struct span s = intern_get(p->strings, id);

    return s.n && (span_eq_str(s, wanted) || (strlen(wanted) >= 6 && span_starts_with(s, wanted)));
}

static const char *text_of(const struct profile *p, uint32_t id)
{
    struct span s = intern_get(p->strings, id);

    return s.n ? s.p : ""; /* interned with a NUL */
}

/* Of a container only the id was noted: one that is seen by its name is not seen here. */
static bool past_seen(const struct past_filter *f, const struct profile *p,
                      const struct profile_process *process)
{
    const struct matcher_values v = {
        .main = text_of(p, process->name),
        .pod = text_of(p, process->pod),
        .pod_uid = "",
        .pod_namespace = text_of(p, process->pod_namespace),
        .container = "",
        .container_id = text_of(p, process->container),
    };

    return f->owned || viewer_sees_user(f->t->viewer, process->owner) ||
           (f->seen && matcher_set_holds(f->seen, &v));
}

static bool past_wants(void *cookie, const struct profile *p, const struct profile_process *process)
{
    const struct past_filter *f = cookie;
    const struct target_selector *t = f->t;
    bool pid_found = t->pid_count == 0;

    if (!past_seen(f, p, process))
        return false;
    for (size_t i = 0; i < t->pid_count && !pid_found; i++)
        pid_found = t->pids[i] == process->host_pid;
    if (!pid_found)
        return false;
    if (f->pid && (process->start_ticks != f->start_ticks || process->exec_no != f->exec_no))
        return false;
    if (t->container && !container_equal(p, process->container, t->container))
        return false;
    if (t->pod && !text_equal(p, process->pod, t->pod))
        return false;
    if (t->pod_namespace && !text_equal(p, process->pod_namespace, t->pod_namespace))
        return false;
    if (t->service && !text_equal(p, process->service, t->service))
        return false;
    return !f->jvm || match_any(f->jvm, intern_get(p->strings, process->name), NULL) > 0;
}

/* With a single pid: the image of it that was sampled last in [@from_ns, @to_ns) of @p, unless a
 * later one is known. */
static void past_pin_image(struct past_filter *f, const struct profile *p, uint64_t from_ns,
                           uint64_t to_ns)
{
    if (f->t->pid_count != 1 || f->pid)
        return;
    for (size_t i = p->sample_count; i > 0; i--) {
        const struct profile_sample *s = &p->samples[i - 1];
        const struct profile_process *process = &p->processes[p->threads[s->thread].process];

        if (process->host_pid != f->t->pids[0] || s->time_ns < from_ns || s->time_ns >= to_ns ||
            !past_seen(f, p, process))
            continue;
        f->pid = process->host_pid;
        f->start_ticks = process->start_ticks;
        f->exec_no = process->exec_no;
        return;
    }
}

/* ---- out of the recorder ---- */

struct flight_args {
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
    struct profile **parts;  /* owned references; NULL: none */
    size_t count;
    uint64_t oldest_ns, period_ns; /* of the recorder; 0: empty or off */
    uint64_t keep_ns;              /* recorder_seconds */
    bool full;                     /* its memory does not suffice for that */
};

static void past_meta(const struct past_filter *f, uint64_t from_ns, uint64_t to_ns,
                      struct profile *ret)
{
    const struct target_selector *t = f->t;
    const struct {
        const char *key, *value;
    } words[] = { { "container", t->container },
                  { "pod", t->pod },
                  { "namespace", t->pod_namespace },
                  { "jvm", t->jvm },
                  { "service", t->service } };
    char who[160];

    *ret = (struct profile){ .start_ns = from_ns, .end_ns = to_ns };
    ret->start_realtime_ns = from_ns + realtime_offset_ns();
    snprintf(ret->symbols, sizeof(ret->symbols), "memory: named when they were sampled");
    ret->by_process = t->pid_count != 1;
    if (t->pid_count == 1)
        snprintf(ret->target, sizeof(ret->target), "pid %d", t->pids[0]);
    else if (t->pid_count)
        snprintf(ret->target, sizeof(ret->target), "%zu processes", t->pid_count);
    else if (!t->viewer || !t->viewer->whole) {
        target_viewer_name(t->viewer, who, sizeof(who));
        snprintf(ret->target, sizeof(ret->target), "all processes of %s", who);
    } else
        snprintf(ret->target, sizeof(ret->target), "the whole node");
    for (size_t i = 0, n = 0; i < ARRAY_SIZE(words) && t->pid_count == 0 && n < sizeof(ret->target);
         i++) {
        if (words[i].value)
            n += (size_t)snprintf(ret->target + n, sizeof(ret->target) - n, "%s%s %.50s",
                                  n ? ", " : "", words[i].key, words[i].value);
    }
}

static int call_flight(struct api *api, void *arg)
{
    struct flight_args *a = arg;
    struct flight_stats stats;

    if (!*api->engine.recorder)
        return 0;
    a->period_ns = (*api->engine.recorder)->period_ns;
    flight_stats((*api->engine.recorder)->flight, &stats);
    a->oldest_ns = stats.oldest_ns;
    a->keep_ns = stats.keep_ns;
    a->full = stats.short_ns && clock_monotonic_ns() - stats.short_ns < stats.keep_ns;
    return flight_parts((*api->engine.recorder)->flight, a->from_ns, a->to_ns, &a->parts,
                        &a->count);
}

/* The recorder's samples of [from, to) (CLOCK_MONOTONIC). *ret stays NULL when there are none. The
 * engine hands out its slices and goes on; they are added up on this thread. */
static int past_recorded(struct api *api, struct past_filter *f, struct flight_args *a,
                         struct profile **ret, struct error *err)
{
    struct profile_slice slice = { a->from_ns, a->to_ns, past_wants, f };
    struct profile meta;
    int r = api_ask(api, call_flight, a, err);

    if (r != 0 || !a->count)
        return r;
    for (size_t i = a->count; i > 0; i--)
        past_pin_image(f, a->parts[i - 1], a->from_ns, a->to_ns);
    past_meta(f, MAX(a->from_ns, a->oldest_ns), MIN(a->to_ns, clock_monotonic_ns()), &meta);
    r = flight_merge(a->parts, a->count, &slice, &meta, ret);
    if (r == 0 && !(*ret)->total)
        *ret = profile_unref(*ret);
    return r;
}

/* ---- out of the store ---- */

/* What is known of a stored capture before it is read. */
struct stored {
    char id[STORE_ID_BYTES];
    uint64_t start_ns, end_ns;
};

struct stored_list {
    struct profile *meta;                   /* takes their events */
    const char *event;                      /* names with commas that are asked for; NULL: all */
    struct stored items[PAST_CAPTURES_MAX]; /* newest first */
    size_t count;
};

/* Whether @c has one of @list, names with commas between them; NULL: any. */
static bool has_event(const struct store_capture *c, const char *list)
{
    for (uint32_t i = 0; list && i < c->event_count; i++) {
        if (events_listed(span_of(list), c->events[i].name))
            return true;
    }
    return !list;
}

/* Return: @list where it is one event, which the store can look for; else NULL. */
static const char *single_event(const char *list)
{
    struct span names[EVENTS_AT_ONCE_MAX];
    size_t count;

    return list && events_split(span_of(list), names, &count) == 0 && count == 1 ? list : NULL;
}

static int add_stored(void *cookie, const struct store_capture *c)
{
    struct stored_list *l = cookie;
    struct stored *s = &l->items[l->count];

    if (c->state != STORE_DONE || !has_event(c, l->event))
        return 0;
    *s = (struct stored){ .start_ns = c->start_ns, .end_ns = c->end_ns };
    memcpy(s->id, c->id, sizeof(s->id));
    for (uint32_t i = 0; i < c->event_count; i++)
        if (!l->event || events_listed(span_of(l->event), c->events[i].name))
            profile_add_event(l->meta, &c->events[i]);
    return ++l->count == PAST_CAPTURES_MAX;
}

/* What is added up counts twice where two captures ran at once. */
static bool overlap(const struct stored_list *l)
{
    uint64_t start = UINT64_MAX;

    for (size_t i = 0; i < l->count; i++) { /* each begins before those that came earlier here */
        if (l->items[i].end_ns > start)
            return true;
        start = l->items[i].start_ns;
    }
    return false;
}

/* Returns the time in [@from_ns, @to_ns) that @l covers. */
static uint64_t covered_ns(const struct stored_list *l, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < l->count; i++) { /* newest first */
        uint64_t start = MAX(l->items[i].start_ns, from_ns), end = MIN(l->items[i].end_ns, to_ns);

        sum += end > start ? end - start : 0;
        to_ns = MIN(to_ns, l->items[i].start_ns);
    }
    return sum;
}

/* The meta of what @l gives together, but for the events, which are there; warnings are borrowed.
 */
static void stored_meta(const struct past_filter *f, const struct stored_list *l, bool too_many,
                        uint64_t from_ns, uint64_t to_ns, struct profile *meta)
{
    struct profile facts;

    from_ns = MAX(from_ns, l->items[l->count - 1].start_ns); /* "since ever" begins there */
    past_meta(f, from_ns, to_ns == UINT64_MAX ? clock_realtime_ns() : to_ns, &facts);
    facts.start_realtime_ns = from_ns;
    memcpy(facts.events, meta->events, sizeof(facts.events));
    facts.event_count = meta->event_count;
    if (too_many)
        facts.warnings[facts.warning_count++] = (char *)(uintptr_t)TOO_MANY;
    *meta = facts;
}

/* Return: 1 where @p, which is out of the store, has a sample or a moment of @slice; 0; -ENOMEM. */
static int holds(const struct profile *p, const struct profile_slice *slice,
                 const struct profile *meta)
{
    _cleanup_free_ bool *wanted = calloc(p->process_count + 1, sizeof(*wanted));

    if (!wanted)
        return -ENOMEM;
    for (size_t i = 0; i < p->process_count; i++)
        wanted[i] = slice->wants(slice->cookie, p, &p->processes[i]);
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];

        if (s->time_ns >= slice->from_ns && s->time_ns < slice->to_ns &&
            wanted[p->threads[s->thread].process] &&
            profile_find_event(meta, &p->events[s->event]) < PROFILE_EVENTS_MAX)
            return 1;
    }
    for (size_t i = 0; i < p->moment_count; i++) {
        const struct profile_moment *m = &p->moments[i];

        if (m->end_ns >= slice->from_ns && m->end_ns < slice->to_ns && wanted[m->process])
            return 1;
    }
    return 0;
}

/* Adds what @l names to @m, and leaves in @l what something was taken of. Return: how many were
 * read; -errno. */
static int merge_stored(struct store *store, struct past_filter *f,
                        const struct profile_slice *slice, struct stored_list *l, struct merger *m,
                        struct error *err)
{
    size_t count = l->count;
    int r = 0, read = 0;

    l->count = 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        _cleanup_(profile_unrefp) struct profile *p = NULL;

        r = store_get(store, l->items[i].id, &p, err);
        if (r == STORE_NOT_FOUND) {
            r = 0; /* dropped by retention since */
            continue;
        }
        if (r < 0)
            break;
        read++;
        /* newest first: the first that has the pid decides */
        past_pin_image(f, p, slice->from_ns, slice->to_ns);
        r = holds(p, slice, l->meta);
        if (r <= 0)
            continue;
        r = merger_add(m, p);
        l->items[l->count++] = l->items[i];
    }
    return r < 0 ? r : read;
}

/* Merges what is stored of [from, to) (CLOCK_REALTIME), one capture in memory at a time. *ret stays
 * NULL when there is nothing. */
static int past_stored(struct api *api, struct past_filter *f, const char *event, uint64_t from_ns,
                       uint64_t to_ns, struct past_reach *reach, struct profile **ret,
                       struct error *err)
{
    struct store_query q = { .from_ns = from_ns,
                             .to_ns = to_ns,
                             .event = single_event(event),
                             .state = STORE_DONE,
                             .scope = viewer_store_scope(f->t->viewer),
                             .host_pid = f->t->pid_count == 1 ? f->t->pids[0] : 0,
                             .container = f->t->container,
                             .pod = f->t->pod,
                             .pod_namespace = f->t->pod_namespace,
                             .service = f->t->service,
                             .limit = PAST_CAPTURES_MAX,
                             .need_open = true };
    struct profile_slice slice = { from_ns, to_ns, past_wants, f };
    _cleanup_free_ struct stored_list *list = calloc(1, sizeof(*list));
    _cleanup_(merger_freep) struct merger *merger = NULL;
    char next[64] = "";
    struct profile meta = { 0 };
    int r;

    if (!list)
        return -ENOMEM;
    list->meta = &meta;
    list->event = event;
    if (!api->engine.store)
        return 0;
    r = store_list(api->engine.store, &q, add_stored, list, next, err);
    if (r < 0 || !list->count)
        return r;
    f->owned = true; /* the list holds no others */
    stored_meta(f, list, next[0], from_ns, to_ns, &meta);
    slice.from_ns = MAX(from_ns, meta.start_realtime_ns);
    r = merger_new(&slice, &meta, &merger);
    if (r == 0)
        r = merge_stored(api->engine.store, f, &slice, list, merger, err);
    if (r > 0)
        r = merger_finish(merger, ret);
    reach->captures = list->count;
    reach->captured_ns = covered_ns(list, from_ns, to_ns);
    if (r == 0 && *ret && overlap(list))
        profile_warn(*ret, "%s", AT_ONCE);
    return r;
}

/* ---- the answer ---- */

static int nothing_known(uint64_t oldest_realtime_ns, const char *event, struct error *err)
{
    char text[PAST_TIME_BYTES];

    past_time_text(oldest_realtime_ns, text);
    error_parameter(err, "from", -ENOENT, "no samples of this target are known in that time");
    if (event && !events_listed(span_of(event), events_default()->name))
        error_remedy(err,
                     "the flight recorder samples event=%s alone; GET /api/v1/captures?event=%.60s "
                     "lists what is stored",
                     events_default()->name, event);
    else if (text[0])
        error_remedy(
            err,
            "the flight recorder reaches back to %s; GET /api/v1/captures lists what is stored",
            text);
    else
        error_remedy(
            err, "the flight recorder is off or empty; GET /api/v1/captures lists what is stored");
    return BACKEND_NOT_FOUND;
}

/* Both together. */
static int past_both(const struct past_filter *f, const struct time_range *range,
                     struct profile *const parts[2], struct profile **ret)
{
    struct profile meta;
    uint64_t from_ns =
        MAX(range->from_ns, MIN(parts[0]->start_realtime_ns, parts[1]->start_realtime_ns));

    past_meta(f, from_ns, MIN(range->to_ns, clock_realtime_ns()), &meta);
    meta.start_realtime_ns = from_ns;
    return profile_merge(parts, 2, NULL, &meta, ret);
}

/* Says of *@p, which nobody else holds yet, what a reader would not see: that it has less than was
 * asked for, and that it is of several processes. */
static void past_warn(const struct target_selector *t, const char *reach, struct profile *p)
{
    char selector[128];

    if (reach[0])
        profile_warn(p, "%s", reach);
    if (t->jvm) {
        snprintf(selector, sizeof(selector), "jvm=%.80s", t->jvm);
        profile_warn_several(p, selector);
    }
}

int past_profile(struct api *api, const struct target_selector *t, const struct time_range *range,
                 const char *event, unsigned sources, struct profile **ret,
                 struct past_recorder *ret_recorder, struct error *err)
{
    _cleanup_(matcher_set_freep) struct matcher_set *seen = NULL;
    _cleanup_(match_freep) struct match *jvm = NULL;
    struct past_filter filter = { .t = t };
    struct flight_args flight = { .from_ns = to_monotonic(range->from_ns),
                                  .to_ns = to_monotonic(range->to_ns) };
    struct past_reach reach = { .from_ns = range->from_ns,
                                .to_ns = MIN(range->to_ns, clock_realtime_ns()),
                                .store_asked = sources & PAST_STORE };
    struct profile *parts[2] = { NULL };
    uint64_t stored_to = range->to_ns, offset = realtime_offset_ns();
    size_t count = 0;
    int r = 0;

    if (t->jvm)
        r = match_new(&t->jvm, 1, "jvm", &jvm, err);
    filter.jvm = jvm;
    if (r == 0 && t->viewer && t->viewer->seen)
        r = matcher_set_new(t->viewer->seen, &seen, err);
    filter.seen = seen;
    if (r == 0 && sources & PAST_RECORDER &&
        (!event || events_listed(span_of(event), events_default()->name))) {
        r = past_recorded(api, &filter, &flight, &parts[0], err);
        flight_parts_free(flight.parts, flight.count);
        count += parts[0] != NULL;
        if (flight.oldest_ns)
            stored_to = MIN(stored_to, flight.oldest_ns + offset);
    }
    if (r == 0 && sources & PAST_STORE && range->from_ns < stored_to) {
        r = past_stored(api, &filter, event, range->from_ns, MIN(stored_to, reach.to_ns), &reach,
                        &parts[count], err);
        reach.store_closed = r == -ENODEV;
        if (reach.store_closed) /* what the recorder has is an answer all the same */
            r = count ? 0 : BACKEND_UNAVAILABLE;
    }
    if (parts[count])
        count++;
    ret_recorder->oldest_ns = flight.oldest_ns ? flight.oldest_ns + offset : 0;
    ret_recorder->period_ns = flight.period_ns;
    reach.recorded_ns = ret_recorder->oldest_ns;
    reach.recorder_keep_ns = flight.keep_ns;
    reach.recorder_full = flight.full;
    past_reach_text(&reach, ret_recorder->reach);
    if (r == 0 && count == 0)
        r = nothing_known(ret_recorder->oldest_ns, event, err);
    if (r == 0 && count == 1)
        *ret = profile_ref(parts[0]);
    if (r == 0 && count == 2)
        r = past_both(&filter, range, parts, ret);
    if (r == 0)
        past_warn(t, ret_recorder->reach, *ret);
    for (size_t i = 0; i < count; i++)
        profile_unref(parts[i]);
    return r;
}

int backend_past(void *ctx, const struct target_selector *t, const struct time_range *range,
                 const char *event, bool stored, struct profile **ret, struct error *err)
{
    struct past_recorder recorder;

    return past_profile(ctx, t, range, event, stored ? PAST_STORE : PAST_RECORDER | PAST_STORE, ret,
                        &recorder, err);
}
