/* SPDX-License-Identifier: Apache-2.0 */
/* The past: out of the flight recorder, and out of stored captures where it does not reach. */
#include "api/past_impl.h"
#include "event/events.h"
#include "profile/match.h"

#define PAST_CAPTURES_MAX 1000 /* merged into one answer */

static const char TOO_MANY[] =
    "more than 1000 captures are stored of this time: the newest 1000 were added up; ask for a "
    "shorter range";
static const char AT_ONCE[] =
    "captures of this time ran at once: what both sampled counts twice; GET /api/v1/captures lists "
    "them";

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
    struct profile_slice slice = {
        .from_ns = from_ns, .to_ns = to_ns, .wants = past_wants, .cookie = f
    };
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

static int nothing_known(uint64_t oldest_realtime_ns, bool looks, const char *event,
                         struct error *err)
{
    char text[PAST_TIME_BYTES];

    past_time_text(oldest_realtime_ns, text);
    error_parameter(err, "from", -ENOENT, "no samples of this target are known in that time");
    if (!past_is_recorded(event))
        error_remedy(err,
                     "the flight recorder has event=cpu, offcpu, wall and lock alone; "
                     "GET /api/v1/captures?event=%.60s lists what is stored",
                     event);
    else if (event && !looks && !events_listed(span_of(event), events_default()->name))
        error_remedy(err,
                     "the flight recorder does not look at threads that wait (recorder_waits, "
                     "/readyz); GET /api/v1/captures?event=%.60s lists what is stored",
                     event);
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
    _cleanup_(matcher_set_freep) struct matcher_set *seen = NULL, *asked = NULL;
    _cleanup_(match_freep) struct match *jvm = NULL;
    struct past_filter filter = { .t = t };
    struct recorded_past flight = { .from_ns = past_to_monotonic(range->from_ns),
                                    .to_ns = past_to_monotonic(range->to_ns) };
    struct past_reach reach = { .from_ns = range->from_ns,
                                .to_ns = MIN(range->to_ns, clock_realtime_ns()),
                                .store_asked = sources & PAST_STORE };
    struct profile *parts[2] = { NULL };
    uint64_t stored_to = range->to_ns, offset = past_realtime_offset_ns();
    size_t count = 0;
    int r = 0;

    if (t->jvm)
        r = match_new(&t->jvm, 1, "jvm", &jvm, err);
    filter.jvm = jvm;
    if (r == 0 && t->viewer && t->viewer->seen)
        r = matcher_set_new(t->viewer->seen, &seen, err);
    if (r == 0 && t->matchers)
        r = matcher_set_new(t->matchers, &asked, err);
    filter.seen = seen;
    filter.asked = asked;
    if (r == 0 && sources & PAST_RECORDER && past_is_recorded(event)) {
        r = past_recorded(api, &filter, event, &flight, &parts[0], err);
        count += parts[0] != NULL;
        if (flight.oldest_ns &&
            (flight.has_waits || !event || events_listed(span_of(event), events_default()->name)))
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
        r = nothing_known(ret_recorder->oldest_ns, flight.looks, event, err);
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
