/* SPDX-License-Identifier: Apache-2.0 */
/* The history's part of the past: minutes merged into a profile, or their sums. */
#include "api/past_impl.h"

#include "event/events.h"

/* The events of the history from which each event of a request is made. */
static const struct {
    const char *name;
    const char *of[2];
} KEPT[] = {
    { "cpu", { "cpu" } },   { "offcpu", { "offcpu" } }, { "wall", { "cpu", "offcpu" } },
    { "lock", { "lock" } }, { "alloc", { "alloc" } },
};

/* The merging of one requested event. */
struct kept_event {
    struct profile_slice slice;
    struct profile meta;
    struct profile_event as;
    struct merger *merger;
};

struct kept_past {
    struct past_filter *filter;
    struct kept_event of[ARRAY_SIZE(KEPT)]; /* .merger NULL: not requested, or no samples yet */
    bool seen;                              /* there was a profile */
    struct profile *alone; /* the only profile so far, which can be the answer as it is; owned */
    size_t alone_of;       /* its event, an index in KEPT */
};

static bool is_asked(const char *events, const char *name)
{
    return events_listed(span_of(events ? events : events_default()->name), name);
}

/* ---- selecting ---- */

/* Returns true if a requested event is made from the event @name. */
static bool wants_event(void *cookie, const char *name)
{
    const struct past_filter *f = cookie;

    for (size_t i = 0; i < ARRAY_SIZE(KEPT); i++) {
        for (size_t of = 0; of < ARRAY_SIZE(KEPT[i].of) && KEPT[i].of[of]; of++) {
            if (strcmp(KEPT[i].of[of], name) == 0 && is_asked(f->events, KEPT[i].name))
                return true;
        }
    }
    return false;
}

/* Selects all processes with a pid: past_wants_image() chose the images. Their first
 * samples may lack the service's name. */
static bool wants_process(void *cookie, const struct profile *p,
                          const struct profile_process *process)
{
    return process->host_pid || past_wants(cookie, p, process);
}

/* ---- merging ---- */

static uint32_t bits_of(const struct profile *p, const char *const names[2])
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < p->event_count; i++) {
        for (size_t k = 0; k < 2 && names[k]; k++)
            bits |= strcmp(p->events[i].name, names[k]) == 0 ? 1U << i : 0;
    }
    return bits;
}

/* Returns the event that samples of the events @bits (bit set) of @p become. */
static struct profile_event kept_as(const struct profile *p, size_t which, uint32_t bits)
{
    struct profile_event as = profile_event_of(events_find(KEPT[which].name), 0);

    for (uint32_t i = 0; i < p->event_count; i++) {
        if (bits & 1U << i && (!as.period || p->events[i].period < as.period))
            as.period = p->events[i].period;
    }
    return as;
}

static void kept_meta(struct kept_past *k, const struct profile *p, const struct profile_event *as,
                      struct profile *ret)
{
    past_meta(k->filter, p->start_realtime_ns, p->start_realtime_ns + (p->end_ns - p->start_ns),
              ret);
    ret->start_realtime_ns = p->start_realtime_ns;
    ret->events[0] = *as;
    ret->event_count = 1;
    snprintf(ret->symbols, sizeof(ret->symbols),
             "memory: named when they were sampled, merged since");
}

static int kept_begin(struct kept_past *k, size_t which, const struct profile *p, uint32_t bits)
{
    struct kept_event *e = &k->of[which];

    e->as = kept_as(p, which, bits);
    kept_meta(k, p, &e->as, &e->meta);
    e->slice = (struct profile_slice){
        .to_ns = UINT64_MAX, .wants = wants_process, .cookie = k->filter, .as = &e->as
    };
    return merger_new(&e->slice, &e->meta, &e->merger);
}

ORDER_FUNCTION(by_image, struct profile_process,
               COMPARE(x->host_pid, y->host_pid) ?:
                   COMPARE(x->start_ticks, y->start_ticks) ?:
                   COMPARE(x->exec_no, y->exec_no))

