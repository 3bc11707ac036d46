/* SPDX-License-Identifier: Apache-2.0 */
/* The past: from the flight recorder and the history, and from stored captures for earlier
 * times. */
#include "api/past_impl.h"
#include "event/events.h"

#define PAST_CAPTURES_MAX 1000 /* captures merged into one answer */

static const char TOO_MANY[] = "more than 1000 captures are stored of this time: the newest 1000 "
                               "were added up; ask for a shorter range";
static const char AT_ONCE[] = "captures of this time overlap: samples that two of them took count "
                              "twice; GET /api/v1/captures lists them";

/* ---- sources of names ---- */

/* Where the parts of a profile have the names of Java frames from, as in profile.symbols. */
struct sources {
    char text[sizeof(((struct profile *)0)->symbols)]; /* of the first part; "": there is none */
    char words[64];                                    /* "agent, memory": before the ':' of each */
    bool differ;
};

static void sources_add(struct sources *s, const char *symbols)
{
    struct span words = { symbols, strcspn(symbols, ":") }, part;
    char word[32];

    if (!s->text[0])
        snprintf(s->text, sizeof(s->text), "%s", symbols);
    s->differ |= strcmp(s->text, symbols) != 0;
    while (span_take_until(&words, ',', &part)) {
        size_t n = strlen(s->words);

        span_copy(span_trim(part), word, sizeof(word));
        if (!strstr(s->words, word)) /* no source's name is part of another's */
            snprintf(s->words + n, sizeof(s->words) - n, "%s%s", n ? ", " : "", word);
    }
}

/* Writes the sources to @p, unless there are none. */
static void sources_write(const struct sources *s, struct profile *p)
{
    if (s->differ)
        snprintf(p->symbols, sizeof(p->symbols), "%s: as each part was taken", s->words);
    else if (s->text[0])
        snprintf(p->symbols, sizeof(p->symbols), "%s", s->text);
}

/* ---- stored captures ---- */

/* A stored capture, before its profile is read. */
struct stored {
    char id[STORE_ID_BYTES];
    uint64_t start_ns, end_ns;
};

struct stored_list {
    struct profile *meta; /* facts of the merged profile; gets the events of the
                           * captures */
    const char *event;    /* wanted events, names with commas between them; NULL:
                           * all */
    struct sources sources;
    struct stored items[PAST_CAPTURES_MAX]; /* newest first */
    size_t count;
};

/* Returns true if @c has an event of @list, names with commas between them. NULL: any event. */
static bool has_event(const struct store_capture *c, const char *list)
{
    for (uint32_t i = 0; list && i < c->event_count; i++) {
        if (events_listed(span_of(list), c->events[i].name))
            return true;
    }
    return !list;
}

/* Returns @list if it names a single event, which the store can filter by; else NULL. */
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
    sources_add(&l->sources, c->symbols);
    for (uint32_t i = 0; i < c->event_count; i++)
        if (!l->event || events_listed(span_of(l->event), c->events[i].name))
            profile_add_event(l->meta, &c->events[i]);
    return ++l->count == PAST_CAPTURES_MAX;
}

