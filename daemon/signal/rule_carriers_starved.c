/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual threads could run, but all carriers are busy or pinned. */
#include "signal/rule.h"

#define WAITING_FIRES 4.0 /* waiting virtual threads on average; fewer wait only for moments */
/* Share that virtual threads spend waiting of the time in which they could run. At this share, each
 * waits three times as long as it runs. */
#define SHARE_FIRES 0.75
/* Virtual threads with a carrier, on average. If there are fewer, the carriers themselves wait for
 * a processor: run-queue reports that. */
#define MOUNTED_LEAST 0.8

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double waiting = numbers_mean(n, NUMBER_VIRTUAL_RUNNABLE, RULE_WINDOW_S);
    double mounted = numbers_mean(n, NUMBER_VIRTUAL_MOUNTED, RULE_WINDOW_S);
    double pinned = numbers_mean(n, NUMBER_CARRIERS_PINNED, RULE_WINDOW_S);
    double running = fmax(mounted - (isnan(pinned) ? 0 : pinned), 0); /* pinned carriers wait */
    double share = waiting / fmax(waiting + running, 1);

    f->strength = mounted < MOUNTED_LEAST ? 0 : fmin(waiting / WAITING_FIRES, share / SHARE_FIRES);
    f->value = waiting;
    f->severity = rule_cost(share);
    if (isnan(waiting) || isnan(mounted) || f->strength < RULE_RELEASE)
        return;
    rule_say(f,
             "on average %.1f virtual threads could run, but had no carrier, beside %.1f that "
             "ran; that is %.0f %% of the time in which they could run, in the last %.0f s",
             waiting, running, share * 100, RULE_WINDOW_S);
    if (pinned >= 0.5)
        rule_add(f, "; %.1f carriers are pinned", pinned);
}

const struct signal_rule rule_carriers_starved = {
    .name = "carriers-starved",
    .unit = "threads",
    .evidence = "/profile?pid={pid}&event=wall&by=kind&by=state&from={from}&to={to}",
    .remedy = "see what the virtual threads on carriers do: work that computes for long belongs in "
              "a pool of platform threads; one that waits there is pinned; else give the JVM more "
              "processors",
    .hold_s = 10,
    .look = look,
};
