/* SPDX-License-Identifier: Apache-2.0 */
/* The VM waits long for all threads to stop at a safepoint. */
#include "signal/rule.h"

#define MEAN_FIRES_S                                                                               \
    0.02                 /* HotSpot's threads look every few us; a page from a disk takes 10 ms    \
                          */
#define SHARE_FIRES 0.02 /* share of all time; rare late safepoints cost little */
#define MS_PER_S 1e3

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double share = numbers_share(n, NUMBER_SAFEPOINT_SYNC_NS, RULE_WINDOW_S);
    double count = numbers_sum(n, NUMBER_SAFEPOINTS, RULE_WINDOW_S);
    double mean_s = numbers_sum(n, NUMBER_SAFEPOINT_SYNC_NS, RULE_WINDOW_S) / (double)NSEC_PER_SEC /
                    fmax(count, 1);
    char safepoints[RULE_BYTES_TEXT];

    f->strength = fmin(mean_s / MEAN_FIRES_S, share / SHARE_FIRES);
    f->value = mean_s * MS_PER_S;
    f->severity = rule_cost(share);
    if (isnan(f->strength))
        return;
    rule_say(f,
             "%s of the last %.0f s waited %.0f ms%s until the last thread had stopped: %.0f %% of "
             "the time",
             rule_count(count, "safepoint", "safepoints", safepoints), RULE_WINDOW_S, f->value,
             round(count) == 1 ? "" : " each", share * 100);
}

const struct signal_rule rule_safepoint_late = {
    .name = "safepoint-late",
    .unit = "ms",
    .evidence = "/profile?pid={pid}&event=safepoint&seconds=10",
    .remedy = "the profile of event safepoint names the late thread and its code: a counted loop "
              "without a safepoint, a copy of a large array, or a page from a disk",
    .look = look,
};
