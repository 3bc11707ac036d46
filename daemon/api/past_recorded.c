/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder's part of the past, and times of requests as the recorder keeps them. */
#include "api/past_impl.h"
#include "base/list.h"
#include "base/text.h"
#include "event/events.h"

uint64_t past_realtime_offset_ns(void)
{
    return clock_realtime_ns() - clock_monotonic_ns();
}

uint64_t past_to_monotonic(uint64_t realtime_ns)
{
    uint64_t offset = past_realtime_offset_ns();

    return realtime_ns == UINT64_MAX ? UINT64_MAX : realtime_ns > offset ? realtime_ns - offset : 0;
}

/* ---- meta ---- */

void past_meta(const struct past_filter *f, uint64_t from_ns, uint64_t to_ns, struct profile *ret)
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
    ret->start_realtime_ns = from_ns + past_realtime_offset_ns();
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
    text_clean_into(span_of(ret->target), ret->target, sizeof(ret->target));
}

int past_join(const struct past_filter *f, struct profile *const *parts, size_t count,
              struct profile **ret)
{
    struct profile meta;

    if (count == 1)
        *ret = profile_ref(parts[0]);
    if (count <= 1)
        return 0;
    past_meta(f, parts[0]->start_ns, parts[0]->end_ns, &meta);
    meta.start_realtime_ns = parts[0]->start_realtime_ns;
    return profile_join(parts, count, &meta, ret);
}

/* Warns if more than 1 % of the waiting time has cut stacks. */
static void warn_cut(struct profile *p)
{
    uint64_t all = 0, cut = 0;

    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];

        if (!PROFILE_SAMPLE_STATE(s->flags))
            continue;
        all += s->value / 100;
        cut += s->flags & PROFILE_SAMPLE_CUT ? s->value / 100 : 0;
    }
    if (cut > all / 100)
        profile_warn(p,
                     "%.0f %% of the time that threads waited has stacks without their outer "
                     "frames. A thread had run on before it was read, or a virtual thread keeps "
                     "them in the heap; a capture (seconds=) has them",
                     100.0 * (double)cut / (double)all);
}

/* ---- the part ---- */

/* The events of the recorder from which each event of a request is made. */
static const struct {
    const char *name;
    uint32_t of; /* bits of enum recorder_event */
} RECORDED[] = {
    { "cpu", 1U << RECORDER_CPU },
    { "offcpu", 1U << RECORDER_OFFCPU },
    { "wall", 1U << RECORDER_CPU | 1U << RECORDER_OFFCPU },
    { "lock", 1U << RECORDER_LOCK },
    { "alloc", 1U << RECORDER_ALLOC },
};
#define OF_WAITS (1U << RECORDER_OFFCPU | 1U << RECORDER_LOCK)
#define OF_ALLOC (1U << RECORDER_ALLOC)

static bool is_asked(const char *events, const char *name)
{
    return events_listed(span_of(events ? events : events_default()->name), name);
}

/* Sets where the recorder's part begins. The last minute of the history ends at @a->kept_ns, and
 * its first one begins at @first_ns. A recorder that still has all of it is used alone: it knows
 * the time of each sample. */
static void take_over(struct recorded_past *a, uint64_t first_ns)
{
    uint64_t oldest_ns = a->oldest_ns + past_realtime_offset_ns();
    uint64_t minute_ns = oldest_ns + HISTORY_MINUTE_NS - 1;

    minute_ns -= minute_ns % HISTORY_MINUTE_NS;
    a->since_ns = oldest_ns;
    if (a->asked_ns >= oldest_ns)
        return;
    if (first_ns + NSEC_PER_SEC >= oldest_ns)
        a->kept_ns = 0;
    else if (a->kept_ns >= minute_ns && minute_ns <= clock_realtime_ns()) /* not if set back */
        a->since_ns = a->minute_ns = minute_ns;
    a->whole = true;
    a->from_ns = past_to_monotonic(a->since_ns);
}

/* Notes why allocations of the requested process, if its user may know it, are not recorded now.
 * Notes nothing if the requested time ended too long ago for the present state to matter. */
