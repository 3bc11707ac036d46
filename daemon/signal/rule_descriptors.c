/* SPDX-License-Identifier: Apache-2.0 */
/* Open files and sockets come near their limit. */
#include "signal/rule.h"

#define FULL_FIRES 0.8
#define FULL_SOON 0.9
#define FULL_NOW 0.97
#define WARM_S 180.0
#define PER_SECOND_FIRES (10.0 / 60)
#define PART 0.1 /* rise in the window, as part of all descriptors */

/* Fires if the rise will reach the limit, and writes the sentence. */
static void look_at_growth(const struct rule_view *v, double open, double max,
                           struct rule_finding *f)
{
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT];
    struct rule_growth g;
    double rise;

    if (v->age_s < WARM_S || !rule_growth_find(v->numbers, NUMBER_DESCRIPTORS, NUMBERS, max - open,
                                               PER_SECOND_FIRES, &g))
        return;
    rise = g.trend.last - g.trend.first;
    f->strength = fmin(fmin(rise / (PART * open), g.trend.per_second / PER_SECOND_FIRES),
                       fmax(g.strength, 1));
    f->severity = rule_urgency(g.left_s);
    rule_say(f,
             "%.0f descriptors are open, %.0f more than %s ago; the limit of %.0f is reached in "
             "about %s",
             open, rise, rule_duration(g.trend.seconds, a), max, rule_duration(g.left_s, b));
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    double open = numbers_last(v->numbers, NUMBER_DESCRIPTORS);
    double max = numbers_last(v->numbers, NUMBER_DESCRIPTORS_MAX), share = open / max;

    f->strength = isnan(share) ? (double)NAN : 0;
    f->value = open;
    if (isnan(share))
        return;
    look_at_growth(v, open, max, f);
    f->severity = MAX(f->severity, share >= FULL_NOW ? 3u : share >= FULL_SOON ? 2u : 1u);
    if (f->strength >= RULE_RELEASE)
        return;
    f->strength = share / FULL_FIRES;
    rule_say(f, "%.0f of at most %.0f descriptors are open (%.0f %%)", open, max, share * 100);
}

const struct signal_rule rule_descriptors = {
    .name = "descriptors",
    .unit = "descriptors",
    .evidence = "/profile?pid={pid}&event=libc.so.6:open64&seconds=10",
    .remedy = "see which are open (ls -l /proc/{pid}/fd) and which code opens them: files by the "
              "profile, sockets with event=libc.so.6:socket or accept; close them, or raise the "
              "limit",
    .look = look,
};
