/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/numbers.h"

#include "base/array.h"

#define KNOWN_PART (2.0 / 3) /* part of a window that has to be known for a sum */
/* A trend takes an event that was at most this many windows ago. */
#define BEFORE_PART (4.0 / 3)
#define TREND_POINTS_MIN 4
#define ROOM_STEP 16

enum number_kind { RISES, ELAPSES, IS };

static const enum number_kind KINDS[NUMBERS] = {
#define NUMBER(id, kind) [NUMBER_##id] = kind,
#include "signal/numbers.def"
#undef NUMBER
};

void reading_clear(struct number_reading *r)
{
    for (size_t i = 0; i < NUMBERS; i++)
        r->v[i] = NAN;
    r->cgroup = 0;
}

/* Returns the place of the next point; NULL: no memory. */
static struct number_point *next_point(struct numbers *n)
{
    struct number_point *p;

    if (n->count == NUMBERS_POINTS_MAX) {
        p = &n->points[n->first];
        n->first = (n->first + 1) % NUMBERS_POINTS_MAX;
        return p;
    }
    return array_grow(&n->points, &n->room, n->count + 1, ROOM_STEP) ? &n->points[n->count++]
                                                                     : NULL;
}

/* Returns the rise of counter @which; NAN: unknown. */
static float difference(const struct number_reading *before, const struct number_reading *now,
                        size_t which)
{
    bool of_cgroup = which >= NUMBER_CPU_LIMIT && which <= NUMBER_MEMORY_PRESSURE_NS;

    if (of_cgroup && before->cgroup != now->cgroup)
        return NAN;
    return now->v[which] >= before->v[which] ? (float)(now->v[which] - before->v[which]) : NAN;
}

/* Moves what exceeds the duration of the newest point to earlier points. A counter of time rises
 * when a pause ends, so a part of that pause was earlier. Drops what exceeds the oldest point. */
static void move_back(struct numbers *n, size_t which)
{
    float beyond = 0;

    for (size_t k = n->count; k > 0; k--) {
        struct number_point *p = &n->points[(n->first + k - 1) % n->count];
        float most = p->seconds * (float)NSEC_PER_SEC;

        beyond += isnan(p->v[which]) ? 0 : p->v[which];
        if (!(beyond > most)) {
            p->v[which] = isnan(p->v[which]) ? NAN : beyond;
            return;
        }
        p->v[which] = isnan(p->v[which]) ? NAN : most;
        beyond -= most;
    }
}

bool numbers_add(struct numbers *n, uint64_t at_ns, const struct number_reading *r)
{
    uint64_t before_ns = n->last_ns;
    struct number_reading before = n->last;
    struct number_point *p;

    n->last = *r;
    n->last_ns = at_ns;
    if (!before_ns || at_ns <= before_ns)
        return true;
    p = next_point(n);
    if (!p)
        return false;
    p->at_ns = at_ns;
    p->seconds = (float)((double)(at_ns - before_ns) / (double)NSEC_PER_SEC);
    for (size_t i = 0; i < NUMBERS; i++) {
        p->v[i] = KINDS[i] == IS ? (float)r->v[i] : difference(&before, r, i);
        if (KINDS[i] == ELAPSES)
            move_back(n, i);
    }
    return true;
}

void numbers_deinit(struct numbers *n)
{
    free(n->points);
    *n = (struct numbers){ .count = 0 };
}

const struct number_point *numbers_at(const struct numbers *n, size_t i)
{
    return &n->points[(n->first + i) % n->count];
}

size_t numbers_within(const struct numbers *n, double window_s)
{
    double until_s = 0;
    size_t k = 0;

    while (k < n->count && until_s < window_s - window_s / (2 * NUMBERS_TREND_POINTS)) {
        until_s += (double)numbers_at(n, n->count - 1 - k)->seconds;
        k++;
    }
    return k;
}

double numbers_last(const struct numbers *n, enum number which)
{
    return n->last_ns ? n->last.v[which] : (double)NAN;
}

struct total {
    double sum, max, seconds; /* of the known points of the window */
    size_t points;
};

static struct total total_of(const struct numbers *n, enum number which, double window_s)
{
    struct total t = { .max = -INFINITY };

    for (size_t k = numbers_within(n, window_s); k > 0; k--) {
        const struct number_point *p = numbers_at(n, n->count - k);
        double v = (double)p->v[which];

        if (isnan(v))
            continue;
        t.sum += v;
        t.max = fmax(t.max, v);
        t.seconds += (double)p->seconds;
        t.points++;
    }
    if (t.seconds < window_s * KNOWN_PART - 1)
        t.sum = t.max = (double)NAN;
    return t;
}

double numbers_sum(const struct numbers *n, enum number which, double window_s)
{
    return total_of(n, which, window_s).sum;
}