static void note_unrecorded(struct api *api, struct recorded_past *a)
{
    const struct process *p = a->pid ? discover_find(api->engine.discover, a->pid) : NULL;
    struct error why = ERROR_NULL;
    uint64_t now_ns = clock_monotonic_ns();
    bool recent = a->to_ns > now_ns - MIN(now_ns, RECORDED_ALLOCS_REST_NS);

    if (a->allocs && recent && p && viewer_sees_user(a->viewer, p->owner) &&
        recorded_allocs_why(api->engine.captures, p, &why) < 0)
        snprintf(a->unrecorded, sizeof(a->unrecorded), "%s", why.msg);
}

/* Reads the history's end and the recorder in one call. With two calls, a minute written in between
 * would count twice. */
static int call_recorder(struct api *api, void *arg)
{
    struct recorded_past *a = arg;
    struct recorder *rec = *api->engine.recorder;
    struct history_stats kept = { 0 };
    struct flight_stats stats;
    int r;

    if (api->engine.history)
        history_stats(api->engine.history, &kept);
    a->kept_ns = kept.newest_ns;
    if (!rec)
        return 0;
    a->period_ns = rec->period_ns;
    a->looks = rec->looks && rec->looks->stats.passes;
    a->allocs = rec->allocs != NULL;
    note_unrecorded(api, a);
    flight_stats(rec->flight, &stats);
    a->oldest_ns = stats.oldest_ns;
    a->keep_ns = stats.keep_ns;
    a->full = stats.short_ns && clock_monotonic_ns() - stats.short_ns < stats.keep_ns;
    if (a->oldest_ns)
        take_over(a, kept.first_ns);
    r = recorder_parts(rec,
                       (struct flight_range){ a->whole ? 0 : a->from_ns, a->to_ns, a->minute_ns },
                       &a->parts, &a->count);
    if (r == 0 && a->count && a->named && a->to_ns < clock_monotonic_ns())
        r = recorder_parts(rec, (struct flight_range){ a->to_ns, UINT64_MAX, a->minute_ns },
                           &a->later, &a->later_count);
    return r;
}

/* Returns the event @name, made from the events @of of the recorder. */
static struct profile_event recorded_event(const struct recorded_past *a, const char *name,
                                           uint32_t of)
{
    const struct event_info *info = events_find(name);

    return profile_event_of(info, of & OF_WAITS   ? NSEC_PER_SEC
                                  : of & OF_ALLOC ? info->default_period
                                                  : a->period_ns);
}

static void warn_estimated(uint32_t of, struct profile *p)
{
    if (of & OF_WAITS)
        profile_warn(p, "waits are estimated: the flight recorder looks at threads of JVMs every 1 "
                        "to 6 s, and counts what it sees for the whole time since its last look. A "
                        "capture (seconds=) measures each wait");
    if (of & OF_ALLOC)
        profile_warn(p,
                     "allocations are sampled up to some %d times a second in a JVM, where a "
                     "thread's buffer (TLAB) is full: a loop that always allocates the same "
                     "sequence may show only some of its places",
                     RECORDED_ALLOCS_HZ);
}

static bool has_waits(const struct profile *p)
{
    return ANY_OF(i, p->sample_count, PROFILE_SAMPLE_STATE(p->samples[i].flags));
}

/* Adds up the samples of the events @of as event @name. *ret stays NULL if there are no samples,
 * or, if @of are waits, no waits. */
static int add_up(const struct past_filter *f, const struct recorded_past *a, const char *name,
                  uint32_t of, struct profile **ret)
{
    struct profile_event as = recorded_event(a, name, of);
    struct profile_slice slice = { .from_ns = a->from_ns,
                                   .to_ns = a->to_ns,
                                   .wants = past_wants,
                                   .cookie = (void *)(uintptr_t)f,
                                   .of = of,
                                   .as = &as,
                                   .spans = true,
                                   .whole = a->whole };
    struct profile meta;
    int r;

    past_meta(f, MAX(a->from_ns, a->oldest_ns), MIN(a->to_ns, clock_monotonic_ns()), &meta);
    r = flight_merge(a->parts, a->count, &slice, &meta, ret);
    if (r == 0 && (!(*ret)->total || (of & OF_WAITS && !has_waits(*ret))))
        *ret = profile_unref(*ret);
    if (r == 0 && *ret)
        warn_estimated(of, *ret);
    return r;
}

/* Makes the latest facts of each process decide whether the process is selected. */
static int name_images(struct past_filter *f, const struct recorded_past *a,
                       struct past_images **ret)
{
    int r;

