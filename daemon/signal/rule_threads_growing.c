/* SPDX-License-Identifier: Apache-2.0 */
/* Threads are started and do not end. */
#include "signal/rule.h"

#define WARM_S 180.0                 /* least age; pools fill when a program begins */
#define PER_SECOND_FIRES (10.0 / 60) /* 10 a minute: pools fill more slowly, or stop soon */
#define PART 0.1                     /* rise in the window, as part of all threads */
#define MANY 1000.0                  /* the stacks of this many threads take much memory */
#define VERY_MANY 5000.0

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double threads = numbers_last(n, NUMBER_THREADS), rise;
    char a[RULE_BYTES_TEXT];
    struct rule_growth g;

    f->strength = isnan(threads) ? (double)NAN : 0;
    if (v->age_s < WARM_S ||
        !rule_growth_find(n, NUMBER_THREADS, NUMBERS, (double)NAN, PER_SECOND_FIRES, &g))
        return;
    rise = g.trend.last - g.trend.first;
    f->strength = fmin(g.strength, rise / (PART * threads));
    f->value = threads;
    f->severity = threads >= VERY_MANY ? 3 : threads >= MANY ? 2 : 1;
    rule_say(f, "it has %.0f threads, %.0f more than %s ago, and none of the rise was taken back",
             threads, rise, rule_duration(g.trend.seconds, a));
}

const struct signal_rule rule_threads_growing = {
    .name = "threads-growing",
    .unit = "threads",
    .evidence = "/profile?pid={pid}&event=wall&threads=1&seconds=5",
    .remedy = "the profile shows where the new threads wait; give them to one pool with a limit, "
              "and shut pools down",
    .look = look,
};