double numbers_rate(const struct numbers *n, enum number which, double window_s)
{
    struct total t = total_of(n, which, window_s);

    return t.sum / t.seconds;
}

double numbers_share(const struct numbers *n, enum number which, double window_s)
{
    return numbers_rate(n, which, window_s) / (double)NSEC_PER_SEC;
}

double numbers_mean(const struct numbers *n, enum number which, double window_s)
{
    struct total t = total_of(n, which, window_s);

    return t.sum / (double)t.points;
}

double numbers_max(const struct numbers *n, enum number which, double window_s)
{
    return total_of(n, which, window_s).max;
}

/* ---- trends ---- */

struct place {
    double s, v; /* time and value */
};

/* Returns whether point @p counts for a trend of @which. */
static bool counts(const struct number_point *p, enum number which, enum number only)
{
    return !isnan(p->v[which]) && (only == NUMBERS || p->v[only] > 0);
}

/* Returns the seconds from the first to the last of the newest @within points that count. */
static double counted_seconds(const struct numbers *n, enum number which, enum number only,
                              size_t within)
{
    uint64_t first_ns = 0, last_ns = 0;

    for (size_t k = within; k > 0; k--) {
        const struct number_point *p = numbers_at(n, n->count - k);

        if (!counts(p, which, only))
            continue;
        first_ns = first_ns ? first_ns : p->at_ns;
        last_ns = p->at_ns;
    }
    return (double)(last_ns - first_ns) / (double)NSEC_PER_SEC;
}

/* Returns how many of the newest points a trend over @window_s takes: those of the window. A value
 * that an event sets holds until the next event. So the last event before the window counts, too,
 * if it is not far from the window, and later events cover a part of it. Without such a part, the
 * rise may be much younger than the window. */
static size_t trend_within(const struct numbers *n, enum number which, enum number only,
                           double window_s)
{
    size_t within = numbers_within(n, window_s), most;

    if (only == NUMBERS || counted_seconds(n, which, only, within) < (BEFORE_PART - 1) * window_s)
        return within;
    most = numbers_within(n, window_s * BEFORE_PART);
    for (size_t k = within + 1; k <= most; k++) {
        if (counts(numbers_at(n, n->count - k), which, only))
            return k;
    }
    return within;
}

/* Gets the points of a trend over @window_s seconds, evenly thinned; the newest point is always
 * among them. */
static size_t take_places(const struct numbers *n, enum number which, enum number only,
                          double window_s, struct place *ret)
{
    size_t within = trend_within(n, which, only, window_s), all = 0, seen = 0, taken = 0, step;

    for (size_t k = within; k > 0; k--)
        all += counts(numbers_at(n, n->count - k), which, only);
    step = (all + NUMBERS_TREND_POINTS - 1) / NUMBERS_TREND_POINTS;
    for (size_t k = within; k > 0; k--) {
        const struct number_point *p = numbers_at(n, n->count - k);

        if (!counts(p, which, only))
            continue;
        seen++;
        if ((all - seen) % step == 0)
            ret[taken++] =
                (struct place){ (double)(p->at_ns / NSEC_PER_MSEC) / 1e3, (double)p->v[which] };
    }
    return taken;
}

static double slope(const struct place *at, size_t n)
{
    double mean_s = 0, mean_v = 0, up = 0, down = 0;

    for (size_t i = 0; i < n; i++) {
        mean_s += at[i].s / (double)n;
        mean_v += at[i].v / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        up += (at[i].s - mean_s) * (at[i].v - mean_v);
        down += (at[i].s - mean_s) * (at[i].s - mean_s);
    }
    return down > 0 ? up / down : 0;
}

static double agreement(const struct place *at, size_t n)
{
    int rise = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++)
            rise += (at[j].v > at[i].v) - (at[j].v < at[i].v);
    }
    return (double)rise / ((double)n * (double)(n - 1) / 2);
}

bool numbers_trend(const struct numbers *n, enum number which, enum number only, double window_s,
                   struct trend *ret)
{
    struct place at[NUMBERS_TREND_POINTS + 1];
    size_t points = take_places(n, which, only, window_s, at);
    struct trend t = { .points = points, .above_all = true };

    if (points < TREND_POINTS_MIN)
        return false;
    t.seconds = at[points - 1].s - at[0].s;
    if (t.seconds < window_s * KNOWN_PART)
        return false;
    t.first = at[0].v;
    t.last = at[points - 1].v;
    t.per_second = slope(at, points);
    t.agreement = agreement(at, points);
    for (size_t i = 0; i < n->count && t.above_all; i++)
        t.above_all = !((double)numbers_at(n, i)->v[which] > t.last);
    *ret = t;
    return true;
}