    if (!a->named || !a->count)
        return 0;
    *ret = past_images_new();
    r = *ret ? past_images_note(*ret, a->parts, a->count) : -ENOMEM;
    if (r == 0)
        r = past_images_note(*ret, a->later, a->later_count);
    f->images = *ret;
    return r;
}

static void free_parts(struct recorded_past *a)
{
    flight_parts_free(a->parts, a->count);
    flight_parts_free(a->later, a->later_count);
    a->parts = a->later = NULL;
}

int past_recorded(struct api *api, struct past_filter *f, const char *events,
                  struct recorded_past *a, struct profile **ret, struct error *err)
{
    struct profile *parts[ARRAY_SIZE(RECORDED)] = { NULL };
    struct past_images *images = NULL;
    size_t count = 0;
    int r;

    a->named = past_needs_images(f);
    a->viewer = f->t->viewer;
    a->pid = f->t->pid_count == 1 && is_asked(events, "alloc") ? f->t->pids[0] : 0;
    r = api_ask(api, call_recorder, a, err) ?: name_images(f, a, &images);
    for (size_t i = a->count; r == 0 && i > 0; i--)
        past_pin_image(f, a->parts[i - 1], a->from_ns, a->to_ns);
    for (size_t i = 0; r == 0 && a->count && i < ARRAY_SIZE(RECORDED); i++) {
        bool waits = RECORDED[i].of & OF_WAITS, allocs = RECORDED[i].of & OF_ALLOC;

        if (!is_asked(events, RECORDED[i].name) || (waits && !a->looks) || (allocs && !a->allocs))
            continue;
        r = add_up(f, a, RECORDED[i].name, RECORDED[i].of, &parts[count]);
        a->has_values |= (waits || allocs) && parts[count];
        count += parts[count] != NULL;
    }
    f->images = NULL; /* the strings of images belong to the parts */
    past_images_free(images);
    free_parts(a);
    if (r == 0)
        r = past_join(f, parts, count, ret);
    for (size_t i = 0; i < count; i++)
        profile_unref(parts[i]);
    return r;
}

static int call_known(struct api *api, void *arg)
{
    const struct recorder *rec = *api->engine.recorder;

    *(uint64_t *)arg = rec ? looks_known_ns(rec->looks) : UINT64_MAX;
    return 0;
}

int backend_past_known(void *ctx, uint64_t *ret_ns, struct error *err)
{
    uint64_t known_ns;
    int r = api_ask(ctx, call_known, &known_ns, err);

    if (r == 0)
        *ret_ns = known_ns == UINT64_MAX ? UINT64_MAX : known_ns + past_realtime_offset_ns();
    return r;
}

bool past_is_recorded(const char *events)
{
    return ANY_OF(i, ARRAY_SIZE(RECORDED), is_asked(events, RECORDED[i].name));
}

/* Warns which of several requested events @p lacks. */
static void warn_missing(const char *events, struct profile *p)
{
    struct span names[EVENTS_AT_ONCE_MAX];
    size_t count = 0;
    char name[EVENT_NAME_BYTES];
    uint32_t k;

    if (!events || events_split(span_of(events), names, &count) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        for (k = 0; k < p->event_count && !span_eq_str(names[i], p->events[k].name); k++)
            ;
        if (k < p->event_count || count == 1)
            continue;
        span_copy(names[i], name, sizeof(name));
        if (!past_is_recorded(name) && past_is_recorded(events))
            profile_warn(p,
                         "event=%s is missing: where the flight recorder or the history has the "
                         "other events, captures are not read. Ask for event=%s alone",
                         name, name);
        else
            profile_warn(p, "no samples of event=%s are known in that time%s", name,
                         past_is_recorded(name)
                             ? ""
                             : ": the flight recorder has only cpu, offcpu, wall, lock and alloc");
    }
}

void past_warn(const struct target_selector *t, const char *reach, const char *events,
               struct profile *p)
{
    char selector[128];

    if (reach[0])
        profile_warn(p, "%s", reach);
    warn_missing(events, p);
    warn_cut(p);
    if (t->jvm) {
        snprintf(selector, sizeof(selector), "jvm=%.80s", t->jvm);
        profile_warn_several(p, selector);
    }
}
