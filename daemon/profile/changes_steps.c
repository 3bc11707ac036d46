/* SPDX-License-Identifier: Apache-2.0 */
/* Divides two time ranges into steps. */
#include "profile/changes.h"

#include "profile/mean_test.h"

#define STEPS_WANTED 10
#define STEP_MOST_NS (60 * NSEC_PER_SEC)
#define STEP_LEAST_NS (5 * NSEC_PER_SEC)
#define NARROWINGS_MAX 3

int change_steps_of(uint64_t a_from_ns, uint64_t a_to_ns, uint64_t b_from_ns, uint64_t b_to_ns,
                    struct change_steps *ret)
{
    uint64_t a_ns = a_to_ns - MIN(a_from_ns, a_to_ns), b_ns = b_to_ns - MIN(b_from_ns, b_to_ns);
    uint64_t step_ns = MIN(MIN(a_ns, b_ns) / STEPS_WANTED, STEP_MOST_NS);

    step_ns = MAX(step_ns, STEP_LEAST_NS);
    if (step_ns == STEP_MOST_NS) { /* aligned with the minutes of the history */
        a_from_ns -= a_from_ns % STEP_MOST_NS;
        b_from_ns -= b_from_ns % STEP_MOST_NS;
    }
    *ret = (struct change_steps){ .a_ns = a_from_ns,
                                  .b_ns = b_from_ns,
                                  .step_ns = step_ns,
                                  .a = a_ns / step_ns,
                                  .b = b_ns / step_ns };
    if (MIN(ret->a, ret->b) < CHANGES_STEPS_MIN)
        return -ENODATA;
    return MAX(ret->a, ret->b) <= RANK_MINUTES_MAX ? 0 : -EINVAL;
}

size_t change_step(const struct change_steps *m, uint64_t time_ns)
{
    if (time_ns >= m->a_ns && (time_ns - m->a_ns) / m->step_ns < m->a)
        return (time_ns - m->a_ns) / m->step_ns;
    if (time_ns >= m->b_ns && (time_ns - m->b_ns) / m->step_ns < m->b)
        return m->a + (time_ns - m->b_ns) / m->step_ns;
    return m->a + m->b;
}

/* A time range, and its steps with CPU time. */
struct covered {
    uint64_t from_ns, to_ns;
    size_t steps;
    bool whole; /* no step within is without CPU time */
};

/* Returns the part of @side from its first step with CPU time to its last. */
static struct covered covered(const struct change_set *s, size_t side)
{
    const double *cpu = s->whole[CHANGE_FUNCTION] + (side ? s->steps.a : 0);
    size_t steps = side ? s->steps.b : s->steps.a, first = steps, last = 0;
    uint64_t from_ns = side ? s->steps.b_ns : s->steps.a_ns;
    struct covered c = { .steps = 0 };

    for (size_t i = 0; i < steps; i++) {
        if (!(cpu[i] > 0))
            continue;
        first = MIN(first, i);
        last = i + 1;
        c.steps++;
    }
    c.whole = first + c.steps == last;
    c.from_ns = from_ns + MIN(first, last) * s->steps.step_ns;
    c.to_ns = from_ns + last * s->steps.step_ns;
    return c;
}

/* A service that only works now and then has few steps with CPU time on side a, too. These have
 * gaps, and are not compared: their work may be another one than that of b. */
enum change_cover change_set_cover(const struct change_set *s)
{
    struct covered a = covered(s, 0), b = covered(s, 1);

    return MIN(a.steps, b.steps) >= CHANGES_STEPS_MIN ? CHANGE_COVER_RANKS
           : a.steps && a.steps < CHANGES_STEPS_MIN && a.whole && b.steps >= RANK_MINUTES_MIN &&
                   a.steps + b.steps >= MEAN_MINUTES_MIN
               ? CHANGE_COVER_FEW
               : CHANGE_COVER_NONE;
}

double change_set_expected(const struct change_set *s)
{
    size_t a = covered(s, 0).steps, b = covered(s, 1).steps;

    return a ? (double)s->samples[0] * (double)b / (double)a : 0;
}

bool change_steps_narrow(const struct change_set *s, struct change_steps *ret)
{
    struct covered a = covered(s, 0), b = covered(s, 1);

    return MIN(a.steps, b.steps) < CHANGES_STEPS_MIN &&
           change_steps_of(a.from_ns, a.to_ns, b.from_ns, b.to_ns, ret) == 0 &&
           ret->step_ns < s->steps.step_ns;
}

/* Divides both ranges of @first into the whole minutes within them. Returns false if there are too
 * few. */
static bool whole_minutes(const struct change_steps *first, struct change_steps *ret)
{
    uint64_t a_to_ns = first->a_ns + first->a * first->step_ns,
             b_to_ns = first->b_ns + first->b * first->step_ns,
             b_ns = first->b_ns + STEP_MOST_NS - 1;

    *ret = (struct change_steps){ .a_ns = first->a_ns - first->a_ns % STEP_MOST_NS,
                                  .b_ns = b_ns - b_ns % STEP_MOST_NS,
                                  .step_ns = STEP_MOST_NS };
    ret->a = (a_to_ns - ret->a_ns) / STEP_MOST_NS;
    ret->b = (b_to_ns - MIN(ret->b_ns, b_to_ns)) / STEP_MOST_NS;
    return first->step_ns < STEP_MOST_NS && ret->a && ret->b >= RANK_MINUTES_MIN &&
           ret->a + ret->b >= MEAN_MINUTES_MIN;
}

int change_steps_fit(struct change_set *s, change_take_fn take, void *cookie)
{
    struct change_steps first = s->steps, other;
    int r = 0;

    for (size_t i = 0; r == 0 && i < NARROWINGS_MAX && change_steps_narrow(s, &other); i++)
        r = take(cookie, &other);
    if (r == 0 && s->steps.step_ns != first.step_ns && change_set_cover(s) != CHANGE_COVER_RANKS)
        r = take(cookie, &first);
    if (r < 0 || change_set_cover(s) != CHANGE_COVER_NONE || !whole_minutes(&first, &other))
        return r;
    r = take(cookie, &other);
    return r == 0 && change_set_cover(s) == CHANGE_COVER_NONE ? take(cookie, &first) : r;
}