/* Returns true if two captures overlap in time, so that their sum counts some time twice. */
static bool overlap(const struct stored_list *l)
{
    uint64_t start = UINT64_MAX;

    for (size_t i = 0; i < l->count; i++) { /* sorted newest first, by start */
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

/* Fills @meta for the merged captures of @l. Leaves the events of @meta unchanged; borrows the
 * warnings. */
static void stored_meta(const struct past_filter *f, const struct stored_list *l, bool too_many,
                        uint64_t from_ns, uint64_t to_ns, struct profile *meta)
{
    struct profile facts;

    from_ns = MAX(from_ns, l->items[l->count - 1].start_ns); /* no earlier than the oldest */
    past_meta(f, from_ns, to_ns == UINT64_MAX ? clock_realtime_ns() : to_ns, &facts);
    facts.start_realtime_ns = from_ns;
    sources_write(&l->sources, &facts);
    memcpy(facts.events, meta->events, sizeof(facts.events));
    facts.event_count = meta->event_count;
    if (too_many)
        facts.warnings[facts.warning_count++] = (char *)(uintptr_t)TOO_MANY;
    *meta = facts;
}

/* Returns 1 if the stored @p has a sample or a moment in @slice, 0 if not, or -ENOMEM. */
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

/* Merges the captures of @l into @m. Keeps in @l only captures with samples in @slice. Returns how
 * many were read, or -errno. */
static int merge_stored(struct store *store, struct past_filter *f,
                        const struct profile_slice *slice, struct stored_list *l, struct merger *m,
                        struct past_reach *reach, struct error *err)
{
    size_t count = l->count;
    int r = 0, read = 0;

    l->count = 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        _cleanup_(profile_unrefp) struct profile *p = NULL;

        r = store_get(store, l->items[i].id, &p, err);
        if (r == STORE_NOT_FOUND) {
            r = 0; /* retention has deleted it */
            continue;
        }
        if (r == -EBADMSG) {
            r = 0;
            reach->damaged++;
            span_copy(span_of(l->items[i].id), reach->damaged_id, sizeof(reach->damaged_id));
            continue;
        }
        if (r < 0)
            break;
        read++;
        /* captures are passed newest first, so the first capture with the pid pins the process */
        past_pin_image(f, p, slice->from_ns, slice->to_ns);
        r = holds(p, slice, l->meta);
        if (r <= 0)
            continue;
        r = merger_add(m, p);
        l->items[l->count++] = l->items[i];
    }
    return r < 0 ? r : read;
}

/* Merges the stored captures in [from, to) (CLOCK_REALTIME). Holds only one capture in memory at a
 * time. *ret stays NULL if there are none. */
static int past_stored(struct api *api, struct past_filter *f, const char *event, uint64_t from_ns,
                       uint64_t to_ns, struct past_reach *reach, struct profile **ret,
                       struct error *err)
{
    struct store_query q = captures_of(f->t, from_ns, to_ns);
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
    q.event = single_event(event);
    q.limit = PAST_CAPTURES_MAX;
    q.need_open = true;
    list->meta = &meta;
    list->event = event;
    if (!api->engine.store)
        return 0;
    r = store_list(api->engine.store, &q, add_stored, list, next, err);
    if (r < 0 || !list->count)
        return r;
    f->owned = true; /* the query's scope excludes captures of others */
    f->stored = true;
    stored_meta(f, list, next[0], from_ns, to_ns, &meta);
    slice.from_ns = MAX(from_ns, meta.start_realtime_ns);
    r = merger_new(&slice, &meta, &merger)
            ?: merge_stored(api->engine.store, f, &slice, list, merger, reach, err);
    if (r > 0)
        r = merger_finish(merger, ret);
    reach->captures = list->count;
    reach->captured_ns = covered_ns(list, from_ns, to_ns);
    if (r == 0 && *ret && overlap(list))
        profile_warn(*ret, "%s", AT_ONCE);
    return r;
}

/* ---- the answer ---- */

static int nothing_known(uint64_t oldest_realtime_ns, const struct recorded_past *flight,
                         const char *event, struct error *err)
{
    bool allocs = event && events_listed(span_of(event), "alloc");
    char text[PAST_TIME_BYTES];

    past_time_text(oldest_realtime_ns, text);
    error_parameter(err, "from", -ENOENT, "no samples of this target are known in that time");
    if (!past_is_recorded(event))
        error_remedy(err,
                     "the flight recorder has only event=cpu, offcpu, wall, lock and alloc; GET "
                     "/api/v1/captures?event=%.60s lists what is stored",
                     event);
    else if (allocs && !flight->allocs)
        error_remedy(err, "the flight recorder records no allocations: recorder_alloc is off. A "
                          "capture (seconds=) has them");
    else if (allocs && flight->unrecorded[0])
        error_remedy(err, "%s", flight->unrecorded);
    else if (event && !allocs && !flight->looks &&
             !events_listed(span_of(event), events_default()->name))
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

/* Merges all parts of the answer. */
static int past_together(const struct past_filter *f, const struct time_range *range,
                         struct profile *const *parts, size_t count, struct profile **ret)
{
    struct sources sources = { 0 };
    struct profile meta;
    uint64_t from_ns = UINT64_MAX;

    for (size_t i = 0; i < count; i++) {
        from_ns = MIN(from_ns, parts[i]->start_realtime_ns);
        sources_add(&sources, parts[i]->symbols);
    }
    from_ns = MAX(range->from_ns, from_ns);
    past_meta(f, from_ns, MIN(range->to_ns, clock_realtime_ns()), &meta);
    meta.start_realtime_ns = from_ns;
    sources_write(&sources, &meta);
    return profile_merge(parts, count, NULL, &meta, ret);
}

/* An answer in the making: its parts, newest first. */
struct past {
    struct past_filter filter;
    struct recorded_past flight;
    struct past_reach reach;
    struct profile *parts[3];
    size_t count;
    uint64_t until_ns;   /* CLOCK_REALTIME: for earlier times there is no part yet */
    uint64_t longest_ns; /* as in struct past_recorder */
};

static void past_deinit(struct past *p)
{
    for (size_t i = 0; i < ARRAY_SIZE(p->parts); i++)
        profile_unref(p->parts[i]);
}

/* Takes the part from the flight recorder. */
static int take_recorded(struct api *api, struct past *p, const char *event, struct error *err)
{
    int r;

    if (!past_is_recorded(event))
        return 0;
    r = past_recorded(api, &p->filter, event, &p->flight, &p->parts[p->count], err);
    p->count += p->parts[p->count] != NULL;
    if (p->flight.oldest_ns &&
        (p->flight.has_values || !event || events_listed(span_of(event), events_default()->name)))
        p->until_ns = MIN(p->until_ns, p->flight.since_ns);
    return r;
}

/* Returns the end of the history's part (CLOCK_REALTIME). */
static uint64_t kept_until_ns(const struct past *p)
{
    return MIN(MIN(p->until_ns, p->flight.kept_ns), p->reach.to_ns);
}

/* Takes the part from the history. */
static int take_kept(struct api *api, struct past *p, const struct time_range *range,
                     struct error *err)
{
    uint64_t to_ns = kept_until_ns(p);
    struct history_reach kept;
    int r;

    if (range->from_ns >= to_ns || !past_is_recorded(p->filter.events))
        return 0;
    r = past_history(api, &p->filter, range->from_ns, to_ns, &kept, &p->parts[p->count], err);
    if (r < 0 || !p->parts[p->count])
        return r;
    p->count++;
    p->until_ns = MIN(p->until_ns, kept.oldest_ns);
    p->longest_ns = kept.resolution_ns;
    p->reach.kept_ns = kept.oldest_ns;
    return 0;
}

/* Takes the history's part as sums without stacks. */
static int take_sums(struct api *api, struct past *p, const struct time_range *range,
                     struct past_sums *sums, struct error *err)
{
    const struct time_range before = { range->from_ns, kept_until_ns(p) };
    int r = before.from_ns < before.to_ns ? past_sums(api, &p->filter, &before, sums, err) : 0;

    if (r < 0 || !sums->reach.parts)
        return r;
    p->until_ns = MIN(p->until_ns, sums->reach.oldest_ns);
    p->reach.kept_ns = sums->reach.oldest_ns;
    return 0;
}

/* Takes the part from stored captures, for the time before the other parts. */
static int take_stored(struct api *api, struct past *p, const struct time_range *range,
                       const char *event, struct error *err)
{
    int r;

    if (range->from_ns >= p->until_ns)
        return 0;
    r = past_stored(api, &p->filter, event, range->from_ns, MIN(p->until_ns, p->reach.to_ns),
                    &p->reach, &p->parts[p->count], err);
    p->reach.store_closed = r == -ENODEV;
    if (p->reach.store_closed) /* answer with the other parts alone */
        r = p->count ? 0 : BACKEND_UNAVAILABLE;
    p->count += p->parts[p->count] != NULL;
    return r == 0 && !p->count && p->reach.damaged ? -EBADMSG : r; /* with the store's sentence */
}

/* Writes the recorder's state, which answers show beside the profile. */
static void past_tell(struct past *p, struct past_recorder *ret)
{
    uint64_t offset = past_realtime_offset_ns();

    ret->oldest_ns = p->flight.oldest_ns ? p->flight.oldest_ns + offset : 0;
    ret->since_ns = p->flight.since_ns;
    ret->period_ns = p->flight.period_ns;
    ret->longest_ns = p->longest_ns;
    p->reach.recorded_ns = ret->oldest_ns;
    p->reach.recorder_keep_ns = p->flight.keep_ns;
    p->reach.recorder_full = p->flight.full;
    past_reach_text(&p->reach, ret->reach);
}

static int past_begin(struct past *p, const struct target_selector *t,
                      const struct time_range *range, unsigned sources, struct error *err)
{
    *p = (struct past){ .flight = { .asked_ns = range->from_ns,
                                    .from_ns = past_to_monotonic(range->from_ns),
                                    .to_ns = past_to_monotonic(range->to_ns),
                                    .since_ns = UINT64_MAX,
                                    .kept_ns = UINT64_MAX },
                        .reach = { .from_ns = range->from_ns,
                                   .to_ns = MIN(range->to_ns, clock_realtime_ns()),
                                   .store_asked = sources & PAST_STORE },
                        .until_ns = range->to_ns };
    return past_filter_init(t, &p->filter, err);
}

/* Merges all parts into one profile. *ret stays NULL if there is no part. */
static int past_finish(struct past *p, const struct time_range *range,
                       const struct past_recorder *recorder, const char *event,
                       struct profile **ret)
{
    int r = 0;

    if (p->count == 1)
        *ret = profile_ref(p->parts[0]);
    else if (p->count)
        r = past_together(&p->filter, range, p->parts, p->count, ret);
    if (r == 0 && p->count)
        past_warn(p->filter.t, recorder->reach, event, *ret);
    if (r == 0 && p->count && p->reach.damaged)
        profile_warn(*ret,
                     "damaged stored captures are left out (%zu), such as %s: DELETE "
                     "/api/v1/captures/ID removes one",
                     p->reach.damaged, p->reach.damaged_id);
    if (r == 0 && p->count && p->flight.unrecorded[0]) /* for an answer of any parts */
        profile_warn(*ret, "allocations of %d are not recorded now: %s", p->flight.pid,
                     p->flight.unrecorded);
    return r;
}

static void past_end(struct past *p)
{
    past_filter_deinit(&p->filter);
    past_deinit(p);
}

int past_profile(struct api *api, const struct target_selector *t, const struct time_range *range,
                 const char *event, unsigned sources, struct profile **ret,
                 struct past_recorder *ret_recorder, struct error *err)
{
    struct past past;
    int r = past_begin(&past, t, range, sources, err);

    past.filter.coarsest_ns = sources & PAST_MINUTES ? HISTORY_MINUTE_NS : 0;
    past.filter.events = event;
    past.filter.summed = sources & PAST_TIMELESS;
    if (r == 0 && sources & PAST_RECORDER)
        r = take_recorded(api, &past, event, err);
    if (r == 0 && sources & PAST_HISTORY)
        r = take_kept(api, &past, range, err);
    if (r == 0 && sources & PAST_STORE)
        r = take_stored(api, &past, range, event, err);
    r = past_filter_refuse(&past.filter, r, err);
    past_tell(&past, ret_recorder);
    if (r == 0 && past.count == 0)
        r = nothing_known(ret_recorder->oldest_ns, &past.flight, event, err);
    if (r == 0)
        r = past_finish(&past, range, ret_recorder, event, ret);
    past_end(&past);
    return r;
}

int past_timeline(struct api *api, const struct target_selector *t, const struct time_range *range,
                  bool store, struct past_sums *sums, struct profile **ret,
                  struct past_recorder *ret_recorder, struct error *err)
{
    const char *event = events_default()->name;
    struct past past;
    int r = past_begin(&past, t, range, store ? PAST_STORE : 0, err) ?:
            take_recorded(api, &past, event, err) ?:
            take_sums(api, &past, range, sums, err);

    if (r == 0 && store)
        r = take_stored(api, &past, range, event, err);
    if ((r == BACKEND_UNAVAILABLE || r == -EBADMSG) && sums->reach.parts)
        r = 0; /* the store is closed or damaged, but the history has answered */
    r = past_filter_refuse(&past.filter, r, err);
    past_tell(&past, ret_recorder);
    if (r == 0)
        r = past_finish(&past, range, ret_recorder, event, ret);
    past_end(&past);
    return r;
}

int backend_past(void *ctx, const struct target_selector *t, const struct time_range *range,
                 const char *event, enum past_from from, struct profile **ret, struct error *err)
{
    static const unsigned SOURCES[] = {
        [PAST_ALL] = PAST_RECORDER | PAST_HISTORY | PAST_STORE,
        [PAST_SUMMED] = PAST_RECORDER | PAST_HISTORY | PAST_STORE | PAST_TIMELESS,
        [PAST_RECORDED] = PAST_RECORDER | PAST_HISTORY,
        [PAST_STORED] = PAST_STORE,
    };
    struct past_recorder recorder;

    return past_profile(ctx, t, range, event, SOURCES[from], ret, &recorder, err);
}
