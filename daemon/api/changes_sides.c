/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the two times to compare if the request names none. */
#include "api/changes_impl.h"
#include "base/cleanup.h"
#include "base/text.h"

#define LATELY_NS (600 * NSEC_PER_SEC)
/* a "short" time; the recorder reaches back at least twice as far */
#define SHORTLY_NS (300 * NSEC_PER_SEC)
#define MINUTE_NS (60 * NSEC_PER_SEC)
#define LONG_NS                                                                                    \
    (20 * MINUTE_NS) /* shortest time before, if there is no release: twice the last minutes */
#define HOUR_NS (3600 * NSEC_PER_SEC)
#define DAY_NS (24 * HOUR_NS)
#define ENDED_NS (180 * NSEC_PER_SEC) /* longer than the delay until minutes are written */
#define MARK_SHOWN 400                /* bytes */

#define PLACES_MAX 64 /* places of one service */

/* The last deploy mark. */
struct last_mark {
    uint64_t time_ns; /* 0: there is no mark */
    char text[MARK_SHOWN + 1];
};

/* The places (such as containers) of JVMs that claim to be the service. */
struct finding {
    size_t count;
    struct past_place places[PLACES_MAX];
    uint64_t samples[PLACES_MAX]; /* recent CPU samples of the place, plus displaced[] */
    uint64_t displaced[PLACES_MAX];
    struct last_mark marks[PLACES_MAX];
};

/* Frees the place with the fewest samples, and returns it. The next place in that entry inherits
 * the count (space-saving algorithm of Metwally). So a place with a 64th of all samples is surely
 * in the list at the end. */
static size_t displace(struct finding *f)
{
    size_t least = 0;

    for (size_t i = 1; i < PLACES_MAX; i++) {
        if (f->samples[i] < f->samples[least])
            least = i;
    }
    f->displaced[least] = f->samples[least];
    return least;
}

static void see_sums(void *cookie, const struct history_sums *s)
{
    struct finding *f = cookie;
    size_t at = past_place_find(f->places, &f->count, PLACES_MAX, s->image);

    if (at == PLACES_MAX) {
        at = displace(f);
        past_place_keep(s->image, &f->places[at]);
    }
    for (size_t i = 0; i < CATEGORY_COUNT; i++)
        f->samples[at] += s->samples[i];
}

/* Returns the smallest number of samples that place @i can have. */
static uint64_t samples_of(const struct finding *f, size_t i)
{
    return f->samples[i] - f->displaced[i];
}

/* Keeps the last deploy mark of a place. Marks are passed newest first, so the first mark of a
 * place is its last. */
static void see(void *cookie, const struct history_mark *m)
{
    struct finding *f = cookie;
    size_t at;

    if (m->kind != HISTORY_MARK_DEPLOY || !m->image)
        return;
    at = past_place_find(f->places, &f->count, PLACES_MAX, m->image);
    if (at == PLACES_MAX || f->marks[at].time_ns)
        return;
    text_clean_into(span_of(m->text), f->marks[at].text, sizeof(f->marks[at].text));
    f->marks[at].time_ns = m->time_ns;
}

/* Returns the last mark of the place in which the service takes the most CPU time; of equal places,
 * the later mark. The CPU time decides because another container that claims the name also gets
 * marks, at each of its starts. */
static struct last_mark choose(const struct finding *f)
{
    size_t best = 0;

    for (size_t i = 1; i < f->count; i++) {
        if (samples_of(f, i) > samples_of(f, best) ||
            (samples_of(f, i) == samples_of(f, best) &&
             f->marks[i].time_ns > f->marks[best].time_ns))
            best = i;
    }
    return f->marks[best];
}

static int find_mark(struct api *api, const struct target_selector *t, uint64_t now_ns,
                     struct last_mark *ret, struct error *err)
{
    _cleanup_free_ struct finding *f = calloc(1, sizeof(*f));
    struct past_filter filter = { .t = t };
    struct history_query q = {
        .from_ns = now_ns - LATELY_NS, .to_ns = now_ns, .wants = past_wants_of, .cookie = &filter
    };
    struct history_reach reach;
    uint64_t left_out; /* number of the earliest marks that are left out */
    int r = f ? past_filter_init(t, &filter, err) : -ENOMEM;

    if (r == 0)
        r = history_sums(api->engine.history, &q, see_sums, f, &reach, err);
    q.from_ns = now_ns - DAY_NS;
    q.newest_first = true;
    if (r == 0)
        r = history_marks(api->engine.history, &q, see, f, &left_out, err);
    r = past_filter_refuse(&filter, r, err);
    past_filter_deinit(&filter);
    if (r == 0)
        *ret = choose(f);
    return r;
}