/* Returns 1 if all processes of @p are wanted, each with its own image; 0 if not; -ENOMEM. */
static int has_wanted_alone(const struct kept_past *k, const struct profile *p)
{
    _cleanup_free_ struct profile_process *sorted = calloc(p->process_count + 1, sizeof(*sorted));

    if (!sorted)
        return -ENOMEM;
    if (p->process_count)
        memcpy(sorted, p->processes, p->process_count * sizeof(*sorted));
    qsort(sorted, p->process_count, sizeof(*sorted), by_image);
    for (size_t i = 0; i < p->process_count; i++) {
        if (!wants_process(k->filter, p, &sorted[i]) ||
            (i && sorted[i].host_pid > 0 && by_image(&sorted[i - 1], &sorted[i]) == 0))
            return 0;
    }
    return 1;
}

/* Returns true if @p has samples of one event alone, which is the only requested one. Stores it in
 * *ret, as an index in KEPT. */
static bool has_one_event(const struct kept_past *k, const struct profile *p, size_t *ret)
{
    size_t asked = 0;

    for (size_t i = 0; i < ARRAY_SIZE(KEPT); i++) {
        if (!is_asked(k->filter->events, KEPT[i].name))
            continue;
        *ret = i;
        asked++;
    }
    return asked == 1 && p->event_count == 1 && strcmp(p->events[0].name, KEPT[*ret].name) == 0;
}

static int kept_add(struct kept_past *k, const struct profile *p)
{
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(KEPT) && r == 0; i++) {
        uint32_t bits = bits_of(p, KEPT[i].of);

        if (!bits || !is_asked(k->filter->events, KEPT[i].name))
            continue;
        if (!k->of[i].merger)
            r = kept_begin(k, i, p, bits);
        k->of[i].slice.of = bits;
        if (r == 0)
            r = merger_add(k->of[i].merger, p);
    }
    return r;
}

/* Keeps the first profile if it can be the answer alone: that spares a copy of all its names and
 * samples. Merges each of several. */
static int kept_profile(void *cookie, struct profile *p)
{
    struct kept_past *k = cookie;
    int r = 0;

    if (!k->seen && has_one_event(k, p, &k->alone_of))
        r = has_wanted_alone(k, p);
    k->seen = true;
    if (r > 0) {
        k->alone = profile_ref(p);
        return 0;
    }
    if (r == 0 && k->alone) {
        r = kept_add(k, k->alone);
        k->alone = profile_unref(k->alone);
    }
    return r == 0 ? kept_add(k, p) : r;
}

/* Describes the profile that is the answer alone. *ret stays NULL if it has no samples. */
static void kept_describe(struct kept_past *k, struct profile **ret)
{
    struct profile *p = TAKE_PTR(k->alone), meta;
    const struct profile_event as = kept_as(p, k->alone_of, 1);

    kept_meta(k, p, &as, &meta);
    profile_describe(p, &meta);
    if (p->total)
        *ret = p;
    else
        profile_unref(p);
}

/* Merges the profiles of several events into one. *ret stays NULL if there are none. */
static int kept_finish(struct kept_past *k, struct profile **ret)
{
    struct profile *parts[ARRAY_SIZE(KEPT)] = { NULL };
    size_t count = 0;
    int r = 0;

    if (k->alone) {
        kept_describe(k, ret);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(KEPT) && r == 0; i++) {
        if (!k->of[i].merger)
            continue;
        r = merger_finish(k->of[i].merger, &parts[count]);
        if (r == 0 && parts[count] && !parts[count]->total)
            parts[count] = profile_unref(parts[count]);
        count += parts[count] != NULL;
    }
    if (r == 0)
        r = past_join(k->filter, parts, count, ret);
    for (size_t i = 0; i < count; i++)
        profile_unref(parts[i]);
    return r;
}

/* ---- the part ---- */

static const char *length_text(uint64_t resolution_ns)
{
    return resolution_ns <= HISTORY_MINUTE_NS        ? "minutes"
           : resolution_ns <= 10 * HISTORY_MINUTE_NS ? "minutes and parts of 10 minutes"
                                                     : "minutes, parts of 10 minutes and hours";
}

static void kept_warn(const struct history_reach *reach, uint64_t from_ns, uint64_t to_ns,
                      struct profile *p)
{
    char from[PAST_TIME_BYTES], to[PAST_TIME_BYTES];

    past_time_text(reach->from_ns, from);
    past_time_text(reach->to_ns, to);
    profile_warn(p,
                 "from %s to %s this answer comes from the history: merged by %s, without the "
                 "times of single samples; threads have the name of their pool",
                 from, to, length_text(reach->resolution_ns));
    past_history_gaps(reach, to_ns - MIN(from_ns, to_ns), p);
}

