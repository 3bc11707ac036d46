/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with allocations that are known only in part, because probes of a JVM were removed for a
 * time. */
#include "profile/changes.h"

static uint64_t start_of(const struct change_steps *m, size_t step)
{
    return step < m->a ? m->a_ns + step * m->step_ns : m->b_ns + (step - m->a) * m->step_ns;
}

void change_set_skip_allocations(struct change_set *s, uint64_t from_ns, uint64_t to_ns)
{
    for (size_t m = 0; m < s->steps.a + s->steps.b; m++) {
        uint64_t start_ns = start_of(&s->steps, m);

        s->skipped[m] |= start_ns < to_ns && start_ns + s->steps.step_ns > from_ns;
    }
}

size_t change_set_skipped(const struct change_set *s)
{
    size_t n = 0;

    for (size_t m = 0; m < s->steps.a + s->steps.b; m++)
        n += s->skipped[m] && s->whole[CHANGE_FUNCTION][m] > 0;
    return n;
}

/* Replaces the skipped values of [@from, @to) by the mean of the others, in proportion to the CPU
 * time of each step. */
static void fill(const struct change_set *s, double *values, size_t from, size_t to)
{
    const double *cpu = s->whole[CHANGE_FUNCTION];
    double sum = 0, of = 0;

    for (size_t m = from; m < to; m++) {
        sum += s->skipped[m] ? 0 : values[m];
        of += s->skipped[m] ? 0 : cpu[m];
    }
    for (size_t m = from; m < to; m++) {
        if (s->skipped[m])
            values[m] = of > 0 ? sum / of * cpu[m] : 0;
    }
}

void change_set_fill_skipped(struct change_set *s)
{
    size_t a = s->steps.a, all = a + s->steps.b;

    if (!change_set_skipped(s))
        return;
    for (size_t i = 0; i < s->count; i++) {
        if (s->series[i].kind != CHANGE_ALLOCATION)
            continue;
        fill(s, s->series[i].by_step, 0, a);
        fill(s, s->series[i].by_step, a, all);
    }
    fill(s, s->whole[CHANGE_ALLOCATION], 0, a);
    fill(s, s->whole[CHANGE_ALLOCATION], a, all);
}