/* Compares the time since a deploy with an equal time before it. If the deploy is older than ten
 * minutes, compares the last ten minutes with the hour before the deploy, up to the minute of the
 * deploy: the history keeps whole minutes, and the minute of the deploy has samples of both
 * versions. */
static enum changes_times use_mark(const struct last_mark *m, uint64_t now_ns, struct time_range *a,
                                   struct time_range *b, char why[CHANGES_WHY_BYTES])
{
    uint64_t since_ns = now_ns - m->time_ns;
    bool lately = since_ns < LATELY_NS;

    *b = (struct time_range){ lately ? m->time_ns : now_ns - LATELY_NS, now_ns };
    *a = (struct time_range){ m->time_ns - (lately ? since_ns : HOUR_NS),
                              lately ? m->time_ns : history_minute_of(m->time_ns, m->time_ns) };
    snprintf(why, CHANGES_WHY_BYTES, "%s compared with %s before the last deploy: %s",
             lately ? "The time since is" : "The last 10 minutes are",
             lately ? "as much" : "the hour", m->text);
    return lately ? CHANGES_SINCE_DEPLOY : CHANGES_AFTER_DEPLOY;
}

/* Returns the start of the oldest kept minute in @seen, the time in which the target was seen. */
static uint64_t kept_since(struct api *api, const struct time_range *seen)
{
    struct history_stats stats = { 0 };

    if (api->engine.history)
        history_stats(api->engine.history, &stats);
    return stats.tier_oldest_ns[0] ? MAX(stats.tier_oldest_ns[0], seen->from_ns) : UINT64_MAX;
}

/* Chooses the times of a service without a release. The time before is as long as possible, so that
 * it shows how much the service varies by itself. @since_ns: start of the kept minutes. */
static enum changes_times use_clock(uint64_t now_ns, uint64_t since_ns, struct time_range *a,
                                    struct time_range *b, char why[CHANGES_WHY_BYTES])
{
    uint64_t begun_ns = MAX(since_ns, now_ns - LATELY_NS - HOUR_NS);

    *b = (struct time_range){ now_ns - LATELY_NS, now_ns };
    if (since_ns <= now_ns - DAY_NS - LATELY_NS) {
        *a = (struct time_range){ b->from_ns - DAY_NS, b->to_ns - DAY_NS };
        snprintf(why, CHANGES_WHY_BYTES,
                 "The last 10 minutes are compared with the same time yesterday");
        return CHANGES_YESTERDAY;
    }
    if (begun_ns <= b->from_ns - LONG_NS) {
        *a = (struct time_range){ begun_ns, b->from_ns };
        snprintf(why, CHANGES_WHY_BYTES,
                 "The last 10 minutes are compared with the %u before: no deploy is known within a "
                 "day, and the history has nothing of yesterday",
                 (unsigned)((b->from_ns - begun_ns) / MINUTE_NS));
    } else {
        *b = (struct time_range){ now_ns - SHORTLY_NS, now_ns };
        *a = (struct time_range){ b->from_ns - SHORTLY_NS, b->from_ns };
        snprintf(why, CHANGES_WHY_BYTES,
                 "The last 5 minutes are compared with the 5 before: no deploy is known within a "
                 "day, and the history has less than half an hour");
    }
    return CHANGES_BEFORE;
}

int changes_sides(struct api *api, const struct target_selector *t, struct time_range ret[2],
                  enum changes_times *ret_times, char why[CHANGES_WHY_BYTES], struct error *err)
{
    struct time_range seen = { 0 };
    uint64_t now_ns = clock_realtime_ns();
    struct last_mark mark = { 0 };
    bool ended;
    int r = 0;

    if (t->pid_count || t->service)
        seen = past_known_time(api, t);
    ended = seen.to_ns && seen.to_ns + ENDED_NS < now_ns;
    if (ended)
        now_ns = seen.to_ns;
    if (api->engine.history && t->service)
        r = find_mark(api, t, now_ns, &mark, err);
    if (r == 0 && mark.time_ns && mark.time_ns < now_ns)
        *ret_times = use_mark(&mark, now_ns, &ret[0], &ret[1], why);
    else
        *ret_times = use_clock(now_ns, kept_since(api, &seen), &ret[0], &ret[1], why);
    if (r == 0 && ended) {
        size_t n = strlen(why);
        char when[PAST_TIME_BYTES];

        past_time_text(now_ns, when);
        snprintf(why + n, CHANGES_WHY_BYTES - n, "; last means before %s, when it was seen last",
                 when);
    }
    return r;
}