void past_history_gaps(const struct history_reach *reach, uint64_t asked_ns, struct profile *p)
{
    if (reach->covered_ns + NSEC_PER_SEC * 2 < asked_ns)
        profile_warn(p, "of these %.0f s the flight recorder ran %.0f s: the rest is a gap",
                     (double)asked_ns / NSEC_PER_SEC, (double)reach->covered_ns / NSEC_PER_SEC);
    if (reach->lost)
        profile_warn(p, "the flight recorder dropped %llu samples of the node in that time",
                     (unsigned long long)reach->lost);
    if (reach->damaged)
        profile_warn(p,
                     "%zu parts of the history are damaged and left out: sqlite3 FILE 'PRAGMA "
                     "integrity_check' lists the damage",
                     reach->damaged);
    if (reach->texts_left_out)
        profile_warn(p,
                     "%zu names, versions and attributes of JVMs are left out for want of room: "
                     "ask for a shorter time, or for one service",
                     reach->texts_left_out);
}

/* Pins the latest image of a request's single pid for @q, unless an image is pinned already. */
static int pin_last(struct api *api, struct past_filter *f, const struct history_query *q,
                    struct error *err)
{
    struct past_last_image last = { .filter = f };

    if (f->t->pid_count != 1 || f->pid)
        return 0;
    return history_images(api->engine.history, q, past_see_last, &last, err);
}

int past_history(struct api *api, struct past_filter *f, uint64_t from_ns, uint64_t to_ns,
                 struct history_reach *ret_reach, struct profile **ret, struct error *err)
{
    struct history_query q = { .from_ns = from_ns,
                               .to_ns = to_ns,
                               .wants = past_wants_of,
                               .wants_event = wants_event,
                               .cookie = f,
                               .coarsest_ns = f->coarsest_ns,
                               .summed = f->summed };
    struct kept_past *k;
    int r;

    *ret_reach = (struct history_reach){ 0 };
    if (!api->engine.history)
        return 0;
    k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    k->filter = f;
    r = pin_last(api, f, &q, err) ?:
        history_read(api->engine.history, &q, kept_profile, k, ret_reach, err) ?:
        kept_finish(k, ret);
    if (r == 0 && *ret)
        kept_warn(ret_reach, MAX(from_ns, ret_reach->from_ns), MIN(to_ns, ret_reach->to_ns), *ret);
    for (size_t i = 0; i < ARRAY_SIZE(KEPT); i++)
        merger_free(k->of[i].merger);
    profile_unref(k->alone);
    free(k);
    return r;
}

/* ---- sums ---- */

int past_sums(struct api *api, struct past_filter *f, const struct time_range *range,
              struct past_sums *sums, struct error *err)
{
    struct history_query q = { .from_ns = range->from_ns,
                               .to_ns = range->to_ns,
                               .wants = past_wants_sums,
                               .cookie = f,
                               .coarsest_ns = sums->coarsest_ns };
    int r;

    sums->reach = (struct history_reach){ 0 };
    if (!api->engine.history)
        return 0;
    r = pin_last(api, f, &q, err)
            ?: history_sums(api->engine.history, &q, sums->fn, sums->cookie, &sums->reach, err);
    return r;
}

struct time_range past_known_time(struct api *api, const struct target_selector *t)
{
    struct past_filter filter;
    struct history_query q = { .to_ns = UINT64_MAX, .wants = past_wants_of, .cookie = &filter };
    struct time_range seen = { 0 };

    if (!api->engine.history)
        return seen;
    if (past_filter_init(t, &filter, NULL) == 0)
        history_images(api->engine.history, &q, past_see_range, &seen, NULL);
    past_filter_deinit(&filter);
    return seen;
}

void past_known_containers(struct api *api, const struct target_selector *t, struct buf *ids)
{
    const struct target_selector asked = { .container = t->container, .viewer = t->viewer };
    struct past_filter filter;
    struct history_query q = { .to_ns = UINT64_MAX, .wants = past_wants_of, .cookie = &filter };

    if (!api->engine.history)
        return;
    if (past_filter_init(&asked, &filter, NULL) == 0)
        history_images(api->engine.history, &q, past_see_container, ids, NULL);
    past_filter_deinit(&filter);
}
